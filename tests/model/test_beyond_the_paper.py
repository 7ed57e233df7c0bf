"""Choices that the paper's layer does not have: norms, scaling by degree, gates, virtual cells."""

import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.layers.aggregation import Gate, ScalingByDegree, degrees
from cellformer.model.layers.layer_dropout import with_layer_left_out
from cellformer.model.layers.norms import CellBatchNorm, norm_of
from cellformer.model.plans.named import attention_plan
from cellformer.model.relations.patterns import described_patterns, patterns
from cellformer.model.transformer import CellularTransformer
from cellformer.model.unused import refuse_unused

CHOICES = (
    {"norm": "rms"},
    {"norm": "batch", "final_norm": True},
    {"degree_scaling": "log"},
    {"degree_scaling": "linear"},
    {"gate": True},
    {"virtual_cell": True},
    {"layer_dropout": 0.5},
    {"pair_width": 4, "pair_updates": True},
    {"degree_scaling": "log", "gate": True, "virtual_cell": True, "pair_width": 4},
)
every_choice = pytest.mark.parametrize("choice", CHOICES, ids=str)


def model_for(complexes, name, **choice):
    """A small model in double precision, none of whose weights is at a neutral start."""
    torch.manual_seed(0)
    architecture = ArchitectureConfig(
        **{"width": 16, "layers": 3, "heads": 2, "attention_dropout": 0.0, **choice}
    )
    config = ModelConfig.for_batch(cf.collate(complexes), architecture)
    model = CellularTransformer(config, attention_plan(name)).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model


@every_choice
@pytest.mark.parametrize("name", ATTENTIONS.names)
def test_neither_the_batch_nor_the_numbering_changes_the_output(
    name, choice, cliques, ring, path, relabeled
):
    complexes = [cliques(1, 7), ring(4), path(2), path(1)]
    model = model_for(complexes, name, **choice).eval()
    together = model(cf.collate(complexes))
    alone = torch.cat([model(cf.collate([cells])) for cells in complexes])
    torch.testing.assert_close(together, alone)
    moved = model(cf.collate([relabeled(complexes[0], 3)]))
    torch.testing.assert_close(moved, together[:1])


@every_choice
@pytest.mark.parametrize("name", ["pairwise-mixed", "general-sparse"])
def test_every_weight_learns_and_a_single_cell_is_no_trouble(name, choice, cliques, path):
    batch = cf.collate([cliques(1, 7), cliques(2, 7)])
    model = model_for([cliques(1, 7)], name, readout_cells="all", **choice).train()
    torch.manual_seed(1)
    model(batch).square().sum().backward()
    without = {name for name, weight in model.named_parameters() if weight.grad is None}
    assert not {name for name in without if not name.endswith("above 2.weight")}  # no 3-cells
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    assert torch.isfinite(model(cf.collate([path(1)]))).all()


def test_degrees_are_the_numbers_of_neighbors(cliques, ring):
    batch = cf.collate([cliques(1, 7), ring(4)])
    for name in ATTENTIONS.names:
        relations = attention_plan(name).relations(batch.dim)
        for relation, pattern, pairs in zip(
            relations,
            patterns(batch, relations, binary=True),
            described_patterns(batch, relations, binary=True, steps=2),
            strict=True,
        ):
            matrix = relation.matrix(batch)
            np.testing.assert_array_equal(degrees(pattern), np.diff(matrix.tocsr().indptr))
            assert relation.dense or torch.equal(degrees(pairs), degrees(pattern))


def test_a_line_without_a_constant_makes_sums_of_averages():
    scaling = ScalingByDegree(columns=3, arrows=2, kind="linear")
    averages, degree = torch.randn(5, 6), torch.tensor([[0, 1], [2, 3], [4, 0], [1, 1], [7, 2.0]])
    torch.testing.assert_close(scaling(averages, degree), averages)
    torch.nn.init.zeros_(scaling.constant), torch.nn.init.ones_(scaling.slope)
    torch.testing.assert_close(
        scaling(averages, degree), averages * degree.repeat_interleave(3, dim=1)
    )
    scaling.kind = "log"
    torch.testing.assert_close(
        scaling(averages, degree), averages * (1 + degree).log().repeat_interleave(3, dim=1)
    )


