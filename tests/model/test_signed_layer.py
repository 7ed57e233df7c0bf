"""The layers against loops over cells and heads."""

import numpy as np
import pytest
import torch
from torch.nn import functional

import cellformer as cf
from cellformer.complexes import examples
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.layers.layer import LayerOptions
from cellformer.model.layers.signed_parts import SOFT, sender_copies
from cellformer.model.plans.named import attention_plan
from cellformer.model.relations.patterns import signed_patterns
from turning import sign_of, squares_across

WIDTH, SIGNED, HEADS = 6, 4, 2
every_attention = pytest.mark.parametrize("name", ATTENTIONS.names)


def batch_of(*more):
    return cf.collate([examples.tetrahedron(), examples.path(3), squares_across(), *more])


def layer_of(plan, **changed):
    chosen = {
        "inner_width": 5,
        "theta_per_head": False,
        "scale_scores": True,
        "output_projection": True,
        "projection_bias": True,
        "attention_dropout": 0.0,
        "dropout": 0.0,
        **changed,
    }
    torch.manual_seed(0)
    options = LayerOptions(width=WIDTH, heads=HEADS, signed_width=SIGNED, **chosen)
    return plan.layer(options).double()


def random_cells(batch):
    torch.manual_seed(1)
    return [torch.randn(n, WIDTH + SIGNED, dtype=torch.float64) for n in batch.num_cells]


def normed(norm, cells):
    x, y = cells[:, :WIDTH], cells[:, WIDTH:]
    return norm.invariant(x), y / (y.square().mean(dim=1, keepdim=True) + SOFT).sqrt()


def attended(query, key, value, matrix, signs, others, theta):
    """What each receiver gets, cell by cell and head by head: [y | x].

    ``others`` are the pairs of one complex, to which x attends where there is a theta.
    """
    rows = []
    for row in range(len(matrix)):
        x, y = torch.zeros(WIDTH).double(), torch.zeros(SIGNED).double()
        for head in range(HEADS):
            of_x, of_y = slice(head, None, HEADS), slice(head, None, HEADS)
            scores, near = [], np.flatnonzero(matrix[row])
            for column in near:
                score = query[0][row, of_x] @ key[0][column, of_x]
                score = score + signs[row][column] * (query[1][row, of_y] @ key[1][column, of_y])
                scores.append(score * matrix[row, column] * ((WIDTH + SIGNED) / HEADS) ** -0.5)
            if scores:
                shares = torch.stack(scores).softmax(0)
                for column, share in zip(near, shares, strict=True):
                    y[of_y] = y[of_y] + share * signs[row][column] * value[1][column, of_y]
            if theta is None and scores:
                x[of_x] = sum(
                    share * value[0][column, of_x]
                    for column, share in zip(near, shares, strict=True)
                )
            far = np.flatnonzero(others[row])
            if theta is not None and len(far):
                scores = [
                    query[0][row, of_x] @ key[0][column, of_x]
                    * ((WIDTH + SIGNED) / HEADS) ** -0.5
                    + theta * matrix[row, column]
                    for column in far
                ]  # fmt: skip
                for column, share in zip(far, torch.stack(scores).softmax(0), strict=True):
                    x[of_x] = x[of_x] + share * value[0][column, of_x]
        rows.append(torch.cat([y, x]))
    return torch.stack(rows) if rows else torch.zeros(0, WIDTH + SIGNED).double()


def outputs(module, received, arrows):
    """[x | y] of columns [y | x] of each arrow."""
    columns = received.view(len(received), arrows, SIGNED + WIDTH)
    x = columns[:, :, SIGNED:].flatten(1) @ module.linear.invariant.weight.T
    y = columns[:, :, :SIGNED].flatten(1) @ module.linear.flipping.weight.T
    return torch.cat([x, y], dim=1)


def fed_forward(module, cells):
    x, y = normed(module.norm, cells)
    one, other, sent = (y @ module.factors.weight.T).split(SIGNED, dim=1)
    size = (1 + cells[:, WIDTH:].square().mean(dim=1, keepdim=True)).log()
    inner = functional.relu(module.inner(torch.cat([x, one * other, size], dim=1)))
    added = module.outer(inner)
    gated = sent / (1 + (-added[:, WIDTH:]).exp())
    return cells + torch.cat([added[:, :WIDTH], gated], dim=1)


def part_of(linear, normed, place):
    x, y = (rows for rows in normed)
    width = slice(place * WIDTH, (place + 1) * WIDTH)
    bias = linear.invariant.bias
    return (
        x @ linear.invariant.weight[width].T + (0 if bias is None else bias[width]),
        y @ linear.flipping.weight[place * SIGNED : (place + 1) * SIGNED].T,
    )


def pairwise_by_hand(layer, plan, batch, cells):
    known = [normed(norm, rows) for norm, rows in zip(layer.norms, cells, strict=False)]
    used, received = dict.fromkeys(range(len(cells)), 0), [[] for _ in cells]

    def project(rank):
        used[rank] += 1
        return part_of(layer.projections[str(rank)], known[rank], used[rank] - 1)

    for number, arrow in enumerate(plan.diagram.arrows):
        query, key, value = project(arrow.receiver), project(arrow.sender), project(arrow.sender)
        matrix = arrow.matrix(batch).toarray()
        signs = [
            [sign_of(batch, arrow.receiver, arrow.sender, row, column)
             for column in range(matrix.shape[1])]
            for row in range(matrix.shape[0])
        ]  # fmt: skip
        same = batch.complex_of(arrow.receiver)[:, None] == batch.complex_of(arrow.sender)
        theta = layer.thetas[str(number)] if arrow.dense else None
        received[arrow.receiver].append(
            attended(query, key, value, matrix, signs, same.numpy(), theta)
        )
    after = []
    for rank, rows in enumerate(cells):
        joined = torch.cat(received[rank], dim=1)
        rows = rows + outputs(layer.outputs[str(rank)], joined, len(received[rank]))
        after.append(fed_forward(layer.feedforwards[rank], rows))
    return after


