"""What a model that leaves computes is what it computed before, in every form and for all sizes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cellformer as cf
from cellformer.complexes import examples
from cellformer.complexes.batches.runs import exporting, numbers_of
from cellformer.exporting.inputs import ProgramInputs
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, ModelConfig

MADE = [
    examples.house(), examples.path(4), examples.triangle(filled=False), examples.vertex(),
    examples.triangle(filled=True), examples.path(2),
]  # fmt: skip
SIGNED = {"signed_width": 4}
EITHER = {"sign_invariant": True}
PAIRS = {"pair_width": 5}
OTHERS = {"degree_scaling": "log", "gate": True, "virtual_cell": True, "readout_cells": "all"}
FORMS = [
    *((name, {}) for name in ATTENTIONS.names),
    *((name, PAIRS) for name in ("pairwise-mixed", "general-sparse", "general-dense")),
    *((name, {**PAIRS, "pair_updates": True}) for name in ("pairwise-mixed", "general-sparse")),
    *((name, SIGNED) for name in ("pairwise-mixed", "general-sparse", "general-dense")),
    ("general-sparse", {**OTHERS, "heads": 4, "reach": "1,all"}),
    ("general-sparse", {**OTHERS, "heads": 4, "reach": "2,all", "theta_per_head": True}),
    ("general-sparse", {**PAIRS, "heads": 4, "reach": "all,2"}),
    ("general-sparse", EITHER),
    ("pairwise-mixed", {**EITHER, **SIGNED}),
    ("pairwise-mixed", OTHERS),
    ("general-dense", {**OTHERS, "theta_per_head": True, "pooling": "mean", "norm": "batch"}),
    ("pairwise-sparse", {**OTHERS, "neighbor_weights": "binary", "position": "sum"}),
    ("general-sparse", {**SIGNED, "degree_scaling": "linear"}),
]


def complexes(encoding):
    return [cf.encode(each, cf.parse_encodings(encoding, 3)) for each in MADE]


def model_for(name, options, made):
    torch.manual_seed(0)
    architecture = ArchitectureConfig(**{"width": 8, "layers": 2, "heads": 2, **options})
    config = ModelConfig.for_batch(cf.collate(made), architecture, outputs=2)
    model = cf.CellularTransformer(config, cf.attention_plan(name)).eval()
    for parameter in model.parameters():  # zeros at the start would hide what they multiply
        parameter.data += 0.2 * torch.randn_like(parameter)
    return model


@pytest.mark.parametrize(("name", "options"), FORMS, ids=str)
def test_every_form_computes_the_same_from_its_tensors(name, options):
    flipping = "hodgelap" if options.get("signed_width") else "rwpe"
    made = complexes("bspe+hodgelap" if options.get("sign_invariant") else flipping)
    model = model_for(name, options, made)
    inputs = ProgramInputs(model)
    kinds = inputs.kinds()
    for chosen in ([0, 1, 2, 3, 4, 5], [1], [3], [0], [3, 5], [4, 4], [3, 0, 3]):
        batch = cf.collate([made[number] for number in chosen])
        tensors = inputs.tensors(cf.collate([made[number] for number in chosen]))
        assert {name: (its.dtype, its.dim()) for name, its in tensors.items()} == {
            name: (kind.dtype, len(kind.shape)) for name, kind in kinds.items()
        }
        with torch.no_grad():
            expected = model(batch)
            with exporting():
                found = model(inputs.batch(tensors))
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_the_example_to_trace_with_is_a_batch():
    inputs = ProgramInputs(model_for("pairwise-mixed", OTHERS, complexes("rwpe")))
    example = inputs.example()
    assert {name: its.dtype for name, its in example.items()} == {
        name: kind.dtype for name, kind in inputs.kinds().items()
    }
    with torch.no_grad(), exporting():
        assert inputs.model(inputs.batch(example)).shape == (5, 2)


def test_a_batch_of_other_ranks_or_columns_is_refused():
    made = complexes("rwpe")
    inputs = ProgramInputs(model_for("pairwise-sparse", {}, made))
    with pytest.raises(ValueError, match="encoding columns"):
        inputs.tensors(cf.collate(MADE))
    low = cf.CellularTransformer(inputs.model.config, cf.pairwise_sparse(max_rank=2))
    assert ProgramInputs(low).num_ranks == 3
    flat = model_for("pairwise-sparse", {}, made[1:2])
    flat = cf.CellularTransformer(flat.config, cf.pairwise_sparse(max_rank=1))
    with pytest.raises(ValueError, match="cells of rank 2"):
        ProgramInputs(flat).tensors(cf.collate(made))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=6))
def test_runs_are_numbered_alike_in_both_ways(counts):
    offsets = torch.tensor([0, *counts]).cumsum(0)
    expected = numbers_of(offsets, sum(counts))
    with exporting():
        assert torch.equal(numbers_of(offsets, sum(counts)), expected)
