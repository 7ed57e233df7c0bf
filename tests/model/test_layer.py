import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.model.layer import Attention, FeedForward, GeneralLayer, PairwiseLayer
from cellformer.model.patterns import patterns
from cellformer.model.plan import general_dense, general_sparse, pairwise_mixed, pairwise_sparse

WIDTH, HEADS = 8, 2


def attention(dense=False, **changed):
    options = {
        "theta_per_head": False,
        "scale_scores": True,
        "output_projection": True,
        "attention_dropout": 0.0,
        "dropout": 0.0,
    }
    return Attention(WIDTH, HEADS, dense=dense, **{**options, **changed}).double()


def pairwise_layer(plan, **changed):
    arrows = plan.diagram.arrows
    return PairwiseLayer(
        plan.diagram,
        WIDTH,
        [attention(arrow.dense, **changed) for arrow in arrows],
        [FeedForward(WIDTH, 5, 0.0) for _ in range(plan.diagram.num_ranks)],
    ).double()


def random_cells(batch):
    return [torch.randn(n, WIDTH, dtype=torch.float64) for n in batch.num_cells]


def explicit_attention(module, query, key, value, matrix, same_complex, dense):
    """Multi-head attention by whole matrices; head h owns the columns h, h + HEADS, ..."""
    received = torch.zeros(len(query), WIDTH, dtype=torch.float64)
    for head in range(HEADS):
        columns = slice(head, None, HEADS)
        scores = query[:, columns] @ key[:, columns].T * (WIDTH // HEADS) ** -0.5
        scores = scores + module.theta * matrix if dense else scores * matrix
        allowed = same_complex if dense else matrix != 0
        weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num(0)
        received[:, columns] = weights @ value[:, columns]
    return module.output(received)


def linear(rows, weight, bias):
    return rows @ weight.T + bias


@pytest.mark.parametrize("plan", [pairwise_sparse(), pairwise_mixed()])
def test_the_pairwise_layer_follows_the_six_steps(plan, cliques, ring, seeded):
    batch = cf.collate([cliques(0), ring(4), cliques(1)])
    layer, cells = pairwise_layer(plan), random_cells(batch)
    used = {0: 0, 1: 0, 2: 0}

    def project(rank):
        """The next block of the rank's joint projection."""
        projection, start = layer.projections[str(rank)], used[rank] * WIDTH
        used[rank] += 1
        block = slice(start, start + WIDTH)
        return linear(normed[rank], projection.weight[block], projection.bias[block])

    normed = [norm(rows) for norm, rows in zip(layer.norms, cells, strict=True)]
    received = [rows.clone() for rows in cells]
    for arrow, module in zip(plan.diagram.arrows, layer.attentions, strict=True):
        query, key, value = project(arrow.receiver), project(arrow.sender), project(arrow.sender)
        matrix = torch.from_numpy(arrow.matrix(batch).toarray()).double()
        same = batch.complex_of(arrow.receiver)[:, None] == batch.complex_of(arrow.sender)
        received[arrow.receiver] += explicit_attention(
            module, query, key, value, matrix, same, arrow.dense
        )
    expected = []
    for rows, module in zip(received, layer.feedforwards, strict=True):
        expected.append(rows + module.outer(module.inner(module.norm(rows)).relu()))
    for got, want in zip(layer(cells, patterns(batch, plan, False)), expected, strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("plan", [general_sparse(), general_dense()])
def test_the_general_layer_attends_through_its_explicit_block_matrix(plan, cliques, ring, seeded):
    batch = cf.collate([cliques(0), ring(4), cliques(1)])
    layer = GeneralLayer(3, WIDTH, attention(plan.dense), FeedForward(WIDTH, 5, 0.0)).double()
    cells = random_cells(batch)
    tokens = torch.cat(cells)
    normed = layer.norm(tokens)
    query, key = layer.query_key(normed)[:, :WIDTH], layer.query_key(normed)[:, WIDTH:]
    rank = torch.arange(3).repeat_interleave(torch.tensor(batch.num_cells))
    value = torch.stack([layer.values[k](row) for k, row in zip(rank, normed, strict=True)])
    owner = torch.cat([batch.complex_of(k) for k in range(3)])
    matrix = torch.from_numpy(plan.diagram.block_matrix(batch).toarray()).double()
    received = tokens + explicit_attention(
        layer.attention, query, key, value, matrix, owner[:, None] == owner, plan.dense
    )
    expected = layer.feedforward(received).split(batch.num_cells)
    inputs = [rows.requires_grad_() for rows in cells]
    output = layer(inputs, patterns(batch, plan, False))
    for got, want in zip(output, expected, strict=True):
        torch.testing.assert_close(got, want)


def test_a_cell_without_neighbors_keeps_its_residual_to_the_bit(seeded):
    isolated = cf.CellComplex.from_boundaries([np.zeros((3, 0))])
    batch, plan = cf.collate([isolated]), pairwise_sparse(1)
    cells = random_cells(batch)
    layer = pairwise_layer(plan)
    output = layer(cells, patterns(batch, plan, False))
    assert torch.equal(output[0], layer.feedforwards[0](cells[0]))


def test_counts_and_binary_weights_differ_where_cells_share_more_than_one_face(seeded):
    # Two squares glued along two edges: A_down of the faces has a 2.
    edges = np.zeros((5, 6), int)
    for column, (low, high) in enumerate([(0, 1), (1, 2), (2, 3), (0, 3), (2, 4), (0, 4)]):
        edges[low, column], edges[high, column] = -1, 1
    faces = np.array([[1, 1], [1, 1], [1, 0], [-1, 0], [0, 1], [0, -1]])
    batch = cf.collate([cf.CellComplex.from_boundaries([edges, faces])])
    number = [(a.sender, a.receiver) for a in pairwise_sparse().diagram.arrows].index((2, 2))
    counts, binary = (patterns(batch, pairwise_sparse(), b)[number] for b in (False, True))
    assert counts.weights.tolist() == [2, 2]
    assert binary.weights.tolist() == [1, 1]


@pytest.mark.parametrize("plan", [pairwise_sparse(), pairwise_mixed()])
def test_options_of_attention_change_what_they_name(plan):
    assert attention(output_projection=False).output(torch.ones(1)) == 1
    assert attention(scale_scores=False).scale == 1
    assert attention(dense=True, theta_per_head=True).theta.tolist() == [1, 1]
    assert attention(dense=True).theta.tolist() == [1]
    assert attention().theta is None
    without = PairwiseLayer(plan.diagram, WIDTH, [], [], projection_bias=False)
    assert all(projection.bias is None for projection in without.projections.values())


def test_dropouts_act_in_training_only(ring, seeded):
    batch, plan = cf.collate([ring(5)]), pairwise_mixed()
    cells = random_cells(batch)
    for changed in ({"attention_dropout": 0.5}, {"dropout": 0.5}):
        layer = pairwise_layer(plan, **changed)
        pattern = patterns(batch, plan, False)
        assert not torch.equal(layer(cells, pattern)[0], layer(cells, pattern)[0])
        layer.eval()
        assert torch.equal(layer(cells, pattern)[0], layer(cells, pattern)[0])


def test_a_width_that_heads_do_not_divide_is_an_error():
    with pytest.raises(ValueError, match="multiple of heads"):
        Attention(
            7,
            2,
            dense=False,
            theta_per_head=False,
            scale_scores=True,
            output_projection=True,
            attention_dropout=0.0,
            dropout=0.0,
        )