def general_by_hand(layer, plan, batch, cells):
    tokens = torch.cat(cells)
    known = normed(layer.norm, tokens)
    query, key = (part_of(layer.query_key, known, place) for place in range(2))
    ranks = np.repeat(np.arange(len(cells)), batch.num_cells)
    value = [
        torch.cat(
            [part_of(layer.values[rank], [half[ranks == rank] for half in known], 0)[side]
             for rank in range(len(cells))]
        )
        for side in range(2)
    ]  # fmt: skip
    number = np.concatenate([np.arange(n) for n in batch.num_cells])
    signs = [
        [sign_of(batch, ranks[row], ranks[column], number[row], number[column])
         for column in range(len(tokens))]
        for row in range(len(tokens))
    ]  # fmt: skip
    owner = np.concatenate([batch.complex_of(rank).numpy() for rank in range(len(cells))])
    matrix = plan.diagram.block_matrix(batch).toarray()
    got = attended(query, key, value, matrix, signs, owner[:, None] == owner, layer.theta)
    after = fed_forward(layer.feedforward, tokens + outputs(layer.output, got, 1))
    return list(after.split([len(rows) for rows in cells]))


@every_attention
def test_a_layer_is_what_loops_over_cells_and_heads_say_with_its_gradients(name):
    batch, plan = batch_of(), attention_plan(name, 3)
    layer, cells = layer_of(plan), [rows.requires_grad_() for rows in random_cells(batch_of())]
    patterns = signed_patterns(batch, plan.relations(batch.dim), False)
    by_hand = pairwise_by_hand if name.startswith("pairwise") else general_by_hand
    expected = by_hand(layer, plan, batch, cells)
    got = plan.through([layer], cells, patterns, False)
    learned = [*cells, *layer.parameters()]
    slopes = [torch.linspace(-1, 1, rows.numel()).cos().view(rows.shape) for rows in expected]
    wanted, found = (
        torch.autograd.grad(
            sum((rows * slope).sum() for rows, slope in zip(made, slopes, strict=True)), learned
        )
        for made in (expected, got)
    )
    torch.testing.assert_close(got, expected)
    for left, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize("name", ["pairwise-mixed", "general-sparse"])
def test_gradients_are_finite_differences(name):
    batch, plan = cf.collate([squares_across()]), attention_plan(name, 2)
    layer, cells = layer_of(plan), random_cells(batch)
    patterns = signed_patterns(batch, plan.relations(batch.dim), False)
    direction = [torch.randn_like(rows) for rows in cells]

    def value(step):
        moved = [rows + step * way for rows, way in zip(cells, direction, strict=True)]
        after = plan.through([layer, layer], moved, patterns, False)
        return sum(rows.square().sum() for rows in after)

    step = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(value(step), step)
    with torch.no_grad():
        torch.testing.assert_close((value(1e-5) - value(-1e-5)) / 2e-5, slope, rtol=1e-7, atol=0)


def test_a_sender_stands_in_a_row_for_every_sign():
    key, flipping, value = torch.tensor([[1.0], [2]]), torch.tensor([[3.0], [4]]), torch.ones(2, 1)
    rows = sender_copies(key, flipping, value, 3).tolist()
    assert rows == [[1, 3, 1], [1, -3, 1], [1, 0, 1], [2, 4, 1], [2, -4, 1], [2, 0, 1]]
    assert sender_copies(key, flipping, None, 1).tolist() == [[1, 3], [2, 4]]


def test_there_are_as_many_copies_as_signs():
    plan = attention_plan("pairwise-sparse", 2)

    def copies(cells):
        batch = cf.collate([cells])
        found = signed_patterns(batch, plan.relations(2), False)
        return [each.neighborhood.copies for each in found]

    # Vertices to vertices, then of every rank to itself, from below and from above.
    assert copies(squares_across()) == [1, 2, 2, 2, 3, 2, 2]
    assert copies(examples.triangle())[0] == 1


def test_columns_without_an_output_projection_are_added_up():
    batch, plan = batch_of(), attention_plan("pairwise-sparse", 3)
    layer = layer_of(plan, output_projection=False, degree_scaling="log", gate=True)
    assert not any("linear" in name and "gate" not in name for name in layer.outputs.state_dict())
    after = layer(random_cells(batch), signed_patterns(batch, plan.relations(batch.dim), False))
    assert [rows.shape for rows in after] == [(n, WIDTH + SIGNED) for n in batch.num_cells]


def test_the_last_layer_leaves_out_what_is_not_read():
    batch, plan = batch_of(), attention_plan("pairwise-mixed", 3)
    layer, cells = layer_of(plan), random_cells(batch)
    patterns = signed_patterns(batch, plan.relations(batch.dim), False)
    all_ranks, vertices = layer(cells, patterns), layer(cells, patterns, True)
    assert torch.equal(all_ranks[0], vertices[0])
    assert all(map(torch.equal, vertices[1:], cells[1:]))
