import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch.nn import functional

from cellformer.data.dataset import Task
from cellformer.training.loop.loss import (
    bounded_loss,
    class_weights_of,
    each_loss,
    loss_of,
    total_loss,
)

REGRESSION = Task("regression", ("a", "b"), "mae")
BINARY = Task("binary", ("a", "b"), "rocauc", (0, 1))
CLASSES = Task("multiclass", ("a",), "accuracy", ("x", "y", "z"))
NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto", functional.l1_loss),
        ("l1", functional.l1_loss),
        ("mse", functional.mse_loss),
        ("huber", functional.huber_loss),
    ],
)
def test_regression_losses_are_those_of_torch(name, expected):
    outputs, targets = torch.randn(5, 2), torch.randn(5, 2)
    assert torch.allclose(loss_of(REGRESSION, name, outputs, targets), expected(outputs, targets))


def test_class_losses_are_those_of_torch():
    outputs = torch.randn(4, 2)
    targets = torch.tensor([[0.0, 1], [1, 1], [0, 0], [1, 0]])
    expected = functional.binary_cross_entropy_with_logits(outputs, targets)
    assert torch.allclose(loss_of(BINARY, "auto", outputs, targets), expected)
    logits, numbers = torch.randn(4, 3), torch.tensor([[2.0], [0], [1], [2]])
    expected = functional.cross_entropy(logits, numbers[:, 0].long())
    assert torch.allclose(loss_of(CLASSES, "auto", logits, numbers), expected)


@pytest.mark.parametrize("task", [REGRESSION, BINARY])
def test_missing_targets_carry_neither_loss_nor_gradient(task):
    outputs = torch.randn(3, 2, requires_grad=True)
    targets = torch.tensor([[1.0, NAN], [0.0, NAN], [NAN, NAN]])
    loss = loss_of(task, "auto", outputs, targets)
    loss.backward()
    alone = loss_of(task, "auto", outputs[:2], torch.tensor([[1.0, NAN], [0.0, NAN]]))
    assert torch.equal(loss, alone)
    assert (outputs.grad[:, 1] == 0).all()
    assert (outputs.grad[2] == 0).all()
    assert (outputs.grad[:2, 0] != 0).all()


@pytest.mark.parametrize("task", [REGRESSION, BINARY, CLASSES])
def test_a_batch_without_any_target_gives_zero_and_finite_gradients(task):
    outputs = torch.randn(3, task.outputs, requires_grad=True)
    loss = loss_of(task, "auto", outputs, torch.full((3, len(task.targets)), NAN))
    loss.backward()
    assert loss == 0
    assert (outputs.grad == 0).all()


def test_balanced_classes_weigh_the_same_and_a_value_weighs_1_on_average():
    targets = np.array([[0.0, 1], [0, NAN], [0, 1], [1, 1], [2, NAN]])
    task = Task("multiclass", ("a",), "accuracy", ("x", "y", "z"))
    weights = class_weights_of(task, "balanced", targets[:, :1])
    assert weights.tolist() == [pytest.approx([5 / 9, 5 / 3, 5 / 3])]
    binary = Task("binary", ("a", "b"), "rocauc", (0, 1))
    weights = class_weights_of(binary, "balanced", np.minimum(targets, 1))
    assert weights[0].tolist() == pytest.approx([5 / 6, 5 / 4])
    assert weights[1].tolist() == [0, 1]  # one class only
    weights = class_weights_of(task, (1.0, 1.0, 3.0), targets[:, :1])
    assert weights[0].tolist() == pytest.approx([5 / 7, 5 / 7, 15 / 7])
    assert class_weights_of(task, "equal", targets[:, :1]) is None


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 classes"):
        class_weights_of(CLASSES, (1.0, 2.0), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="regression"):
        class_weights_of(REGRESSION, "balanced", np.zeros((1, 2)))


