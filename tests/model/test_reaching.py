"""Heads that see farther than the neighborhood."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import cellformer as cf
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.plans.named import attention_plan, plan_from_dict, plan_to_dict
from cellformer.model.plans.reach import steps_seen
from cellformer.model.plans.reaching import reaching, within_hops
from cellformer.model.transformer import CellularTransformer

CHOICES = (
    {"reach": "2"},
    {"reach": "all,1,2,1", "degree_scaling": "linear", "gate": True, "theta_per_head": True},
    {"reach": "1,3", "neighbor_weights": "binary", "norm": "rms", "virtual_cell": True},
    {"reach": "2,all", "pair_width": 4, "pair_updates": True},
)
every_choice = pytest.mark.parametrize("choice", CHOICES, ids=str)


def model_for(complexes, **options):
    """A small double-precision model, none of whose weights is at a neutral start."""
    torch.manual_seed(0)
    chosen = {"width": 16, "layers": 2, "heads": 8, "readout_cells": "all",
              "attention_dropout": 0.0, **options}  # fmt: skip
    config = ModelConfig.for_batch(cf.collate(complexes), ArchitectureConfig(**chosen))
    model = CellularTransformer(config, cf.general_sparse()).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 999))
def test_hops_are_walks_of_any_length_up_to_their_number(cells, hops, seed):
    rng = np.random.default_rng(seed)
    entries = rng.integers(0, 3, (cells, cells)) * (rng.random((cells, cells)) < 0.4)
    walks = sum(np.linalg.matrix_power((entries > 0).astype(int), n + 1) for n in range(hops))
    found = within_hops(sparse.csr_array(entries), hops)
    assert found.has_sorted_indices
    np.testing.assert_array_equal(found.toarray(), walks > 0)


@pytest.mark.parametrize("theta_per_head", [False, True])
def test_a_layer_is_that_of_the_formula_in_values_and_gradients(theta_per_head, cliques, path):
    """Head after head, over a table of all cells."""
    complexes = [cliques(1, 5), path(4), path(1)]
    batch = cf.collate(complexes)
    options = {"reach": "1,all,1,2", "degree_scaling": "log", "theta_per_head": theta_per_head}
    model = model_for(complexes, layers=1, **options)
    layer, cells = model.layers[0], model.embedded(batch)
    found = torch.cat(model.through_layers(cells, batch))

    tokens, numbers = torch.cat(cells), torch.cat([batch.complex_of(rank) for rank in range(3)])
    matrix = torch.from_numpy(cf.paper_diagram().block_matrix(batch).toarray()).double()
    stored = (matrix != 0).double()
    two = ((stored + stored @ stored) != 0).double()
    normed = layer.norm(tokens)
    query, key = layer.query_key(normed).split(16, dim=1)
    parts = normed.split([len(rows) for rows in cells])
    value = torch.cat([project(rows) for project, rows in zip(layer.values, parts, strict=True)])
    theta = layer.thetas[0].expand(2)
    whole = (numbers[:, None] == numbers).double()
    of_theta = [each * matrix for each in theta]
    groups = [  # columns, heads, who attends to whom, factor, bias, degree
        (slice(0, 8), 4, stored, matrix, [0] * 4, stored.sum(1)),
        (slice(8, 12), 2, two, two, [0] * 2, two.sum(1)),
        (slice(12, 16), 2, whole, torch.ones_like(matrix), of_theta, stored.sum(1)),
    ]
    received = []
    for columns, heads, attended, factor, bias, degree in groups:
        of_head = []
        for head in range(heads):
            q, k, v = (rows[:, columns][:, head::heads] for rows in (query, key, value))
            scores = q @ k.T / math.sqrt(2) * factor + bias[head]
            weights = scores.exp() * attended
            of_head.append(weights / weights.sum(1, keepdim=True).clamp(min=1e-300) @ v)
        together = torch.stack(of_head, dim=2).flatten(1)  # a column of every head, then the next
        lines = slice(columns.start // 4, columns.stop // 4)
        constant, slope = (
            weight[lines].flatten()
            for weight in (layer.output.scaling.constant, layer.output.scaling.slope)
        )
        received.append(together * (constant + slope * degree.log1p()[:, None]))
    after = layer.output.linear(torch.cat(received, dim=1)) + tokens
    expected = layer.feedforward(after)
    torch.testing.assert_close(found, expected)
    weights = [*layer.parameters()]
    own, oracle = (torch.autograd.grad(rows.square().sum(), weights, retain_graph=True)
                   for rows in (found, expected))  # fmt: skip
    for one, other in zip(own, oracle, strict=True):
        torch.testing.assert_close(one, other)


@every_choice
@settings(deadline=None, max_examples=2)
@given(st.integers(0, 99))
def test_neither_numbering_nor_orientation_nor_the_batch_changes_the_output(
    choice, cliques, path, relabeled, flipped, seed
):
    complexes = [cliques(seed, 6, face_features=True), cliques(seed + 1, 4, face_features=True)]
    model = model_for(complexes, **choice)
    expected = model(cf.collate(complexes))
    alone = torch.cat([model(cf.collate([cells])) for cells in complexes])
    torch.testing.assert_close(alone, expected)
    moved = [flipped(relabeled(cells, seed), seed) for cells in complexes]
    torch.testing.assert_close(model(cf.collate(moved)), expected)
    assert torch.isfinite(model(cf.collate([path(1)]))).all()


@pytest.mark.parametrize(("reach", "hops"), [("1", 1), ("1,2", 2), ("3", 3), ("1,all", math.inf)])
def test_a_cell_sees_as_far_as_its_farthest_heads(reach, hops, path):
    cells = path(10)
    model = model_for([cells], layers=1, reach=reach)
    batch = cf.collate([cells])
    embedded = [rows.detach().requires_grad_() for rows in model.embedded(batch)]
    model.through_layers(embedded, batch)[0][0].sum().backward()
    seen = [bool((row != 0).any()) for row in embedded[0].grad]
    assert seen == [vertex <= hops for vertex in range(10)]
    if hops < math.inf:
        assert steps_seen(cf.general_sparse(), model.config.architecture, 2) == 2 * hops
    else:
        with pytest.raises(ValueError, match=r"heads read the whole complex \(model.reach 1,all\)"):
            steps_seen(cf.general_sparse(), model.config.architecture, 2)


def test_where_all_heads_see_the_neighborhood_alone_nothing_changes(ring):
    batch = cf.collate([ring(5)])
    plain, shared = (model_for([ring(5)], reach=reach) for reach in ("1", "1,1"))
    assert torch.equal(plain(batch), shared(batch))
    assert isinstance(shared.plan, type(cf.general_sparse()))


def test_a_model_is_restored_from_json_and_its_weights(ring):
    batch, model = cf.collate([ring(5)]), model_for([ring(5)], reach="1,2,all,all")
    saved = json.loads(json.dumps([model.config.to_dict(), plan_to_dict(model.plan)]))
    restored = CellularTransformer(ModelConfig.from_dict(saved[0]), plan_from_dict(saved[1]))
    restored.double().eval().load_state_dict(model.state_dict())
    assert torch.equal(restored(batch), model(batch))
    assert reaching(model.plan, model.config.architecture) == model.plan


@pytest.mark.parametrize("name", sorted({*ATTENTIONS.names} - {"general-sparse"}))
def test_other_attentions_refuse_another_reach(name):
    with pytest.raises(ValueError, match=r"reach \(1,2\) is of use with attention general-sparse"):
        CellularTransformer(
            ModelConfig(ArchitectureConfig(reach="1,2")), attention_plan(name, max_rank=2)
        )
