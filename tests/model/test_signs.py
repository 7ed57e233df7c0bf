import torch

import cellformer as cf
from cellformer.complexes.cell_complex import NO_SIGN, RANK_SIGN, SHARED_SIGN
from cellformer.model.signs import with_random_signs


def test_signs_are_drawn_per_complex_and_column_as_their_kind_says(encoded, ring, seeded):
    kinds = [NO_SIGN, SHARED_SIGN, RANK_SIGN]
    batch = cf.collate([encoded(ring(3, seed=s), s, signs=kinds) for s in range(40)])
    ranks = []
    for rank, rows in enumerate(with_random_signs(batch)):
        quotient = rows / batch.encodings[rank]
        assert set(quotient.unique().tolist()) == {-1, 1}
        first = batch.offsets[rank][:-1]
        signs = quotient[first]
        # all cells of one rank of one complex share a sign
        assert torch.equal(quotient, signs[batch.complex_of(rank)])
        ranks.append(signs)
    for signs in ranks:
        assert (signs[:, 0] == 1).all()
        assert torch.equal(signs[:, 1], ranks[0][:, 1])
        assert 5 < (signs[:, 1] == 1).sum() < 35
    assert not torch.equal(ranks[0][:, 2], ranks[1][:, 2])
    assert not torch.equal(ranks[1][:, 2], ranks[2][:, 2])


def test_encodings_without_columns_stay_empty(encoded, ring):
    batch = cf.collate([encoded(ring(3), columns=0)])
    assert [rows.shape[1] for rows in with_random_signs(batch)] == [0, 0, 0]
