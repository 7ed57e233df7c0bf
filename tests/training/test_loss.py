import pytest
import torch
from torch.nn import functional

from cellformer.data.dataset import Task
from cellformer.training.loss import loss_of

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
