import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import cellformer as cf
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.model.relations.common_cells import common_cofaces, common_faces


def listed(found, pairs):
    lists = [[] for _ in range(pairs)]
    for pair, cell in zip(found.pairs.tolist(), found.cells.tolist(), strict=True):
        lists[pair].append(cell)
    return lists


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), st.floats(0, 1))
def test_every_pair_is_told_all_cells_that_hold_both_or_lie_in_both(cliques, seed, density):
    batch = cf.collate([cliques(seed), cliques(seed + 1, 5)])
    for rank in range(batch.dim + 1):
        cells = batch.num_cells[rank]
        stored = np.random.default_rng(seed).random((cells, cells)) < density
        # Among the pairs of other cells too, as where the cells of several ranks attend.
        wide = sparse.csr_array(np.pad(stored, ((3, 2), (4, 1))).astype(int))
        pairs = Neighborhood.from_matrix(wide)
        above = abs(batch.boundary(rank + 1).toarray())
        below = abs(batch.boundary(rank).toarray())
        expected_above, expected_below = [], []
        for i, j in zip(*np.nonzero(stored), strict=True):
            expected_above.append(np.flatnonzero(above[i] & above[j]).tolist())
            expected_below.append(np.flatnonzero(below[:, i] & below[:, j]).tolist())
        if rank < batch.dim:
            found = common_cofaces(pairs, batch.faces[rank], 3, 4)
            assert listed(found, len(expected_above)) == expected_above
        if rank:
            number = batch.num_cells[rank - 1]
            found = common_faces(pairs, batch.faces[rank - 1], number, 3, 4)
            assert listed(found, len(expected_below)) == expected_below


def test_no_pairs_have_nothing_in_common(ring):
    batch = cf.collate([ring(4)])
    none = Neighborhood.from_matrix(sparse.csr_array((4, 4)))
    found = common_cofaces(none, batch.faces[0])
    assert [part.tolist() for part in found] == [[], []]
    assert torch.equal(found.cells, common_faces(none, batch.faces[0], 4).cells)
