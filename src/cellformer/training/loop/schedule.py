"""The learning rate of every step: linear warm-up, then a cosine to zero."""

import math

from cellformer.training.config import TrainingConfig

AUTO_STEPS, AUTO_STEPS_BESIDE_KERNELS = 1200, 300
"""A training of automatic length has at least so many steps, within these bounds of epochs."""
AUTO_EPOCHS = (30, 300)


def epochs_of(config: TrainingConfig, steps_per_epoch: int, beside_kernels: bool = False) -> int:
    """The number of epochs; "auto" gives a small set more of them, so that it has enough steps.

    Fewer are enough where kernels answer beside the cells: on a set so small they know better.
    """
    if config.epochs != "auto":
        return config.epochs
    least, most = AUTO_EPOCHS
    steps = AUTO_STEPS_BESIDE_KERNELS if beside_kernels else AUTO_STEPS
    return min(max(math.ceil(steps / steps_per_epoch), least), most)


def warmup_cosine(step: int, total_steps: int, warmup: float) -> float:
    """The factor of the peak rate at ``step`` of ``total_steps`` (the paper, "Training details").

    ``warmup`` is the part of the steps that rise. Step 0 already learns: rising over w steps, step
    s has the factor (s + 1) / w. After the last step the factor stays at the cosine's end.
    """
    rising = round(warmup * total_steps)
    if step < rising:
        return (step + 1) / rising
    progress = (step - rising) / max(1, total_steps - rising)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
