import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.model.layers.layer import LayerOptions, OutputProjection
from cellformer.model.plans.general import general_dense, general_sparse
from cellformer.model.plans.pairwise import pairwise_mixed, pairwise_sparse
from cellformer.model.relations.patterns import patterns

WIDTH, HEADS = 8, 2


def options(**changed):
    chosen = {
        "inner_width": 5,
        "theta_per_head": False,
        "scale_scores": True,
        "output_projection": True,
        "projection_bias": True,
        "attention_dropout": 0.0,
        "dropout": 0.0,
    }
    return LayerOptions(**{"width": WIDTH, "heads": HEADS, **chosen, **changed})


def pairwise_layer(plan, **changed):
    return plan.layer(options(**changed)).double()


def patterns_of(batch, plan, binary=False):
    return patterns(batch, plan.relations(batch.dim), binary)


def random_cells(batch):
    return [torch.randn(n, WIDTH, dtype=torch.float64) for n in batch.num_cells]


def explicit_attention(theta, query, key, value, matrix, same_complex):
    """Multi-head attention by whole matrices; head h owns the columns h, h + HEADS, ..."""
    received = torch.zeros(len(query), WIDTH, dtype=torch.float64)
    for head in range(HEADS):
        columns = slice(head, None, HEADS)
        scores = query[:, columns] @ key[:, columns].T * (WIDTH // HEADS) ** -0.5
        scores = scores * matrix if theta is None else scores + theta * matrix
        allowed = matrix != 0 if theta is None else same_complex
        weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num(0)
        received[:, columns] = weights @ value[:, columns]
    return received


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
    taken = {0: 0, 1: 0, 2: 0}
    for number, arrow in enumerate(plan.diagram.arrows):
        query, key, value = project(arrow.receiver), project(arrow.sender), project(arrow.sender)
        matrix = torch.from_numpy(arrow.matrix(batch).toarray()).double()
        same = batch.complex_of(arrow.receiver)[:, None] == batch.complex_of(arrow.sender)
        theta = layer.thetas[str(number)] if arrow.dense else None
        start = taken[arrow.receiver] * WIDTH
        taken[arrow.receiver] += 1
        output = layer.outputs[str(arrow.receiver)].linear.weight[:, start : start + WIDTH]
        received[arrow.receiver] += (
            explicit_attention(theta, query, key, value, matrix, same) @ output.T
        )
    expected = []
    for rows, module in zip(received, layer.feedforwards, strict=True):
        expected.append(rows + module.outer(module.inner(module.norm(rows)).relu()))
    for got, want in zip(layer(cells, patterns_of(batch, plan)), expected, strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("plan", [general_sparse(), general_dense()])
def test_the_general_layer_attends_through_its_explicit_block_matrix(plan, cliques, ring, seeded):
    batch = cf.collate([cliques(0), ring(4), cliques(1)])
    layer = plan.layer(options()).double()
    cells = random_cells(batch)
    tokens = torch.cat(cells)
    normed = layer.norm(tokens)
    query, key = layer.query_key(normed)[:, :WIDTH], layer.query_key(normed)[:, WIDTH:]
    rank = torch.arange(3).repeat_interleave(torch.tensor(batch.num_cells))
    value = torch.stack([layer.values[k](row) for k, row in zip(rank, normed, strict=True)])
    owner = torch.cat([batch.complex_of(k) for k in range(3)])
    matrix = torch.from_numpy(plan.diagram.block_matrix(batch).toarray()).double()
    same = owner[:, None] == owner
    received = explicit_attention(layer.theta, query, key, value, matrix, same)
    expected = layer.feedforward(tokens + layer.output(received, tokens, [None]))
    got = layer(tokens, *patterns_of(batch, plan), cells)
    torch.testing.assert_close(got, expected)


def test_a_cell_without_neighbors_keeps_its_residual_to_the_bit(seeded):
    isolated = cf.CellComplex.from_boundaries([np.zeros((3, 0))])
    batch, plan = cf.collate([isolated]), pairwise_sparse(1)
    cells = random_cells(batch)
    layer = pairwise_layer(plan)
    output = layer(cells, patterns_of(batch, plan))
    assert torch.equal(output[0], layer.feedforwards[0](cells[0]))


def test_counts_and_binary_weights_differ_where_cells_share_more_than_one_face(seeded):
    # Two squares glued along two edges: A_down of the faces has a 2.
    edges = np.zeros((5, 6), int)
    for column, (low, high) in enumerate([(0, 1), (1, 2), (2, 3), (0, 3), (2, 4), (0, 4)]):
        edges[low, column], edges[high, column] = -1, 1
    faces = np.array([[1, 1], [1, 1], [1, 0], [-1, 0], [0, 1], [0, -1]])
    batch = cf.collate([cf.CellComplex.from_boundaries([edges, faces])])
    number = [(a.sender, a.receiver) for a in pairwise_sparse().diagram.arrows].index((2, 2))
    counts, binary = (patterns_of(batch, pairwise_sparse(), b)[number] for b in (False, True))
    assert counts.weights.tolist() == [2, 2]
    assert binary.weights.tolist() == [1, 1]


def test_options_of_attention_change_what_they_name():
    received = torch.arange(12.0).reshape(2, 6)
    added_up = OutputProjection(options(width=3, heads=1, output_projection=False), 2)
    assert added_up(received, torch.zeros(2, 3), [None, None]).tolist() == [[3, 5, 7], [15, 17, 19]]
    assert options(scale_scores=False).scale == 1
    assert options(theta_per_head=True).theta().tolist() == [1, 1]
    assert options().theta().tolist() == [1]
    assert list(pairwise_layer(pairwise_mixed()).thetas) == ["0", "1", "4"]
    without = pairwise_layer(pairwise_sparse(), projection_bias=False, output_projection=False)
    assert all(projection.bias is None for projection in without.projections.values())
    assert not list(without.outputs.parameters())


def test_each_part_of_an_output_projection_starts_like_a_projection_of_its_own(seeded):
    joint = OutputProjection(options(width=64), 3).linear.weight
    single = torch.nn.Linear(64, 64, bias=False).weight
    assert joint.shape == (64, 192)
    assert joint.std().item() == pytest.approx(single.std().item(), rel=0.05)


def test_dropouts_act_in_training_only(ring, seeded):
    batch, plan = cf.collate([ring(5)]), pairwise_mixed()
    cells = random_cells(batch)
    for changed in ({"attention_dropout": 0.5}, {"dropout": 0.5}):
        layer = pairwise_layer(plan, **changed)
        pattern = patterns_of(batch, plan)
        assert not torch.equal(layer(cells, pattern)[0], layer(cells, pattern)[0])
        layer.eval()
        assert torch.equal(layer(cells, pattern)[0], layer(cells, pattern)[0])


def test_a_width_that_heads_do_not_divide_is_an_error():
    with pytest.raises(ValueError, match=r"width \(8\) must be a multiple of heads \(3\)"):
        LayerOptions(8, 3, 8, False, True, True, True, 0.0, 0.0)
