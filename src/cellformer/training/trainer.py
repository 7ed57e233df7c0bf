"""How Lightning's trainer is set up everywhere."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cellformer.training.config import TrainingConfig


def trainer_options(config: TrainingConfig) -> dict[str, Any]:
    """Device, precision and display; the same for training and prediction."""
    shown = sys.stderr.isatty()
    return {
        "accelerator": config.device,
        "devices": 1,
        "precision": {"32": "32-true", "64": "64-true"}.get(config.precision, config.precision),
        "deterministic": config.deterministic,
        "enable_model_summary": False,
        "enable_progress_bar": shown,
    }


@contextmanager
def lightning_warnings() -> Iterator[None]:
    """Silences advice that does not apply to complexes: workers, devices, sizes of batches."""
    with warnings.catch_warnings():
        for advice in (
            ".*does not have many workers.*",
            ".*GPU available but not used.*",
            ".*The number of training batches.*",
            ".*Trying to infer the `batch_size`.*",
            ".*Checkpoint directory.*exists and is not empty.*",
        ):
            warnings.filterwarnings("ignore", advice)
        yield
