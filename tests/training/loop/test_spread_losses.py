import numpy as np
import pytest
import torch
from sklearn.metrics import mean_pinball_loss
from torch.nn.functional import gaussian_nll_loss

from cellformer.data.dataset import Task
from cellformer.training.loop.loss import each_loss
from cellformer.training.loop.spread_losses import Gaussian, Quantile, spreads
from cellformer.training.runs.recipe import number_of_outputs

TASK = Task("regression", ("a", "b"), "mae")


@pytest.fixture
def known():
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(50, 6, generator=generator, dtype=torch.float64)
    return outputs, 2 * torch.randn(50, 2, generator=generator, dtype=torch.float64)


def test_the_likelihood_is_that_of_pytorch(known):
    outputs, targets = known[0][:, :4].requires_grad_(), known[1]
    loss = Gaussian(beta=0.0)(outputs, targets)
    mean, log_deviation = outputs[:, :2], outputs[:, 2:]
    expected = gaussian_nll_loss(mean, targets, (2 * log_deviation).exp(), reduction="none")
    torch.testing.assert_close(loss, expected)
    one, other = (torch.autograd.grad(each.sum(), outputs)[0] for each in (loss, expected))
    torch.testing.assert_close(one, other)


def test_beta_weighs_the_gradients_alone(known):
    outputs, targets = known[0][:, :4].requires_grad_(), known[1]
    plain, weighed = Gaussian(beta=0.0)(outputs, targets), Gaussian(beta=0.5)(outputs, targets)
    one, other = (torch.autograd.grad(each.sum(), outputs)[0] for each in (plain, weighed))
    torch.testing.assert_close(other, one * outputs.detach()[:, [2, 3, 2, 3]].exp())
    with torch.no_grad():
        torch.testing.assert_close(Gaussian(beta=0.5)(outputs.detach(), targets), plain)


def test_the_pinball_losses_are_those_of_scikit_learn(known):
    outputs, targets = known
    apart = spreads(outputs, 2)
    reach = 1.2815515655446004  # of 0.9 in a normal distribution, the end of the central 0.8
    for column in range(2):
        median = outputs[:, column]
        ends = (median - reach * apart[:, column], median, median + reach * apart[:, 2 + column])
        expected = sum(
            mean_pinball_loss(targets[:, column], end, alpha=alpha)
            for end, alpha in zip(ends, (0.1, 0.5, 0.9), strict=True)
        )
        mean = Quantile(level=0.8)(outputs, targets)[:, column].mean()
        assert float(mean) == pytest.approx(expected)


@pytest.mark.parametrize("loss", [Gaussian(), Gaussian(beta=0.0), Quantile(level=0.8)])
def test_the_least_loss_is_that_of_the_distribution(loss):
    values = np.random.default_rng(0).gamma(4.0, size=4001)  # skewed
    targets = torch.from_numpy(values)[:, None]
    numbers = torch.zeros(1, loss.columns, dtype=torch.float64, requires_grad=True)
    search = torch.optim.Adam([numbers], lr=0.03)
    for _ in range(800):
        search.zero_grad()
        loss(numbers.expand(len(targets), -1), targets).mean().backward()
        search.step()
    below, above = spreads(numbers.detach(), 1)[0].tolist()
    if isinstance(loss, Gaussian):
        assert numbers[0, 0].item() == pytest.approx(values.mean(), abs=0.02)
        assert below == above == pytest.approx(values.std(), abs=0.02)
    else:
        ends = np.quantile(values, [0.1, 0.5, 0.9])
        assert numbers[0, 0].item() == pytest.approx(ends[1], abs=0.05)
        assert below == pytest.approx((ends[1] - ends[0]) / 1.28155, abs=0.05)
        assert above == pytest.approx((ends[2] - ends[1]) / 1.28155, abs=0.05)


def test_deviations_stand_behind_the_values_on_both_sides():
    outputs = torch.tensor([[5.0, 6, 0, 1, 2, 3]])
    torch.testing.assert_close(spreads(outputs, 2)[0], torch.tensor([0.0, 1, 2, 3]).exp())
    torch.testing.assert_close(spreads(outputs[:, :4], 2)[0], torch.tensor([0.0, 1, 0, 1]).exp())
    assert spreads(outputs[:, :2], 2) is None
    far = spreads(torch.tensor([[0.0, 500.0, -500.0]]), 1)
    assert torch.isfinite(far).all()
    assert (far > 0).all()


@pytest.mark.parametrize("loss", ["gaussian", "quantile(level=0.5)"])
def test_unknown_targets_have_no_part(loss, known):
    outputs, targets = (
        known[0][:, : number_of_outputs(TASK, loss)].requires_grad_(),
        known[1].clone(),
    )
    targets[:, 1] = torch.nan
    each, present = each_loss(TASK, loss, outputs, targets)
    each.sum().backward()
    assert not present[:, 1].any()
    assert (outputs.grad[:, 1::2] == 0).all()
    assert (outputs.grad[:, ::2] != 0).any()


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("gaussian(beta=2.0)", "from 0 to 1"),
        ("quantile(level=1.0)", "between 0 and 1"),
        ("quantile(levle=0.5)", "loss quantile has no argument"),
    ],
)
def test_what_they_cannot_take_is_refused(loss, words, known):
    with pytest.raises(ValueError, match=words):
        each_loss(TASK, loss, *known)


def test_classes_have_no_deviations():
    task = Task("binary", ("a",), "rocauc", ("no", "yes"))
    for loss in ("gaussian", "quantile(level=0.5)"):
        with pytest.raises(ValueError, match=r"training\.loss=.* not of classes"):
            number_of_outputs(task, loss)
        with pytest.raises(ValueError, match="of no use to a binary task"):
            each_loss(task, loss, torch.zeros(2, 1), torch.zeros(2, 1))
