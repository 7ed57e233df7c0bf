"""Whether two cells near each other are oriented alike.

*Not in the paper*, whose neighborhoods forget the signs of the boundaries.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int8, Int64
from scipy import sparse
from scipy.sparse import csgraph

from cellformer.complexes.matrices import Bounded, Matrix, down_laplacian, up_laplacian


def relative_orientations(
    cells: Bounded, receivers: Sequence[int], senders: Sequence[int], pairs: Matrix
) -> Int8[np.ndarray, " pair"]:
    """A sign s for each stored entry of ``pairs``, in their order.

    The rows are the cells of the ranks ``receivers``, rank after rank, the columns those of
    ``senders``, both ascending. s is

    - of a cell and its face, the entry of the boundary;
    - of a cell and itself, and of any two vertices, 1;
    - of two other cells of a rank k, the sign of their entry in B_{k+1} B_{k+1}^T - B_k^T B_k: 1
      where their orientations go on into each other across a common face (two edges head to tail,
      two triangles that turn the same way), which is where a common coface sees them alike. In
      the Hodge Laplacian, the sum, what both say of such a pair would cancel;
    - of all other pairs 0, also of two that meet several times in opposite ways.

    Reversing either of two different cells of rank 1 or more reverses their s.
    """
    counts = cells.num_cells
    blocks = [
        [_block(cells, receiver, sender) for sender in senders]
        for receiver in receivers
    ]  # fmt: skip
    known = sparse.csr_array(sparse.block_array(blocks, format="csr"))
    known.sum_duplicates()
    rows = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    signs = _entries(known, rows, pairs.indices)
    if receivers[0] == senders[0] == 0:
        signs[(rows < counts[0]) & (pairs.indices < counts[0])] = 1
    return signs


def turned_alike(cells: Bounded) -> Int8[np.ndarray, " face"]:
    """A sign for each 2-cell: those with -1 reversed, cells turn the same way across common edges.

    Across edges of two 2-cells, that is, and where the surface has two sides; a one-sided one keeps
    a seam. The first cell of each connected part keeps its orientation.
    """
    boundary = sparse.csr_array(cells.boundary(2))
    count = boundary.shape[1]
    shared = sparse.csr_array(boundary[np.flatnonzero(np.diff(boundary.indptr) == 2)])
    across = sparse.coo_array(-(shared.T.astype(np.int64) @ shared.astype(np.int64)))
    off = (across.row != across.col) & (across.data != 0)
    alike = sparse.csr_array(
        (np.sign(across.data[off]), (across.row[off], across.col[off])), shape=(count, count)
    )
    part = csgraph.connected_components(alike, directed=False)[1]
    first = np.unique(part, return_index=True)[1]
    # One more node, from which every part is reached, so that one search reaches all.
    root = sparse.coo_array((np.ones(len(first)), (np.full(len(first), count), first)),
                            shape=(count + 1, count + 1))  # fmt: skip
    padded = sparse.coo_array(alike)
    padded.resize((count + 1, count + 1))
    found = csgraph.breadth_first_order(sparse.csr_array(abs(padded) + root), count)
    order, before = found[0][1:].astype(np.int64), found[1].astype(np.int64)
    told = np.ones(count, np.int8)
    inner = before[order] != count
    told[order[inner]] = _entries(alike, before[order[inner]], order[inner])
    signs = [1] * (count + 1)
    for cell, earlier, sign in zip(
        order.tolist(), before[order].tolist(), told[order].tolist(), strict=True
    ):
        signs[cell] = signs[earlier] * sign
    return np.array(signs[:count], np.int8)


def _block(cells: Bounded, receiver: int, sender: int) -> Matrix:
    """The signs between the cells of two ranks, those of two vertices left out."""
    if receiver == sender > 0:
        across = sparse.coo_array(up_laplacian(cells, receiver) - down_laplacian(cells, receiver))
        off = across.row != across.col
        same = np.arange(across.shape[0])
        row, column = (np.append(own[off], same) for own in (across.row, across.col))
        data = np.append(np.sign(across.data[off]), np.ones_like(same))
        return sparse.csr_array((data.astype(np.int8), (row, column)), shape=across.shape)
    if abs(receiver - sender) == 1:
        boundary = cells.boundary(max(receiver, sender))
        return sparse.csr_array(boundary if receiver < sender else boundary.T)
    counts = cells.num_cells
    return sparse.csr_array((counts[receiver], counts[sender]), dtype=np.int8)


def _entries(
    matrix: Matrix, rows: Int64[np.ndarray, " pair"], columns: np.ndarray
) -> Int8[np.ndarray, " pair"]:
    """Some entries of a matrix in CSR form with sorted indices, 0 where none is stored."""
    width = max(matrix.shape[1], 1)
    stored = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) * width + matrix.indices
    wanted = rows.astype(np.int64) * width + columns
    if not len(stored):
        return np.zeros(len(wanted), np.int8)
    place = np.minimum(np.searchsorted(stored, wanted), len(stored) - 1)
    found: Int8[np.ndarray, " pair"] = np.where(stored[place] == wanted, matrix.data[place], 0)
    return found.astype(np.int8)
