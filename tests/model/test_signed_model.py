"""Models of which a part of the hidden columns flips with the orientation of a cell."""

import copy
import functools
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cellformer as cf
from cellformer.complexes import examples
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.polygons import edge_boundary, polygon_boundary
from cellformer.complexes.relabel import permute
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import (
    ArchitectureConfig,
    DataShape,
    DescriptorShape,
    ModelConfig,
)
from cellformer.model.described import cell_model
from cellformer.model.plans.named import attention_plan, plan_to_dict
from cellformer.model.transformer import CellularTransformer
from strategies import NAMED, complexes, orders
from turning import random_turn, with_flipping

WIDTH = 8
every_attention = pytest.mark.parametrize("name", ATTENTIONS.names)
SHAPE = DataShape(((),) * 4, (0,) * 4, 3, 2, flipping=(1, 2))


@functools.cache
def model_for(name, shape=SHAPE, **options):
    """The same model for the same arguments, at evaluation."""
    torch.manual_seed(0)
    chosen = {"width": WIDTH, "layers": 2, "heads": 2, "signed_width": 4, **options}
    config = ModelConfig(ArchitectureConfig(**chosen), shape)
    return CellularTransformer(config, attention_plan(name, 3)).eval()


def hidden(model, batch):
    with torch.no_grad():
        return model.through_layers(model.embedded(batch), batch)


def assert_turns(model, cells, seed):
    """No bit of x and of the prediction knows of reversed cells, and y changes its sign alone."""
    other, signs = random_turn(cells, seed)
    batch, turned = cf.collate([cells]), cf.collate([other])
    with torch.no_grad():
        assert torch.equal(model(batch), model(turned))
    for before, after, sign in zip(hidden(model, batch), hidden(model, turned), signs, strict=True):
        assert torch.equal(before[:, :WIDTH], after[:, :WIDTH])
        assert torch.equal(before[:, WIDTH:] * torch.from_numpy(sign)[:, None], after[:, WIDTH:])


@every_attention
@given(complexes(max_vertices=6), st.integers(0, 99))
@settings(deadline=None, max_examples=8)
def test_reversing_cells_changes_no_bit_but_the_signs_of_what_flips(name, cells, seed):
    assert_turns(model_for(name, readout_cells="all"), with_flipping(cells, seed), seed)


@every_attention
@pytest.mark.parametrize("which", ["torus", "tetrahedron", "bow tie", "edgeless", "vertex"])
def test_so_it_is_for_complexes_that_have_a_name(name, which):
    cells = with_flipping(NAMED[which]())
    model = model_for(name, readout_cells="all")
    assert_turns(model, cells, 1)
    if cells.dim:  # where there is something to flip, it says something
        assert all(rows[:, WIDTH:].abs().max() > 0.1 for rows in hidden(model, cf.collate([cells])))


@pytest.mark.parametrize(
    "options",
    [
        {"gate": True, "degree_scaling": "log", "virtual_cell": True, "norm": "batch"},
        {"output_projection": False, "neighbor_weights": "binary", "norm": "rms"},
        {"projection_bias": False, "position": "sum", "edge_signal": "concat", "final_norm": True},
        {"scale_scores": False, "degree_scaling": "linear", "pooling": "mean", "layers": 3},
    ],
)
@pytest.mark.parametrize("name", ["pairwise-mixed", "general-dense", "general-sparse"])
def test_other_choices_keep_to_it(name, options):
    model = model_for(name, **options)
    torch.nn.init.normal_(model.readout.network[0].weight)
    for virtual in model.virtual_cells:  # it starts at zero
        torch.nn.init.normal_(virtual.to_cells.weight)
    assert_turns(model, with_flipping(examples.torus_grid(3, 4)), 3)
    assert_turns(model, with_flipping(examples.tetrahedron()), 4)


@every_attention
def test_a_step_of_training_does_not_know_of_orientations(name):
    """Dropout and random signs are drawn alike; gradients are sums in another order."""
    cells = [with_flipping(examples.torus_grid(3, 3)), with_flipping(examples.tetrahedron(), 1)]
    turned = [random_turn(each, seed)[0] for seed, each in enumerate(cells)]
    model = model_for(name, dropout=0.2, attention_dropout=0.2, layer_dropout=0.5)
    model.double().train()

    def step(given):
        model.zero_grad()
        torch.manual_seed(1)
        output = model(cf.collate(given))
        output.square().sum().backward()
        return [output, *(p.grad for p in model.parameters() if p.grad is not None)]

    for left, right in zip(step(cells), step(turned), strict=True):
        torch.testing.assert_close(left, right)


