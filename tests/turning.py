"""Complexes whose cells are reversed, together with the columns that flip."""

import numpy as np

from cellformer.complexes.cell_complex import FLIPPING_SIGN, NO_SIGN
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
