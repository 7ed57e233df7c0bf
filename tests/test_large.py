"""What is linear in the size of one complex, from building it to its batch."""

import tracemalloc

import cellformer as cf
from cellformer.complexes.examples import torus_grid
from cellformer.model.patterns import patterns


def peak_per_cell(side):
    """The most bytes that numpy and scipy held at once, for each cell."""
    tracemalloc.start()
    try:
        batch = cf.collate([cf.encode(torus_grid(side, side), cf.RWPe(8))])
        for plan in (cf.pairwise_sparse(), cf.general_sparse()):
            patterns(batch, plan.relations(batch.dim), False)
        return tracemalloc.get_traced_memory()[1] / sum(batch.num_cells)
    finally:
        tracemalloc.stop()


def test_building_encoding_and_batching_take_linear_memory():
    peak_per_cell(10)  # what is imported and cached at the first use
    small, large = peak_per_cell(30), peak_per_cell(60)
    assert large < 1.1 * small
    assert large < 2000  # bytes; a matrix of all pairs would take 29,000