def test_weighted_losses_are_those_of_torch():
    weights = torch.tensor([[0.5, 2.0, 1.0]])
    logits, numbers = torch.randn(4, 3), torch.tensor([[2.0], [0], [1], [2]])
    expected = functional.cross_entropy(
        logits, numbers[:, 0].long(), weights[0], reduction="sum"
    ) / 4  # fmt: skip
    assert torch.allclose(loss_of(CLASSES, "auto", logits, numbers, weights), expected)
    outputs, targets = torch.randn(3, 2), torch.tensor([[0.0, 1], [1, NAN], [1, 0]])
    pairs = torch.tensor([[0.5, 2.0], [3.0, 1.0]])
    each = functional.binary_cross_entropy_with_logits(
        outputs, targets.nan_to_num(), reduction="none"
    )
    scale = torch.tensor([[0.5, 1.0], [2.0, 0.0], [2.0, 3.0]])
    assert torch.allclose(
        loss_of(BINARY, "auto", outputs, targets, pairs), (each * scale).sum() / 5
    )


@pytest.mark.parametrize("loss", ["l1", "mse", "huber"])
def test_a_prediction_that_keeps_to_a_bound_costs_nothing(loss):
    task = Task("regression", ("a", "b"), "mae")
    outputs = torch.tensor([[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]], requires_grad=True)
    bounds = torch.tensor([[2.0, torch.nan], [2.0, 2.0], [2.0, 5.0]])
    for above, free in ((True, [[1, 1], [0, 0], [1, 0]]), (False, [[0, 1], [1, 1], [1, 1]])):
        each, present = bounded_loss(task, loss, outputs, bounds, above)
        assert present.tolist() == [[True, False], [True, True], [True, True]]
        exact, _ = each_loss(task, loss, outputs, bounds)
        expected = torch.where(torch.tensor(free, dtype=bool), 0, exact)
        torch.testing.assert_close(each, expected)


def test_bounds_count_as_targets_do():
    task = Task("regression", ("a",), "mae")
    outputs, nan = torch.tensor([[3.0], [1.0], [2.0], [8.0]]), torch.nan
    targets = torch.tensor([[2.5], [nan], [nan], [nan]])
    bounds = torch.tensor([[nan, nan], [4.0, nan], [nan, 0.0], [nan, nan]])  # above, below
    total, number = total_loss(task, "l1", outputs, targets, bounds=bounds)
    assert (float(total), int(number)) == (0.5 + 3 + 2, 3)


def test_the_likelihood_of_a_bound_is_that_of_all_beyond_it():
    task = Task("regression", ("a",), "mae")
    outputs = torch.tensor([[0.3, 0.5], [-2.0, -1.0], [60.0, 0.0]], dtype=torch.float64)
    bounds = torch.tensor([[1.0], [1.0], [1.0]], dtype=torch.float64)
    normal = norm(outputs[:, :1].numpy(), outputs[:, 1:].exp().numpy())
    above, _ = bounded_loss(task, "gaussian", outputs, bounds, True)
    below, _ = bounded_loss(task, "gaussian", outputs, bounds, False)
    np.testing.assert_allclose(above, -normal.logsf(1.0), rtol=1e-10)
    np.testing.assert_allclose(below, -normal.logcdf(1.0), rtol=1e-10)


def test_quantiles_of_a_bound_are_those_on_its_wrong_side():
    task = Task("regression", ("a",), "mae")
    outputs = torch.tensor([[0.0, 0.0, 0.0]], dtype=torch.float64)  # ends at -1.2816 and 1.2816
    loss = "quantile(level=0.8)"
    for bound, above, expected in (
        (-2.0, True, 0.0), (1.0, True, 0.5 * 1 + 0.1 * 2.28155),
        (3.0, True, 0.5 * 3 + 0.1 * 4.28155 + 0.9 * 1.71845),
        (2.0, False, 0.0), (1.0, False, 0.1 * 0.28155), (-1.0, False, 0.5 * 1 + 0.1 * 2.28155),
    ):  # fmt: skip
        each, _ = bounded_loss(task, loss, outputs, torch.tensor([[bound]]).double(), above)
        assert float(each) == pytest.approx(expected, abs=1e-4)
