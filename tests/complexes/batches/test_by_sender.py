import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.complexes.batches.by_sender import TransposedPairs
from cellformer.complexes.batches.neighborhood import Neighborhood


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 5), unique=True), max_size=6))
def test_transposed_pairs_are_those_of_the_transposed_matrix(rows):
    neighbors = [sorted(row) for row in rows]
    offsets = torch.tensor([0, *map(len, neighbors)]).cumsum(0)
    senders = torch.tensor([sender for row in neighbors for sender in row], dtype=torch.int64)
    neighborhood = Neighborhood(6, offsets, senders, torch.ones(len(senders)))
    transposed = neighborhood.transposed
    assert neighborhood.transposed is transposed
    assert transposed.offsets.diff().tolist() == senders.bincount(minlength=6).tolist()
    expected = [(s, r) for s in range(6) for r, row in enumerate(neighbors) if s in row]
    sender = torch.arange(6).repeat_interleave(transposed.offsets.diff())
    got = list(zip(sender.tolist(), transposed.receivers.tolist(), strict=True))
    assert got == expected
    assert torch.equal(senders[transposed.pairs], sender)
    assert torch.equal(neighborhood.receivers[transposed.pairs], transposed.receivers)


def test_sorting_and_counting_agree():
    matrix = sparse.random_array((50, 30), density=0.2, format="csr", rng=0)
    neighborhood = Neighborhood.from_matrix(matrix)
    arguments = (30, neighborhood.offsets, neighborhood.senders)
    counted, sorted_ = TransposedPairs.of(*arguments), TransposedPairs.by_sorting(*arguments)
    for name in ("offsets", "receivers", "pairs"):
        assert torch.equal(getattr(counted, name), getattr(sorted_, name))
