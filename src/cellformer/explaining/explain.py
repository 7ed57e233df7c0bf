"""Explanations of a trained run's predictions, in the user's units."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from cellformer.complexes.cell_complex import CellComplex
from cellformer.explaining.contributions import Contributions
from cellformer.explaining.integrated_gradients import integrated_gradients
from cellformer.explaining.occlusion import occlusion
from cellformer.model.described import share_of_cells
from cellformer.training.answers.trained_run import TrainedRun

Method: TypeAlias = Literal["occlusion", "gradients"]


def explain(
    run: str | os.PathLike[str] | TrainedRun,
    cells: CellComplex,
    method: Method = "occlusion",
    output: int = 0,
) -> Contributions:
    """The contribution of each cell to one output of a run: a value in its units, or a logit.

    ``run`` is its folder, or what `load` gave, whose own `Run.explain` encodes what it is given;
    here ``cells`` are encoded as those of the run. Raises ValueError if there is no such
    output, or if the run predicts cells.
    """
    if not isinstance(run, TrainedRun):
        run = TrainedRun.open(Path(run))
    task, scaling = run.recipe.task, run.recipe.scaling
    if task.rank is not None:
        raise ValueError(
            f"this run predicts cells of rank {task.rank}; explanations are of one prediction per "
            "complex"
        )
    if not 0 <= output < task.outputs:
        raise ValueError(f"there is no output {output}; the outputs are 0 to {task.outputs - 1}")
    model = run.model
    if method == "gradients":
        found = integrated_gradients(model, cells, output)
    else:
        found = occlusion(model, cells, run.preparation.encodings, output)
    found = replace(found, share=share_of_cells(model))
    if task.kind != "regression":
        return found
    return found.in_units(scaling.deviation[output], scaling.mean[output])
