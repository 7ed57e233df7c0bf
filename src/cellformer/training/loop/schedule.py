"""The learning rate of every step: linear warm-up, then a cosine to zero."""

import math

from cellformer.training.config import TrainingConfig

AUTO_STEPS = 1200
"""A training of automatic length has at least so many steps, within these bounds of epochs."""
AUTO_EPOCHS = (30, 300)


def epochs_of(config: TrainingConfig, steps_per_epoch: int) -> int:
    """The number of epochs; "auto" gives a small set more of them, so that it has enough steps."""
    if config.epochs != "auto":
        return config.epochs
    least, most = AUTO_EPOCHS
    return min(max(math.ceil(AUTO_STEPS / steps_per_epoch), least), most)


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
