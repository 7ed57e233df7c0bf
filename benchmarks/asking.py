"""What trained models say of some complexes, ours and those of PyTorch Geometric alike."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int64

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.experiments.baselines.config import BaselineConfig
from cellformer.experiments.baselines.train import open_baseline, train_baseline
from cellformer.experiments.running.jobs import Job
from cellformer.training.answers.predictor import outputs_of
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import RunConfig
from cellformer.training.materials.materials import gather

Outputs: TypeAlias = Callable[
    [RaggedComplexes, Int64[np.ndarray, " chosen"]], Float[np.ndarray, "row output"]
]


def trained(config: RunConfig | BaselineConfig, folder: Path) -> Outputs:
    """Trains into a folder, or goes on there; what the best weights say of any complexes."""
    if isinstance(config, RunConfig):
        Job(config, folder).perform()
        return TrainedRun.open(folder).outputs
    train_baseline(config, folder)
    predictor = open_baseline(config, folder, gather(config.data))

    def outputs(
        complexes: RaggedComplexes, chosen: Int64[np.ndarray, " chosen"]
    ) -> Float[np.ndarray, "row output"]:
        return outputs_of(predictor, config.training, complexes, chosen)

    return outputs


def classes_of(outputs: Float[np.ndarray, "row output"]) -> Int64[np.ndarray, " row"]:
    """The likeliest class of each row; the only output of two classes is a logit."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.int64)
    best: Int64[np.ndarray, " row"] = outputs.argmax(axis=1)
    return best
