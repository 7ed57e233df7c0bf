"""A trained model's answers for the rows of any source."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import NDArray

from cellformer.data.dataset import GraphSet
from cellformer.data.preparation import Source, rows_in, smiles_in
from cellformer.data.preparing.prepare import NoComplexError, Prepared
from cellformer.data.tables.table import Table
from cellformer.training.answers.cell_predictions import cell_rows, spread_outputs
from cellformer.training.answers.conformal import Residuals
from cellformer.training.answers.ensemble import Ensemble, pooled
from cellformer.training.answers.trained_run import TrainedRun


@dataclass(frozen=True, eq=False)
class Answers:
    """What every member says of every row; NaN, and a reason, for a row without a complex.

    Where the task is one of cells, there is an answer for every cell, and one, NaN, for a complex
    that has none.
    """

    rows: GraphSet
    outputs: Float[np.ndarray, "member answer output"]
    reasons: tuple[str, ...]  # one per answer, empty where there is no failure
    cells: pd.DataFrame | None = None  # of a task of cells: "row" and "cell" of every answer


def open_input(
    ensemble: Ensemble, source: Source, labeled: bool, smiles_column: str | None = None
) -> tuple[GraphSet, Table | None]:
    """The rows of a source, and its table where it is one; a list of SMILES becomes one."""
    run = ensemble.runs[0]
    table = run.preparation.table_of(source)
    listed = rows_in(source)
    smiles = None if listed is None else smiles_in(listed)
    if smiles is not None:
        index = source.index if isinstance(source, pd.Series) else None
        table = Table.of_frame(pd.DataFrame({"smiles": smiles}, index), "molecules")
        smiles_column = "smiles"
    elif listed is not None:
        source = listed
    opened = source if table is None else table
    return run.preparation.open_new(opened, run.recipe.task, labeled, smiles_column), table


def prepared_rows(run: TrainedRun, rows: GraphSet) -> tuple[Prepared | None, NDArray[np.object_]]:
    """The complexes of some rows, None where no row has one, and why each other row has none."""
    prepared: Prepared | None = None
    try:
        prepared = run.prepare(rows)
        failures = prepared.failures
    except NoComplexError as nothing:
        failures = nothing.failures
    reasons = np.full(len(rows), "", dtype=object)
    for row, reason in failures:
        reasons[row] = reason
    return prepared, reasons


def answer(ensemble: Ensemble, rows: GraphSet) -> Answers:
    """Answers for all rows; never raises because of a row."""
    rank = ensemble.task.rank
    found: Float[np.ndarray, "member answer output"]
    members = len(ensemble.runs) * (ensemble.samples or 1)
    found = np.zeros((members, 0, ensemble.task.outputs), np.float32)
    prepared, reasons = prepared_rows(ensemble.runs[0], rows)
    if prepared is not None:
        found = ensemble.answers(prepared.complexes, np.arange(len(prepared.rows)))
    if rank is not None:
        frame = cell_rows(prepared, rank, len(rows))
        return Answers(
            rows,
            np.stack([spread_outputs(one, frame) for one in found]).astype(found.dtype),
            tuple(reasons[frame["row"].to_numpy()].tolist()),
            frame.drop(columns="place"),
        )
    outputs = np.full((len(found), len(rows), found.shape[2]), np.nan, found.dtype)
    if prepared is not None:
        outputs[:, prepared.rows] = found
    return Answers(rows, outputs, tuple(reasons.tolist()))


def residuals_for(ensemble: Ensemble, calibrate: Source | None) -> Residuals:
    """The errors that calibrate intervals: on labeled rows given, or those kept with the run.

    The latter are of its validation rows, which also chose its best epoch, so that intervals from
    them can be a little narrow. Raises ValueError where there are none.
    """
    if calibrate is None and ensemble.samples is not None:
        raise ValueError(
            "the errors that were kept with the run are those of predictions without dropout; "
            "give labeled rows to calibrate samples on"
        )
    if calibrate is None:
        kept = ensemble.folder.residuals
        if not kept.exists():
            raise ValueError(
                f"{ensemble.folder.path} holds no errors to calibrate intervals on; give labeled "
                "rows to calibrate on"
            )
        residuals = Residuals.read(kept)
        if residuals.targets != ensemble.task.targets:
            raise ValueError(
                f"{kept} has errors of {', '.join(residuals.targets) or 'nothing'}, but the run "
                f"predicts {', '.join(ensemble.task.targets)}; give labeled rows to calibrate on"
            )
        return residuals
    rows, _ = open_input(ensemble, calibrate, labeled=True)
    name = rows.name if isinstance(calibrate, str | Path) else "the table to calibrate on"
    if rows.task_or_none is None:
        raise ValueError(
            f"{name} lacks the targets of this run: {', '.join(ensemble.task.targets)}"
        )
    answers = answer(ensemble, rows)
    good = np.array([not reason for reason in answers.reasons], bool)
    answered = np.flatnonzero(good)
    if answers.cells is not None:
        good &= answers.cells["cell"].notna().to_numpy(bool)
        answered = np.unique(answers.cells["row"].to_numpy(np.int64)[good])
    values = pooled(ensemble.task, answers.outputs)
    return Residuals.of(ensemble.task, values[good], rows.targets_of(answered), name)