@every_attention
@given(complexes(max_vertices=6).flatmap(lambda c: orders(c).map(lambda o: (c, o))))
@settings(deadline=None, max_examples=4)
def test_neither_numbers_nor_a_batch_change_the_output(name, drawn):
    cells, order = drawn
    cells = with_flipping(cells)
    model = copy.deepcopy(model_for(name, readout_cells="all")).double()
    others = [with_flipping(NAMED[each](), 5) for each in ("torus", "vertex", "hollow triangle")]
    with torch.no_grad():
        alone = model(cf.collate([cells]))
        torch.testing.assert_close(model(cf.collate([permute(cells, order)])), alone)
        together = model(cf.collate([others[0], cells, *others[1:]]))
    torch.testing.assert_close(together[1:2], alone)


@pytest.mark.parametrize("rank", [1, 2])
def test_targets_of_cells_may_flip(rank):
    shape = replace(SHAPE, target_rank=rank, flips=True)
    model = model_for("pairwise-sparse", shape, final_norm=True)
    cells = with_flipping(examples.torus_grid(3, 4))
    other, signs = random_turn(cells, 2)
    with torch.no_grad():
        flow, turned = model(cf.collate([cells])), model(cf.collate([other]))
    assert flow.abs().min() > 0
    assert torch.equal(flow * torch.from_numpy(signs[rank])[:, None], turned)
    assert model(cf.collate([with_flipping(examples.vertex())])).shape == (0, 2)
    with pytest.raises(
        ValueError, match=r"without model\.signed_width .* multiple of model\.heads \(2\)"
    ):
        model_for("pairwise-sparse", shape, signed_width=0)


def test_a_flow_can_be_learned():
    """The gradient of a potential on vertices, which no model without signs can tell."""
    rng = np.random.default_rng(0)
    given = []
    for _ in range(8):
        cells = examples.grid(3, 3)
        potential = rng.normal(size=(cells.num_vertices, 1))
        features = [potential, None, None]
        made = cf.CellComplex.from_boundaries(cells.boundaries, features=features)
        given.append(random_turn(with_flipping(made), len(given))[0])
    batch = cf.collate(given)
    flow = torch.from_numpy(batch.boundary(1).T @ batch.continuous[0].numpy()).float()
    shape = replace(DataShape.of(batch, 1, 1), flips=True)
    model = model_for("pairwise-sparse", shape, attention_dropout=0.0).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(80):
        loss = (model(batch) - flow).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05 * flow.square().mean()


def test_a_plan_of_ones_own_has_to_know_of_signs():
    class Mine:
        """A plan whose layers may be anything."""

        def __init__(self, plan):
            self.diagram, self.relations = plan.diagram, plan.relations
            self.layer, self.through = plan.layer, plan.through

    config = ModelConfig(ArchitectureConfig(width=8, heads=2, signed_width=2), SHAPE)
    plan = Mine(attention_plan("pairwise-sparse", 3))
    with pytest.raises(ValueError, match=r"Mine have no columns that flip .* reads_signs"):
        CellularTransformer(config, plan)
    plan.reads_signs = True
    assert CellularTransformer(config, plan).layers


def test_embed_leaves_out_what_flips():
    model, batch = model_for("general-sparse"), cf.collate([with_flipping(examples.house())])
    with torch.no_grad():
        found = model.embed(batch)
    assert all(
        torch.equal(rows, both[:, :WIDTH])
        for rows, both in zip(found, hidden(model, batch), strict=True)
    )


def test_values_that_describe_a_complex_move_what_does_not_flip_alone():
    cells = with_flipping(examples.torus_grid(3, 3))
    ragged = cf.RaggedComplexes.from_complexes([cells, random_turn(cells, 1)[0]])
    values = np.array([[1.0], [1.0]], np.float32)
    ragged = replace(ragged, descriptors=Descriptors(np.zeros((2, 0), np.uint8), values))
    known = DescriptorShape.of(replace(ragged.descriptors, values=np.array([[1], [3]], np.float32)))
    options = ArchitectureConfig(width=WIDTH, layers=2, heads=2, signed_width=4)
    shape = replace(DataShape.of(ragged), descriptors=known)
    model = cell_model(ModelConfig(options, shape), attention_plan("pairwise-sparse")).eval()
    batch = CellBatch.from_ragged(ragged)
    with torch.no_grad():
        one, turned = model(batch)
        other = model(replace(batch, descriptors=batch.descriptors + 1))[0]
        assert [rows.shape[1] for rows in model.embed(batch)] == [WIDTH] * 3
    assert torch.equal(one, turned)
    assert not torch.allclose(one, other)


