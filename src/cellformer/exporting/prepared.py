"""Rows as the tensors that an exported program reads."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64

from cellformer.basics.files import check_folder, replace_atomically
from cellformer.complexes.batches.batch import CellBatch
from cellformer.data.preparation import Source
from cellformer.exporting.inputs import ProgramInputs
from cellformer.training.answers.answer import open_input, prepared_rows
from cellformer.training.answers.ensemble import Ensemble

ROW = "row"
"""The array beside the tensors that numbers the rows of the source."""


@dataclass(frozen=True, eq=False)
class PreparedBatch:
    """A file of tensors: the rows of the source that are in it, and why each other one is not."""

    path: Path
    rows: Int64[np.ndarray, " row"]
    reasons: dict[int, str]


def export_batch(
    run: str | os.PathLike[str],
    source: Source,
    path: str | os.PathLike[str],
    smiles_column: str | None = None,
) -> PreparedBatch:
    """Writes the rows of any source that the run predicts as one batch for what `export` writes.

    An ``.npz`` of arrays, without pickles: the input of the program by its names, and ``row``, the
    number in the source of each complex. A row without a complex is left out, with its reason.
    Raises FileNotFoundError for a missing run or source, ValueError for one that cannot be read,
    and where no row has a complex.
    """
    return export_batch_with(Ensemble.open(Path(run)), source, path, smiles_column)


def export_batch_with(
    ensemble: Ensemble,
    source: Source,
    path: str | os.PathLike[str],
    smiles_column: str | None = None,
) -> PreparedBatch:
    """Does what `export_batch` does with models that are open already."""
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"{path} does not end in .npz")
    check_folder(path)
    rows, _ = open_input(ensemble, source, labeled=False, smiles_column=smiles_column)
    prepared, reasons = prepared_rows(ensemble.runs[0], rows)
    failed = {row: reason for row, reason in enumerate(reasons.tolist()) if reason}
    if prepared is None:
        told = f" ({next(iter(failed.values()))})" if failed else ""
        raise ValueError(f"{rows.name}: no row has a complex{told}")
    with torch.no_grad():
        batch = CellBatch.from_ragged(prepared.complexes)
        tensors = ProgramInputs(ensemble.runs[0].model).tensors(batch)
    numbers = np.asarray(prepared.rows, np.int64)
    arrays: dict[str, Any] = {ROW: numbers}
    arrays |= {name: tensor.numpy() for name, tensor in tensors.items()}
    with replace_atomically(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **arrays)
    return PreparedBatch(path, numbers, failed)
