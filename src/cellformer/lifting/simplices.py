"""The complex of simplices that are given by their vertices."""

import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64
from scipy import sparse

from cellformer.complexes.cell_complex import Boundary, CellComplex


def simplicial_complex(top: Sequence[Sequence[int]] | np.ndarray, name: str = "") -> CellComplex:
    """All faces of simplices of one dimension, each rank in lexicographic order.

    Vertices are numbered from 0. Raises ValueError where a simplex has a vertex twice, or fewer or
    more than others.
    """
    given = np.asarray(top)
    if given.ndim != 2 or not given.size or given.dtype.kind not in "iu":
        raise ValueError("simplices have to list equally many vertices, by whole numbers")
    simplices = np.sort(given.astype(np.int64), axis=1)
    if simplices.min() < 0 or (np.diff(simplices, axis=1) == 0).any():
        raise ValueError("simplices have to list different vertices, from 0")
    vertices = int(simplices.max()) + 1
    ranks = [np.arange(vertices)[:, None]]
    for size in range(2, simplices.shape[1] + 1):
        corners = list(itertools.combinations(range(simplices.shape[1]), size))
        ranks.append(np.unique(simplices[:, corners].reshape(-1, size), axis=0))
    boundaries = [_boundary(below, above, vertices) for below, above in itertools.pairwise(ranks)]
    return CellComplex.from_boundaries(boundaries, vertices, name=name)


def _boundary(
    below: Int64[np.ndarray, "face corner"], above: Int64[np.ndarray, "simplex _"], vertices: int
) -> Boundary:
    """The alternating sum of the faces that lack one vertex each."""
    weights = vertices ** np.arange(below.shape[1])[::-1]
    keys = below @ weights  # ascending, as the rows are in lexicographic order
    size = above.shape[1]
    rows = [np.searchsorted(keys, np.delete(above, left_out, 1) @ weights) for left_out in
            range(size)]  # fmt: skip
    signs = np.repeat((-1) ** np.arange(size), len(above))
    columns = np.tile(np.arange(len(above)), size)
    return sparse.csc_array(
        (signs.astype(np.int8), (np.concatenate(rows), columns)), shape=(len(below), len(above))
    )