def test_integrated_gradients_add_up():
    cells = with_flipping(examples.torus_grid(3, 3))
    model = model_for("general-sparse", readout_cells="all", pooling="mean")
    found = cf.integrated_gradients(model, cells)
    with torch.no_grad():
        prediction = model.double()(cf.collate([cells]))[0, 0].item()
    model.float()
    assert found.total == pytest.approx(prediction - found.reference, abs=1e-3)


def test_a_model_is_restored_from_json():
    model = model_for("pairwise-sparse")
    told = json.loads(json.dumps(model.config.to_dict()))
    assert ModelConfig.from_dict(told) == model.config
    for part, fields in (("architecture", ["signed_width"]), ("data", ["flipping", "flips"])):
        for field in fields:  # those of before have none
            del told[part][field]
    restored = ModelConfig.from_dict(told)
    assert restored.architecture == replace(model.config.architecture, signed_width=0)
    assert restored.data == replace(model.config.data, flipping=())
    assert plan_to_dict(model.plan)["kind"] == "pairwise"


def test_without_a_signed_width_encodings_are_read_as_they_are():
    cells = with_flipping(examples.house())
    model = model_for("pairwise-sparse", signed_width=0)
    assert model.embedding.positions[0].linear.in_features == WIDTH + 3
    with torch.no_grad():
        one, other = (model(cf.collate([each])) for each in (cells, random_turn(cells, 0)[0]))
    assert not torch.allclose(one, other)


def glued(rows, columns, twisted):
    """Squares on a torus or a Klein bottle: every cell has the same neighbors as every other."""

    def number(row, column):
        turn, column = divmod(column, columns)
        row = -row if twisted and turn % 2 else row
        return row % rows * columns + column

    places = [(row, column) for row in range(rows) for column in range(columns)]
    edges = [
        sorted((number(row, column), number(row + down, column + 1 - down)))
        for row, column in places
        for down in (0, 1)
    ]
    squares = [
        [number(row, column), number(row, column + 1), number(row + 1, column + 1),
         number(row + 1, column)]
        for row, column in places
    ]  # fmt: skip
    boundaries = [
        edge_boundary(rows * columns, np.array(edges)),
        polygon_boundary(rows * columns, np.array(edges), squares),
    ]
    return cf.CellComplex.from_boundaries(boundaries)


def test_a_torus_and_a_klein_bottle_are_told_apart_in_larger_sizes_than_those_learned():
    """What neighbors say of each other is the same everywhere; only signs around it differ."""
    plain = ModelConfig(ArchitectureConfig(width=8, heads=2), DataShape(((),) * 3, (0,) * 3))
    torch.manual_seed(0)
    model = CellularTransformer(plain, attention_plan("pairwise-sparse")).double().eval()
    pair = cf.collate([glued(5, 6, False), glued(5, 6, True)])
    with torch.no_grad():
        torus, bottle = model(pair)
    torch.testing.assert_close(torus, bottle)

    def made(sizes):
        given = [glued(*size, twisted) for size in sizes for twisted in (False, True)]
        assert [cf.betti_numbers(cells)[2] for cells in given] == [1, 0] * len(sizes)
        batch = cf.collate([cf.encode(cells, cf.HodgeLap(1)) for cells in given])
        return batch, torch.tensor([[1.0], [-1.0]] * len(sizes))

    batch, truth = made([(3, 4), (4, 5), (5, 3), (4, 7), (6, 5), (7, 7)])
    torch.manual_seed(3)
    options = ArchitectureConfig(
        width=16,
        layers=1,
        heads=2,
        signed_width=4,
        readout_layers=1,
        readout_cells="all",
        pooling="mean",
    )
    model = CellularTransformer(
        ModelConfig.for_batch(batch, options), attention_plan("pairwise-sparse")
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = torch.nn.functional.softplus(-model(batch) * truth).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        larger, wanted = made([(12, 13), (20, 11)])
        assert (model.eval()(larger).sign() == wanted).all()
