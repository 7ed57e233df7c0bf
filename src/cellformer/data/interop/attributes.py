"""Features kept as attributes of nodes, edges and cells, as networkx and TopoNetX keep them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.features import Features

Names = tuple[str, ...]
Attributes = dict[str, Any]
SIGNED = "signed"
"""The name of the attribute whose values flip."""


def gather(rows: Sequence[Mapping[str, Any]], names: Sequence[str], what: str) -> Features:
    """The named attributes of all cells as columns, integers discrete and floats continuous.

    An attribute is a number or a sequence of numbers, of the same length for every cell; that named
    ``"signed"`` changes its sign with the orientation of the cell (see `Features`). ``what`` says
    in errors whose attributes they are. Raises ValueError where one is missing or ragged.
    """
    parts = [Features.empty(len(rows))]
    for name in names if rows else ():
        values = []
        for index, row in enumerate(rows):
            if name not in row:
                raise ValueError(f"{what} {index} has no attribute {name!r}")
            values.append(np.asarray(row[name]))
        shapes = {value.shape for value in values}
        if len(shapes) > 1 or values[0].ndim > 1:
            raise ValueError(
                f"attribute {name!r} must be a number or a list of numbers of one length for "
                f"every {what}, found shapes {sorted(shapes)}"
            )
        told = f"attribute {name!r} of {what}s"
        if name == SIGNED:
            parts.append(Features.empty(len(rows)).with_signed(np.stack(values), told))
        else:
            parts.append(Features.of(np.stack(values), len(rows), told))
    return beside(parts)


def beside(parts: Sequence[Features]) -> Features:
    """The columns of several features of the same cells, side by side."""
    return Features(
        np.concatenate([part.discrete for part in parts], axis=1),
        np.concatenate([part.continuous for part in parts], axis=1),
        np.concatenate([part.signed for part in parts], axis=1),
    )


def gather_positions(
    rows: Sequence[Mapping[str, Any]], name: str | None, what: str
) -> NDArray[np.float64] | None:
    """The named attribute of all vertices as rows of coordinates; None without a name."""
    if name is None:
        return None
    for index, row in enumerate(rows):
        if name not in row:
            raise ValueError(f"{what} {index} has no attribute {name!r}")
    points = [np.asarray(row[name], np.float64) for row in rows]
    if len({point.shape for point in points}) > 1 or (points and points[0].ndim != 1):
        raise ValueError(f"attribute {name!r} must be as many coordinates for every {what}")
    return np.stack(points) if points else np.zeros((0, 2))


def spread(features: Features) -> list[Attributes]:
    """One dictionary for each cell, with a tuple of numbers for each kind that has columns.

    The keys are ``"discrete"``, ``"continuous"`` and ``"signed"``; `gather` turns them back into
    the same features.
    """
    rows: list[Attributes] = [{} for _ in range(len(features))]
    if features.discrete.shape[1]:
        for row, numbers in zip(rows, features.discrete.tolist(), strict=True):
            row["discrete"] = tuple(numbers)
    if features.continuous.shape[1]:
        for row, values in zip(rows, features.continuous.tolist(), strict=True):
            row["continuous"] = tuple(values)
    if features.signed.shape[1]:
        for row, values in zip(rows, features.signed.tolist(), strict=True):
            row[SIGNED] = tuple(values)
    return rows
