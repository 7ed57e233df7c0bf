import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.explaining.attention import attention_of, choose
from cellformer.model.diagram import Arrow, TensorDiagram

NAMES = ("pairwise-sparse", "pairwise-dense", "pairwise-mixed", "general-sparse", "general-dense")


@pytest.mark.parametrize("name", NAMES)
def test_the_weights_of_every_receiver_sum_to_one(make_model, molecules, name):
    general = name.startswith("general")
    for cells in molecules:
        sums = {}
        for found in attention_of(make_model(name), cells):
            key = (found.layer, found.receiver_rank, "" if general else found.arrow)
            total = sums.setdefault(key, np.zeros((cells.num_cells[found.receiver_rank], 4)))
            np.add.at(total, found.receivers, found.weights)
        for total in sums.values():
            reached = total[(total != 0).any(axis=1)]
            np.testing.assert_allclose(reached, 1, rtol=1e-5)


def test_every_arrow_has_the_pairs_of_its_own_neighborhood(make_model, molecules):
    model, cells = make_model("pairwise-mixed"), molecules[0]
    found = attention_of(model, cells)
    assert [one.layer for one in found] == [0] * 7 + [1] * 7
    for one, arrow in zip(found, model.plan.diagram.arrows * 2, strict=True):
        assert one.arrow == str(arrow)
        matrix = arrow.matrix(cells).tocoo()
        pairs = set(zip(one.receivers.tolist(), one.senders.tolist(), strict=True))
        if arrow.dense:
            assert len(pairs) == matrix.shape[0] * matrix.shape[1]
        else:
            assert pairs == set(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True))


def test_the_first_layer_is_the_softmax_of_the_layer_s_own_projections(make_model, molecules):
    model, cells = make_model("general-sparse").eval(), molecules[0]
    batch = cf.collate([cells])
    layer = model.layers[0]
    with torch.no_grad():
        tokens = torch.cat(model.embedding(batch))
        query, key = layer.query_key(layer.norm(tokens)).chunk(2, dim=1)
    matrix = torch.from_numpy(model.plan.diagram.block_matrix(cells).toarray()).float()
    expected = np.zeros((4, len(tokens), len(tokens)))
    for head in range(4):
        scores = query[:, head::4] @ key[:, head::4].T * layer.options.scale * matrix
        scores = scores.masked_fill(matrix == 0, -torch.inf)
        expected[head] = scores.softmax(1).nan_to_num().numpy()
    starts = np.concatenate([[0], np.cumsum(cells.num_cells)])
    actual = np.zeros_like(expected)
    for one in attention_of(model, cells):
        if one.layer == 0:
            rows = one.receivers + starts[one.receiver_rank]
            actual[:, rows, one.senders + starts[one.sender_rank]] = one.weights.T
    np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_looking_leaves_a_model_in_training_as_it_was(make_model, molecules):
    model = make_model("pairwise-sparse", attention_dropout=0.5).train()
    first, second = (attention_of(model, molecules[0])[0].weights for _ in range(2))
    assert model.training
    np.testing.assert_array_equal(first, second)


def test_arrows_between_the_same_ranks_are_told_apart(molecules):
    def far(cells):
        return cf.containment(cells, 0, 1) @ cf.containment(cells, 0, 1).T

    diagram = TensorDiagram((Arrow(0, 0, "up"), Arrow(0, 0, far), Arrow(1, 2, "incidence")))
    config = cf.ModelConfig.for_batch(
        cf.collate(molecules[2:]), cf.ArchitectureConfig(width=8, layers=1, heads=2)
    )
    found = attention_of(cf.CellularTransformer(config, cf.Pairwise(diagram)), molecules[2])
    assert [one.arrow for one in found] == ["0 -> 0 (up)", "0 -> 0 (far)", "1 -> 2"]


def test_an_arrow_is_chosen_by_its_name_and_others_are_listed(make_model, molecules):
    found = attention_of(make_model("pairwise-sparse"), molecules[0])
    assert choose(found, 1, "2->1").arrow == "2 -> 1"
    with pytest.raises(ValueError, match="layers 0 to 1 and the arrows 0 -> 0, 1 -> 1"):
        choose(found, 2, "2->1")
    with pytest.raises(ValueError, match="heads are 0 to 3"):
        found[0].of_head(4)
