import numpy as np
import pytest
from scipy import sparse

import cellformer as cf
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.model.plans.general import General, general_dense
from cellformer.model.plans.pairwise import Pairwise, pairwise_mixed
from cellformer.model.relations.diagram import Arrow, TensorDiagram
from cellformer.model.relations.patterns import patterns


def test_arrows_of_ranks_that_the_batch_lacks_have_no_pattern(path):
    batch = cf.collate([path(3), path(1)])
    plan = pairwise_mixed()
    found = patterns(batch, plan.relations(batch.dim), False)
    for arrow, pattern in zip(plan.diagram.arrows, found, strict=True):
        if 2 in (arrow.sender, arrow.receiver):
            assert pattern is None
        else:
            assert isinstance(pattern, DenseBlocks if arrow.dense else Neighborhood)


def test_neighborhoods_are_kept_with_the_batch(ring):
    batch = cf.collate([ring(4)])
    calls = []

    def everyone(cells):
        calls.append(cells)
        return sparse.csr_array(np.ones((4, 4)))

    for plan in (Pairwise(TensorDiagram((Arrow(0, 0, everyone),))),) * 3:
        patterns(batch, plan.relations(2), False)
    assert calls == [batch]


def test_general_attention_has_one_pattern_over_all_cells(ring, path):
    batch = cf.collate([ring(4), path(2)])
    (pattern,) = patterns(batch, general_dense().relations(2), False)
    assert pattern.num_receivers == pattern.num_senders == sum(batch.num_cells)


@pytest.mark.parametrize("general", [False, True])
def test_a_function_that_joins_two_complexes_is_an_error(ring, general):
    def everyone(cells):
        return sparse.csr_array(np.ones((cells.num_cells[0],) * 2))

    diagram = TensorDiagram((Arrow(0, 0, everyone),))
    plan = General(diagram, dense=False) if general else Pairwise(diagram)
    with pytest.raises(ValueError, match="complex 0 to one of complex 1"):
        patterns(cf.collate([ring(4), ring(3)]), plan.relations(2), False)
