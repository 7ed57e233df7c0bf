import numpy as np
import pytest
import torch
from scipy import sparse

import cellformer as cf
from cellformer.explaining.attention import attention_of, choose
from cellformer.model.relations.diagram import Arrow, TensorDiagram
from cellformer.model.relations.relation import Relation

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


def test_heads_that_see_farther_have_arrows_of_their_own(make_model, molecules):
    cells = molecules[0]
    found = attention_of(make_model("general-sparse", heads=8, reach="1,2,all,all"), cells)
    pairs = {
        reach: {
            (pair, one.sender_rank, one.receiver_rank)
            for one in found
            if one.layer == 0 and one.arrow.partition(" (")[2] == reach
            for pair in zip(one.receivers.tolist(), one.senders.tolist(), strict=True)
        }
        for reach in ("", "2 hops)", "all)")
    }
    near, two, whole = pairs.values()
    assert near < two < whole
    assert len(whole) == sum(cells.num_cells) ** 2
    assert choose(found, 1, "0 -> 0 (all)").heads == 4
    assert choose(found, 1, "0->0(2 hops)").heads == 2


@pytest.mark.parametrize("name", NAMES)
def test_where_columns_flip_the_pairs_are_those_of_the_cells(make_model, molecules, name):
    cells = molecules[1]
    plain = attention_of(make_model(name), cells)
    found = attention_of(make_model(name, signed_width=8), cells)
    own = [one for one in found if not one.arrow.endswith("(signed)")]
    assert [one.arrow for one in own] == [one.arrow for one in plain]
    for one, other in zip(own, plain, strict=True):
        np.testing.assert_array_equal(one.receivers, other.receivers)
        np.testing.assert_array_equal(one.senders, other.senders)
    assert (len(found) > len(own)) == (name not in ("pairwise-sparse", "general-sparse"))
    for one in found:
        if one.arrow.endswith("(signed)") and name.startswith("pairwise"):
            rank, sender = one.receiver_rank, one.sender_rank
            total = np.zeros((cells.num_cells[rank], 4))
            np.add.at(total, one.receivers, one.weights)
            assert np.allclose(total[(total != 0).any(axis=1)], 1)
            assert one.senders.max(initial=0) < cells.num_cells[sender]


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


class TwoWays:
    """From vertices to edges and faces in one softmax, and from edges to faces, sparsely."""

    diagram = cf.paper_diagram()

    def relations(self, dim):
        up = TensorDiagram((Arrow(0, 1, "incidence"), Arrow(0, 2, both)))
        many = Relation(up.arrows, (1, 2), (0,), True, down, "down")
        return (many, Relation.along(Arrow(1, 2, "incidence")))

    def layer(self, options):
        return Attending(options.width, options.heads)

    def through(self, layers, cells, patterns, vertices_only):
        for layer in layers:
            cells = layer(list(cells), patterns)
        return cells


def both(cells):
    return cf.containment(cells, 0, 2).T


def down(cells):
    return sparse.vstack([cf.incidence(cells, 1).T, both(cells)], format="csr")


class Attending(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads

    def forward(self, cells, patterns):
        split = [rows.unflatten(1, (-1, self.heads)) for rows in cells]
        pairs = ((torch.cat(split[1:]), split[0]), (split[2], split[1]))
        for (queries, keys), pattern in zip(pairs, patterns, strict=True):
            if pattern is not None:
                theta = None if pattern is patterns[1] else torch.ones(1)
                cf.attend(queries, keys, keys, pattern, theta=theta)
        return cells


def test_softmaxes_of_several_ranks_are_told_apart_by_these(molecules):
    cells = molecules[0]
    small = cf.ArchitectureConfig(width=8, layers=2, heads=2)
    config = cf.ModelConfig.for_batch(cf.collate(molecules), small)
    found = attention_of(cf.CellularTransformer(config, TwoWays()), cells)
    assert [one.arrow for one in found] == ["0 -> 1", "0 -> 2", "1 -> 2"] * 2
    counts = cells.num_cells
    assert [len(one.weights) for one in found[:2]] == [counts[0] * counts[1], counts[0] * counts[2]]
    for one in found:
        assert 0 <= one.receivers.min() <= one.receivers.max() < counts[one.receiver_rank]
        sums = np.zeros((counts[one.receiver_rank], 2))
        np.add.at(sums, one.receivers, one.weights)
        np.testing.assert_allclose(sums, 1, rtol=1e-5)


def test_layers_that_attend_otherwise_than_their_plan_says_are_told_of(make_model, molecules):
    model = make_model("pairwise-sparse")
    model.layers = torch.nn.ModuleList([torch.nn.Identity()])
    model.layers[0].forward = lambda cells, patterns, vertices_only: cells
    with pytest.raises(ValueError, match=r"0 softmaxes were taken in 1 layers, whose plan has 7"):
        attention_of(model, molecules[0])


def test_an_arrow_is_chosen_by_its_name_and_others_are_listed(make_model, molecules):
    found = attention_of(make_model("pairwise-sparse"), molecules[0])
    assert choose(found, 1, "2->1").arrow == "2 -> 1"
    with pytest.raises(ValueError, match="layers 0 to 1 and the arrows 0 -> 0, 1 -> 1"):
        choose(found, 2, "2->1")
    with pytest.raises(ValueError, match="heads are 0 to 3"):
        found[0].of_head(4)