def test_an_open_gate_lets_everything_through():
    gate = Gate(4, 6)
    torch.nn.init.zeros_(gate.linear.weight), torch.nn.init.constant_(gate.linear.bias, 30)
    received = torch.randn(5, 6)
    torch.testing.assert_close(gate(received, torch.randn(5, 4)), received)
    torch.nn.init.constant_(gate.linear.bias, -30)
    assert gate(received, torch.randn(5, 4)).abs().max() < 1e-9


def test_a_virtual_cell_joins_what_lies_apart(ring, path):
    """A complex of two pieces: only a virtual cell tells one of the other."""
    pieces = [ring(4), path(2)]
    whole, other = cf.collate(pieces), cf.collate([ring(4, seed=5), path(2)])
    for choice, joined in ({}, False), ({"virtual_cell": True}, True):
        model = model_for(pieces, "pairwise-sparse", **choice).eval()
        one, two = (as_one_complex(batch) for batch in (whole, other))
        last = [model.embed(each)[0][-2:] for each in (one, two)]
        assert torch.equal(*last) is not joined


def as_one_complex(batch):
    """The same cells, as those of a single complex."""
    ends = [rows[[0, -1]] for rows in batch.offsets]
    return cf.CellBatch(**{**vars_of(batch), "offsets": tuple(ends)})


def vars_of(batch):
    return {name: getattr(batch, name) for name in batch.__dataclass_fields__ if name != "part"}


def test_a_layer_is_left_out_for_whole_complexes(ring, path, seeded):
    batch = cf.collate([ring(3 + number % 4) for number in range(40)])
    before = [torch.zeros(n, 2) for n in batch.num_cells]
    after = [torch.ones(n, 2) for n in batch.num_cells]
    found = with_layer_left_out(before, after, batch, 0.25)
    kept = [torch.stack([rows[ends[:-1]] for rows in [found[rank][:, 0]]])[0]
            for rank, ends in enumerate(batch.offsets)]  # fmt: skip
    for rank, rows in enumerate(found):
        torch.testing.assert_close(rows[:, 0], kept[rank][batch.complex_of(rank)])
        torch.testing.assert_close(kept[rank], kept[0])
    zero, scaled = sorted(set(kept[0].tolist()))
    assert (zero, scaled) == (0.0, pytest.approx(4 / 3))
    assert with_layer_left_out(before, after, batch, 0.0)[0].eq(1).all()
    assert with_layer_left_out(before, after, batch, 1.0)[0].eq(0).all()


def test_layers_are_left_out_in_training_only(ring, seeded):
    batch = cf.collate([ring(5)] * 8)
    model = model_for([ring(5)], "pairwise-sparse", layer_dropout=0.9)
    assert model(batch).std() > 0
    model.eval()
    assert model(batch).std() < 1e-12


def test_batch_norm_is_that_of_pytorch(seeded):
    own, oracle = CellBatchNorm(3), torch.nn.BatchNorm1d(3)
    for rows in (torch.randn(5, 3), torch.randn(2, 3), torch.randn(0, 3)):
        if len(rows):
            torch.testing.assert_close(own(rows), oracle(rows))
    single = torch.randn(1, 3)
    torch.testing.assert_close(own(single), oracle.eval()(single))
    torch.testing.assert_close(own.eval()(single), oracle(single))
    assert isinstance(norm_of("rms", 3), torch.nn.RMSNorm)


def test_a_choice_for_layers_that_are_not_there_is_refused(ring):
    for choice in ({"norm": "rms"}, {"gate": True}, {"virtual_cell": True}):
        architecture = ArchitectureConfig(layers=0, **choice)
        config = ModelConfig.for_batch(cf.collate([ring(4)]), architecture)
        with pytest.raises(ValueError, match=f"model.{next(iter(choice))} is of use"):
            refuse_unused(config, attention_plan("pairwise-mixed"))
