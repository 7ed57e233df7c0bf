"""Occlusion: how a prediction changes when a cell is left out."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float64

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.removal import without_cell
from cellformer.encodings.encode import Encoding, encode
from cellformer.explaining.contributions import Contributions
from cellformer.model.described import CellModel
from cellformer.model.evaluation import evaluating

CELLS_AT_ONCE = 20_000
"""Cells of one batch; a complex of n cells is predicted n times."""


def occlusion(
    model: CellModel,
    cells: CellComplex,
    encodings: Sequence[Encoding] | None = None,
    output: int = 0,
) -> Contributions:
    """For each cell the prediction with it less the prediction for the complex without it.

    Without a cell the complex lacks all cells that contain it as well (`without_cell`). Its other
    cells keep their encodings, or, where ``encodings`` are given, the complex is encoded anew, so
    that the result is that of predicting the smaller complex from the start. Features of atoms
    that speak of their neighbors (their degree, say) stay as they are.

    Source: Zeiler and Fergus, "Visualizing and understanding convolutional networks" (2014).
    """
    smaller = [
        without_cell(cells, rank, number)
        for rank, count in enumerate(cells.num_cells)
        for number in range(count)
    ]
    if encodings is not None:
        smaller = [encode(one, encodings) for one in smaller]
    size = max(1, CELLS_AT_ONCE // max(1, sum(cells.num_cells)))
    values = [_predict(model, smaller[at : at + size]) for at in range(0, len(smaller), size)]
    whole = float(_predict(model, [cells])[0, output])
    without = np.concatenate(values)[:, output] if values else np.zeros(0)
    ends = np.cumsum(cells.num_cells)[:-1]
    return Contributions(tuple(np.split(whole - without, ends)), whole)


def _predict(
    model: CellModel, complexes: Sequence[CellComplex]
) -> Float64[np.ndarray, "complex output"]:
    batch = collate(complexes).to(next(model.parameters()).device)
    with evaluating(model), torch.no_grad():
        values: Float64[np.ndarray, "complex output"] = model(batch).double().cpu().numpy()
    return values
