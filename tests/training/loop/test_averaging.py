import pytest
import torch

from cellformer.training.config import OptimizerConfig
from cellformer.training.loop.averaging import averaged_weights


def test_the_average_follows_the_weights_and_forgets_its_start():
    model = torch.nn.Linear(1, 1, bias=False)
    average = averaged_weights(model, 0.5)
    assert not any(weight.requires_grad for weight in average.parameters())
    expected = None
    for step, value in enumerate((3.0, 5.0, -1.0, 2.0, 4.0, 4.0, 0.0, 9.0, 1.0, 2.0, 6.0)):
        torch.nn.init.constant_(model.weight, value)
        average.update_parameters(model)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = value if expected is None else decay * expected + (1 - decay) * value
        assert average.module.weight.item() == pytest.approx(expected)
    assert model.weight.requires_grad


def test_without_a_decay_there_is_no_average():
    assert averaged_weights(torch.nn.Linear(1, 1), 0.0) is None
    for decay in (1.0, -0.1, 2.0):
        with pytest.raises(ValueError, match=r"optimizer\.averaging must be"):
            OptimizerConfig(averaging=decay)
