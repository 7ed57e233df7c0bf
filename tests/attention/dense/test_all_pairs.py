import torch

from cellformer.attention.dense.all_pairs import AllPairs
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches.neighborhood import Neighborhood


def test_every_pair_of_a_complex_is_listed_once_in_order():
    receiver_complex, sender_complex = torch.tensor([1, 0, 1]), torch.tensor([0, 1, 1, 2])
    stored = Neighborhood(
        4, torch.tensor([0, 1, 2, 2]), torch.tensor([2, 0]), torch.tensor([2.0, 3])
    )
    pairs = AllPairs.of(DenseBlocks.of(receiver_complex, sender_complex, 3, stored))
    assert pairs.neighborhood.offsets.tolist() == [0, 2, 3, 5]
    assert pairs.neighborhood.senders.tolist() == [1, 2, 0, 1, 2]
    assert pairs.neighborhood.weights.tolist() == [1, 1, 1, 1, 1]
    assert pairs.weights.tolist() == [0, 2, 3, 0, 0]
