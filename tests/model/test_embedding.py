import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.complexes.cell_complex import SHARED_SIGN
from cellformer.model.embedding.embedding import CellEmbedding, FeatureEmbedding


def embedding(categories=((3,), (), ()), continuous=(0, 0, 0), encoding=3, **changed):
    options = {
        "concat_position": True,
        "concat_edges": False,
        "random_signs": True,
        "dropout": 0.0,
    }
    return CellEmbedding(categories, continuous, encoding, 4, **{**options, **changed})


def test_categories_and_values_are_embedded_and_summed(seeded):
    module = FeatureEmbedding((3, 2), 2, 4)
    values = torch.randn(1, 2)
    rows = module.table.weight
    expected = rows[1 + 2] + rows[1 + 3 + 1] + module.linear(values)[0]
    torch.testing.assert_close(module(torch.tensor([[2, 1]]), values)[0], expected)


def test_an_unseen_category_adds_nothing_and_never_trains(seeded):
    module = FeatureEmbedding((3, 2), 0, 4)
    no_values = torch.zeros(2, 0)
    output = module(torch.tensor([[1, 2], [99, 7]]), no_values)
    # 2 is unknown to the second column although the table has such a row for another column
    torch.testing.assert_close(output[0], module.table.weight[1 + 1])
    assert torch.equal(output[1], torch.zeros(4))
    output.sum().backward()
    assert torch.equal(module.table.weight.grad[0], torch.zeros(4))


def test_vertices_without_features_share_one_learned_vector(path):
    bare = cf.CellComplex.from_boundaries([], 3)
    module = embedding(((),), (0,), 0)
    (vertices,) = module(cf.collate([bare]))
    torch.testing.assert_close(vertices, module.positions[0].linear(module.constant).expand(3, -1))
    vertices.sum().backward()
    assert module.constant.grad is not None


@pytest.mark.parametrize("concat_position", [True, False])
def test_higher_cells_start_from_the_sum_of_their_vertices(ring, concat_position, seeded):
    batch = cf.collate([ring(4), ring(3)])
    module = embedding(concat_position=concat_position).eval()
    vectors = module.features["0"](batch.discrete[0], batch.continuous[0])
    faces = torch.stack([vectors[:4].sum(0), vectors[4:].sum(0)])
    ends = abs(batch.boundary(1)).toarray().T
    edges = torch.from_numpy(ends.astype(np.float32)) @ vectors
    _, got_edges, got_faces = module(batch)
    for rank, got, signal in ((1, got_edges, edges), (2, got_faces, faces)):
        position, encodings = module.positions[rank], batch.encodings[rank]
        if concat_position:
            expected = position.linear(torch.cat([signal, encodings], dim=1))
        else:
            expected = position.signal(signal) + position.encoding(encodings)
        torch.testing.assert_close(got, expected)


def test_edges_may_start_from_both_endpoints_lower_vertex_first(ring, flipped, seeded):
    cells = ring(4)
    module = embedding(concat_edges=True).eval()
    batch = cf.collate([ring(3), cells])
    vectors = module.features["0"](batch.discrete[0], batch.continuous[0])[3:]
    # ring(4) has the edges 01, 12, 23, 03
    pairs = torch.tensor([[0, 1], [1, 2], [2, 3], [0, 3]])
    signal = torch.cat([vectors[pairs[:, 0]], vectors[pairs[:, 1]]], dim=1)
    expected = module.positions[1].linear(torch.cat([signal, batch.encodings[1][3:]], dim=1))
    torch.testing.assert_close(module(batch)[1][3:], expected)
    turned = cf.collate([ring(3), flipped(cells, 0)])
    torch.testing.assert_close(module(turned)[1], module(batch)[1])


def test_own_features_of_edges_replace_the_endpoints_and_those_of_faces_are_added(seeded):
    triangle = cf.CellComplex.from_boundaries(
        [[[-1, 0, -1], [1, -1, 0], [0, 1, 1]], [[1], [1], [-1]]],
        features=[[0, 1, 2], [1, 0, 1], np.array([[0.5]])],
    )
    batch = cf.collate([triangle])
    module = embedding(((3,), (2,), ()), (0, 0, 1), 0, concat_edges=True)
    vertices, edges, faces = (
        module.features[str(rank)](batch.discrete[rank], batch.continuous[rank])
        for rank in range(3)
    )
    got = module(batch)
    torch.testing.assert_close(got[1], module.positions[1].linear(edges))
    torch.testing.assert_close(got[2], module.positions[2].linear(vertices.sum(0) + faces))


def test_signs_are_random_in_training_only(encoded, ring, seeded):
    batch = cf.collate([encoded(ring(4), signs=[SHARED_SIGN] * 6)])
    module = embedding(encoding=6)
    assert any(not torch.equal(module(batch)[0], module(batch)[0]) for _ in range(3))
    fixed = embedding(encoding=6, random_signs=False)
    assert torch.equal(fixed(batch)[0], fixed(batch)[0])
    module.eval()
    expected = module.positions[0].linear(
        torch.cat(
            [module.features["0"](batch.discrete[0], batch.continuous[0]), batch.encodings[0]],
            dim=1,
        )
    )
    torch.testing.assert_close(module(batch)[0], expected)


def test_other_columns_than_the_model_expects_are_an_error(encoded, ring):
    with pytest.raises(ValueError, match="3 encoding columns, the model expects 5"):
        embedding(encoding=5)(cf.collate([ring(4)]))
    with pytest.raises(ValueError, match=r"rank 0 of the batch has \(1, 0, 0\)"):
        embedding(((3, 2), (), ()))(cf.collate([ring(4)]))
