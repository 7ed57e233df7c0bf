"""Score a trained model."""

from pathlib import Path
from typing import Any

import numpy as np

from cellformer.training.materials import gather
from cellformer.training.summary import score_outputs
from cellformer.training.trained import TrainedRun


def evaluate(
    run: Path, source: str | None = None, part: str = "test", weights: str = "best"
) -> dict[str, Any]:
    """The scores on all rows of a source, or on a part of the run's own data.

    Raises FileNotFoundError for a missing run or source, ValueError if there is nothing to score.
    """
    trained = TrainedRun.open(run, weights)
    task = trained.recipe.task
    if source is None:
        materials = gather(trained.config.data)
        complexes, chosen, name = materials.complexes, materials.split[part], materials.name
        failures = len(materials.failures)
    else:
        labeled = trained.open_source(source, labeled=True)
        if labeled.task_or_none is None:
            raise ValueError(f"{source} lacks the targets of this run: {', '.join(task.targets)}")
        prepared = trained.prepare(labeled)
        complexes, chosen, name = prepared.complexes, np.arange(len(prepared.rows)), labeled.name
        failures = len(prepared.failures)
    if not len(chosen):
        raise ValueError(f"the {part} part of {name} is empty; there is nothing to score")
    return {
        "source": name,
        "part": part if source is None else "all",
        "weights": weights,
        "complexes": len(chosen),
        "rows_without_complex": failures,
        "scores": score_outputs(
            task, trained.outputs(complexes, chosen), complexes.targets_of(chosen)
        ),
    }
