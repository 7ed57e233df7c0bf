"""Complexes whose cells are reversed, together with the columns that flip, and signs of pairs."""

import numpy as np

from cellformer.complexes.cell_complex import FLIPPING_SIGN, NO_SIGN, CellComplex
from cellformer.complexes.polygons import edge_boundary, polygon_boundary
from cellformer.complexes.relabel import flip

KINDS = np.array([NO_SIGN, FLIPPING_SIGN, FLIPPING_SIGN], np.int8)


def with_flipping(cells, seed=0):
    """The complex with random encodings, of which two columns flip."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(n, len(KINDS))).astype(np.float32) for n in cells.num_cells]
    return cells.with_encodings(rows, KINDS)


def turned(cells, signs):
    """The complex with the cells reversed whose sign is -1, as `flip`, and their columns too."""
    rows = [own.copy() for own in cells.encodings]
    for own, sign in zip(rows[1:], signs[1:], strict=True):
        own[:, cells.encoding_signs == FLIPPING_SIGN] *= sign[:, None]
    return flip(cells, signs).with_encodings(rows, cells.encoding_signs)


def random_turn(cells, seed):
    """The complex with random cells reversed, and the signs."""
    rng = np.random.default_rng(seed)
    signs = [np.ones(cells.num_vertices, np.int8)]
    signs += [rng.choice(np.array([-1, 1], np.int8), n) for n in cells.num_cells[1:]]
    return turned(cells, signs), signs


def sign_of(cells, receiver, sender, row, column):
    """Whether two cells are oriented alike, by the definition alone."""
    if receiver == sender:
        if receiver == 0 or row == column:
            return 1
        faces = cells.boundary(receiver).toarray().astype(int)
        cofaces = cells.boundary(receiver + 1).toarray().astype(int)
        return np.sign(cofaces[row] @ cofaces[column] - faces[:, row] @ faces[:, column])
    if receiver == sender - 1:
        return cells.boundary(sender).toarray()[row, column]
    if receiver == sender + 1:
        return cells.boundary(receiver).toarray()[column, row]
    return 0


def squares_across():
    """Two squares on four vertices; they have 01 alike and 23 in opposite directions."""
    edges = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (0, 2)])
    squares = polygon_boundary(4, edges, [[0, 1, 2, 3], [0, 1, 3, 2]])
    return CellComplex.from_boundaries([edge_boundary(4, edges), squares])
