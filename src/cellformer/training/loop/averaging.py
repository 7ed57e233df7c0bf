"""Weights averaged over the steps of a training, which predict instead of the last ones."""

from collections.abc import Sequence
from functools import partial

from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def averaged_weights(model: nn.Module, decay: float) -> AveragedModel | None:
    """A copy of the model whose weights follow those of the model, or none for a decay of 0.

    Each step they become ``decay`` of themselves and the rest of the model's; in the first steps
    the decay is smaller, (1 + n) / (10 + n) after n of them, so that the random start is forgotten.
    Buffers are copied. Source: Polyak and Juditsky, "Acceleration of stochastic approximation by
    averaging" (1992), as an exponential moving average.
    """
    if not decay:
        return None
    average = AveragedModel(model, multi_avg_fn=partial(_average, decay))
    average.requires_grad_(False)
    return average


def _average(
    decay: float, averaged: Sequence[Tensor], current: Sequence[Tensor], number: Tensor | int
) -> None:
    steps = int(number)
    ramped = min(decay, (1 + steps) / (10 + steps))
    get_ema_multi_avg_fn(ramped)(averaged, current, number)  # type: ignore[no-untyped-call]
