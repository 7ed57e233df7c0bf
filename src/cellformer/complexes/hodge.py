"""The Hodge decomposition of a cochain: a gradient, a curl, and what goes around holes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import lsmr, splu

from cellformer.complexes.cell_complex import CellComplex

FACTORED = 2000  # unknowns up to which a system is factored at once
STEPS = 500  # of iteration, after which a larger one is factored too
SHIFT = 1e-11  # of the diagonal, so that it can be
REFINEMENTS = 100
ACCURACY = 1e-13  # of the parts, by the length of the flow


@dataclass(frozen=True, eq=False)
class HodgeDecomposition:
    """Three cochains, orthogonal to each other, that sum to a given one.

    Each has the shape of the given one, a row for each cell of its rank.
    """

    gradient: Float64[np.ndarray, "*cell"]  # what potentials of the faces cause
    curl: Float64[np.ndarray, "*cell"]  # what fluxes through the cells of the next rank cause
    harmonic: Float64[np.ndarray, "*cell"]  # the rest: without source and sink, around no cell
    potentials: Float64[np.ndarray, "*face"]  # ``gradient = B_rank^T potentials``
    fluxes: Float64[np.ndarray, "*coface"]  # ``curl = B_{rank+1} fluxes``


def hodge_decomposition(cells: CellComplex, flow: ArrayLike, rank: int = 1) -> HodgeDecomposition:
    """Gradient, curl and harmonic part of a cochain on the cells of a rank, such as an edge flow.

    ``flow`` has shape (cell,) or (cell, columns), each column on its own, with its values along the
    orientations of the cells. The gradient is its projection to the image of ``B_rank^T``, the curl
    that to the image of ``B_{rank+1}``; the harmonic part, which both matrices' transposes take to
    zero, lives around the holes of the complex, and there is none without holes of that rank. The
    parts are exact to about 1e-10 of the flow's length. Reversing cells reverses them, other
    numbers of the cells renumber them. Potentials and fluxes are not unique, their images are.

    Small systems, and those whose iteration is slow, are factored; the others, LSMR solves.

    Raises ValueError if the complex has not that rank, or the flow has not a finite value for each
    of its cells. Source: Lim, "Hodge Laplacians on Graphs", SIAM Review 62 (2020); Fong and
    Saunders, "LSMR", SIAM J. Sci. Comput. 33 (2011).
    """
    if not 0 <= rank <= cells.dim:
        raise ValueError(f"complex {cells.name!r} has ranks 0 to {cells.dim}, not {rank}")
    given = np.asarray(flow, np.float64)
    if given.ndim not in (1, 2) or len(given) != cells.num_cells[rank]:
        raise ValueError(
            f"a flow has a row for each of the {cells.num_cells[rank]} cells of rank {rank}, got "
            f"shape {given.shape}"
        )
    if not np.isfinite(given).all():
        row = int((~np.isfinite(given.reshape(len(given), -1))).any(axis=1).argmax())
        raise ValueError(f"the flow of cell {row} is not finite")
    columns = given[:, None] if given.ndim == 1 else given
    down = cells.boundary(rank).astype(np.float64).T.tocsr()
    up = cells.boundary(rank + 1).astype(np.float64).tocsr()
    potentials = _least_squares(down, columns)
    gradient = down @ potentials
    fluxes = _least_squares(up, columns - gradient)
    curl = up @ fluxes
    parts = (gradient, curl, columns - gradient - curl, potentials, fluxes)
    return HodgeDecomposition(*(part[:, 0] if given.ndim == 1 else part for part in parts))


def harmonic_flows(cells: CellComplex, rank: int = 1) -> Float64[np.ndarray, "cell hole"]:
    """An orthonormal basis of the harmonic cochains of a rank, one column for each hole.

    Their number is the Betti number over the rationals. Which basis it is depends on numbers and
    orientations of the cells; the space does not. Raises ValueError as `hodge_decomposition` does.
    """
    rng = np.random.default_rng(0)
    found: Float64[np.ndarray, "cell hole"] = np.zeros((cells.num_cells[rank], 0))
    while found.shape[1] < len(found):
        drawn = rng.normal(size=len(found))
        drawn /= np.linalg.norm(drawn)
        rest = hodge_decomposition(cells, drawn, rank).harmonic
        for _ in range(2):  # once more for the rounding
            rest = rest - found @ (found.T @ rest)
        length = float(np.linalg.norm(rest))
        if length < 1e-7:  # a flow drawn at random has some share of every direction
            break
        found = np.column_stack([found, rest / length])
    return found


def _least_squares(
    matrix: sparse.csr_array, right: Float64[np.ndarray, "row column"]
) -> Float64[np.ndarray, "unknown column"]:
    """For each column the x whose ``matrix x`` is next to it; the matrix may have any rank."""
    unknowns = matrix.shape[1]
    solved = np.zeros((unknowns, right.shape[1]))
    if not matrix.nnz or not right.size:
        return solved
    slow = np.ones(right.shape[1], bool)
    if unknowns > FACTORED:
        for column, values in enumerate(right.T):
            x, reason, *_ = lsmr(matrix, values, atol=1e-15, btol=1e-15, conlim=0, maxiter=STEPS)
            slow[column] = reason == 7  # out of steps
            solved[:, column] = x
    if slow.any():
        solved[:, slow] = _factored(matrix, right[:, slow])
    return solved


def _factored(
    matrix: sparse.csr_array, right: Float64[np.ndarray, "row column"]
) -> Float64[np.ndarray, "unknown column"]:
    """The same by the normal equations, whose matrix a small shift makes definite.

    Solving again for what is left takes the shift's effect away: in each step, by the shift over
    the lowest eigenvalue that is not zero.
    """
    normal = (matrix.T @ matrix).tocsc()
    shift = SHIFT * normal.diagonal().max()
    factors = splu(
        normal + shift * sparse.eye_array(normal.shape[0], format="csc"),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    solved = np.zeros((matrix.shape[1], right.shape[1]))
    for _ in range(REFINEMENTS):
        step = factors.solve(matrix.T @ (right - matrix @ solved))
        solved += step
        if np.linalg.norm(matrix @ step) <= ACCURACY * np.linalg.norm(right):
            break
    return solved
