"""Models whose attention is told about pairs of cells."""

import json
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cellformer as cf
from cellformer.attention.dense import memory
from cellformer.attention.operator import use_attention
from cellformer.attention.recording import record_attention
from cellformer.complexes.matrices import Bounded
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.plans.named import attention_plan, plan_from_dict, plan_to_dict
from cellformer.model.plans.pairwise import Pairwise, pairwise_mixed
from cellformer.model.transformer import CellularTransformer

every_attention = pytest.mark.parametrize("name", ATTENTIONS.names)


def model_for(complexes, plan, **options):
    """A small double-precision model at evaluation, the same one for the same arguments."""
    torch.manual_seed(0)
    chosen = {"width": 16, "layers": 2, "heads": 4, "pair_width": 6, "pair_steps": 5, **options}
    config = ModelConfig.for_batch(cf.collate(complexes), ArchitectureConfig(**chosen), outputs=2)
    return CellularTransformer(config, plan).double().eval()


@every_attention
@settings(deadline=None, max_examples=4)
@given(st.integers(0, 99))
def test_neither_numbering_nor_orientation_nor_the_batch_changes_the_output(
    name, cliques, ring, path, relabeled, flipped, seed
):
    complexes = [cliques(seed, 7, face_features=True), ring(3 + seed % 5), path(1), path(3)]
    complexes[1:] = [cliques(seed + 1, 5, face_features=True)]
    model = model_for(complexes, attention_plan(name), readout_cells="all")
    expected = model(cf.collate(complexes))
    alone = torch.cat([model(cf.collate([cells])) for cells in complexes])
    torch.testing.assert_close(alone, expected)
    moved = [flipped(relabeled(cells, seed), seed) for cells in complexes]
    torch.testing.assert_close(model(cf.collate(moved)), expected)


@every_attention
def test_every_part_of_it_is_trained(name, ring, path, cliques):
    batch = cf.collate([ring(4), path(3), cliques(0), path(1)])
    model = model_for([ring(4), cliques(0)], attention_plan(name), readout_cells="all").train()
    output = model(batch)
    output.square().sum().backward()
    for number, encoder in enumerate(model.pair_encoders):
        for part, parameter in encoder.named_parameters():
            lacks = part == "common.above 2.weight"  # nothing here has rank 3
            assert lacks or (parameter.grad != 0).any(), (number, part)
    grads = {n: p.grad for n, p in model.named_parameters() if ".terms" in n}
    assert grads
    assert all(g is not None and (g != 0).any() for g in grads.values())


@every_attention
def test_fused_and_plain_attention_agree_on_values_and_gradients(name, ring, path, cliques):
    batch = cf.collate([ring(4), path(3), cliques(0), path(1)])
    model = model_for([ring(4), cliques(0)], attention_plan(name))
    found = []
    for which in ("fused", "reference"):
        with use_attention(which):
            output = model(batch)
        gradients = torch.autograd.grad(
            output.square().sum(),
            list(model.parameters()),
            allow_unused=True,
            materialize_grads=True,
        )
        found.append([output, *gradients])
    for fused, reference in zip(*found, strict=True):
        torch.testing.assert_close(fused, reference)


def test_what_pairs_say_moves_scores_and_what_is_received(ring, path):
    batch = cf.collate([ring(6), path(4)])
    model = model_for([ring(6), path(4)], attention_plan("general-dense"), layers=1)
    whole = model(batch)
    with record_attention() as recorded:
        model(batch)
    terms = model.layers[0].terms.linear
    heads = model.config.architecture.heads
    with torch.no_grad():
        terms.weight[heads:] = 0  # scores alone are biased
        biased = model(batch)
        terms.weight[:heads] = 0
        bare = model(batch)
    assert not torch.allclose(whole, biased)
    assert not torch.allclose(biased, bare)
    with record_attention() as unbiased:
        model(batch)
    assert not torch.allclose(recorded[0].weights, unbiased[0].weights)


def test_walks_tell_apart_what_neighbors_cannot():
    """Without colors and encodings, a pair of triangles and a hexagon have the same neighbors."""

    def cycles(length, times):
        edges = [
            (first + i, first + (i + 1) % length)
            for first in range(0, length * times, length)
            for i in range(length)
        ]
        return cf.lift(cf.Graph.from_edges(edges), cf.Cliques(1))

    triangles, hexagon = cycles(3, 2), cycles(6, 1)
    batch = cf.collate([triangles, hexagon])
    bare = {"pair_width": 0, "pair_steps": 8}
    plain = model_for([triangles, hexagon], attention_plan("general-sparse"), **bare)(batch)
    torch.testing.assert_close(plain[0], plain[1])
    told = model_for([triangles, hexagon], attention_plan("general-sparse"), pair_steps=6)(batch)
    assert not torch.allclose(told[0], told[1], rtol=1e-6)


def test_only_the_bias_may_be_wanted(ring):
    model = model_for([ring(4)], pairwise_mixed(), pair_values=0, output_projection=False)
    assert torch.isfinite(model(cf.collate([ring(4)]))).all()
    assert model.layers[0].terms["0"].linear.out_features == 4


@every_attention
def test_a_model_is_restored_from_json_and_its_weights(name, ring, path):
    batch = cf.collate([ring(4), path(3)])
    model = model_for([ring(4), path(3)], attention_plan(name))
    saved = json.loads(json.dumps([model.config.to_dict(), plan_to_dict(model.plan)]))
    restored = CellularTransformer(ModelConfig.from_dict(saved[0]), plan_from_dict(saved[1]))
    restored.double().eval().load_state_dict(model.state_dict())
    assert torch.equal(restored(batch), model(batch))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair_steps": 4}, "pair_steps is of no use without pair_width"),
        ({"pair_values": 1}, "pair_values is of no use without pair_width"),
        ({"pair_width": 8, "theta_per_head": True}, "theta_per_head is of no use with pair_width"),
        ({"pair_width": 8, "output_projection": False}, "pair_values need output_projection"),
        ({"pair_width": -1}, "pair_width"),
        ({"pair_width": 8, "pair_steps": 0}, "pair_steps"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ArchitectureConfig(**options)


@dataclass(frozen=True)
class Deaf(Pairwise):
    """A plan whose layers do not look at pairs."""

    reads_pairs = False


def test_a_plan_that_does_not_read_pairs_is_refused(ring):
    with pytest.raises(ValueError, match="layers of Deaf do not read vectors of pairs"):
        model_for([ring(4)], Deaf(pairwise_mixed().diagram))


def test_all_pairs_of_a_large_complex_are_refused_before_they_are_listed(ring, monkeypatch):
    monkeypatch.setattr(memory, "SURELY_FITS", 100)
    monkeypatch.setattr(memory, "free_memory", lambda device="cpu": 1000.0)
    model = model_for([ring(30)], attention_plan("pairwise-mixed"))
    with pytest.raises(memory.DenseMemoryError, match="30 x 30 pairs"):
        model(cf.collate([ring(30)]))


def test_pairs_are_described_once_a_batch(ring, monkeypatch):
    batch = cf.collate([ring(4)])
    model = model_for([ring(4)], attention_plan("general-dense"))
    expected = model(batch)
    monkeypatch.setattr(cf.CellBatch, "boundary", lambda *_: pytest.fail("described again"))
    assert isinstance(batch, Bounded)
    assert torch.equal(model(batch), expected)
