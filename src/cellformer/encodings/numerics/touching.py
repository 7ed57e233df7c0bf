"""How cells touch each other, and how a walk gets from one to the other, for any list of pairs."""

from typing import NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float32, Int64
from numba import njit

from cellformer.complexes.matrices import Matrix
from cellformer.encodings.numerics.walks import advance

COMMON = 4
"""The columns of `common_and_walks` before those of the walk."""


class Incidences(NamedTuple):
    """Which cells are faces of which, with their incidence numbers, all ranks together."""

    faces: Matrix  # a row per cell
    cofaces: Matrix  # likewise


def common_and_walks(
    incidences: Incidences,
    walk: Matrix,
    steps: int,
    rows: Int64[np.ndarray, " pair"],
    columns: Int64[np.ndarray, " pair"],
) -> Float32[np.ndarray, "pair column"]:
    """What two cells have in common, and the probabilities of a walk between them.

    The columns: the numbers of common cofaces and of common faces; the same, where each counts 1
    if the two incidence numbers agree and -1 if not; then the entries (row, column) of the powers
    1 ... steps of the walk's matrix. A row that several pairs have is followed once, as far as the
    steps reach; memory is linear in the cells and pairs.
    """
    found = np.zeros((len(rows), COMMON + steps), np.float32)
    order = np.argsort(rows, kind="stable")
    up, down = incidences.cofaces, incidences.faces
    _fill(
        found, rows, columns, order, steps,
        (up.indptr, up.indices, up.data), (down.indptr, down.indices, down.data),
        (walk.indptr, walk.indices, walk.data),
    )  # fmt: skip
    return found


@njit(cache=True)
@no_type_check
def _fill(found, of_rows, of_columns, order, steps, up, down, walk):
    cells_in_all = len(walk[0]) - 1
    common = np.zeros((COMMON, cells_in_all), np.float32)
    rows = np.zeros((2, cells_in_all))  # a row of a power, and room for the next
    cells = np.empty((2, cells_in_all), np.int32)  # where they are not zero
    counts = np.zeros(2, np.int64)
    first = 0
    while first < len(order):
        row = of_rows[order[first]]
        last = first
        while last < len(order) and of_rows[order[last]] == row:
            last += 1
        _count(common, 0, row, up, down, 1)
        _count(common, 1, row, down, up, 1)
        for pair in order[first:last]:
            for column in range(COMMON):
                found[pair, column] = common[column, of_columns[pair]]
        _count(common, 0, row, up, down, 0)
        _count(common, 1, row, down, up, 0)
        now, spare = 0, 1
        rows[now, row] = 1.0
        cells[now, 0] = row
        counts[now] = 1
        for step in range(steps):
            advance(walk[0], walk[1], walk[2], rows, cells, counts, now, spare)
            now, spare = spare, now
            for pair in order[first:last]:
                found[pair, COMMON + step] = rows[now, of_columns[pair]]
        for cell in cells[now, : counts[now]]:
            rows[now, cell] = 0.0
        first = last


@njit(cache=True)
@no_type_check
def _count(common, column, row, there, back, sign):
    """Adds up the ways over the neighbors ``there`` of a row; with ``sign`` 0, clears the sums."""
    for p in range(there[0][row], there[0][row + 1]):
        between = there[1][p]
        for q in range(back[0][between], back[0][between + 1]):
            other = back[1][q]
            if sign:
                common[column, other] += 1
                common[column + 2, other] += there[2][p] * back[2][q]
            else:
                common[column, other] = 0
                common[column + 2, other] = 0
