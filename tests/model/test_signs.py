from dataclasses import replace

import torch

import cellformer as cf
from cellformer.complexes.batches.batch import Part
from cellformer.complexes.cell_complex import NO_SIGN, RANK_SIGN, SHARED_SIGN
from cellformer.model.embedding.signs import with_random_signs


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


def test_parts_of_a_batch_have_the_signs_that_they_have_in_the_whole(encoded, ring):
    complexes = [encoded(ring(3, seed=s), s, signs=[SHARED_SIGN, RANK_SIGN]) for s in range(7)]
    torch.manual_seed(5)
    whole = with_random_signs(cf.collate(complexes))
    for rank in (0, 1):
        places = torch.arange(rank, 7, 2)
        batch = cf.collate([complexes[place] for place in places])
        signed = with_random_signs(replace(batch, part=Part(places, 7, seed=5)))
        for rows, others in zip(signed, whole, strict=True):
            cells = len(others) // 7
            assert torch.equal(rows, others.view(7, cells, 2)[places].flatten(0, 1))
