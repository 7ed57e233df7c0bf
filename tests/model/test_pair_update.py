"""Pairs that learn from layer to layer."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import cellformer as cf
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.plans.named import attention_plan
from cellformer.model.relations.pair_terms import Paired
from cellformer.model.transformer import CellularTransformer

every_attention = pytest.mark.parametrize("name", ATTENTIONS.names)


def model_for(complexes, name, **options):
    """A small double-precision model, none of whose weights is at a neutral start."""
    torch.manual_seed(0)
    chosen = {"width": 16, "layers": 3, "heads": 4, "pair_width": 6, "pair_steps": 4,
              "pair_updates": True, "attention_dropout": 0.0, **options}  # fmt: skip
    config = ModelConfig.for_batch(cf.collate(complexes), ArchitectureConfig(**chosen), outputs=2)
    model = CellularTransformer(config, attention_plan(name)).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model


def updated_one_by_one(update, paired, cells):
    """Pair after pair, by the formula."""

    def normed(vector, norm):
        return functional.layer_norm(vector, vector.shape, norm.weight, norm.bias)

    def rows(ranks):
        return [row for rank in ranks if rank < len(cells) for row in cells[rank]]

    receivers, senders = rows(update.receivers), rows(update.senders)
    pairs, found = paired.neighborhood, []
    for receiver, here in enumerate(receivers):
        for number in range(int(pairs.offsets[receiver]), int(pairs.offsets[receiver + 1])):
            there, vector = senders[pairs.senders[number]], paired.vectors[number]
            inner = update.pairs.weight @ vector + update.pairs.bias
            inner = inner + update.receiver[1].weight @ normed(here, update.receiver[0])
            inner = inner + update.sender[1].weight @ normed(there, update.sender[0])
            found.append(vector + normed(inner, update.norm).clamp(min=0))
    return Paired(pairs, torch.stack(found) if found else paired.vectors)


@every_attention
def test_layers_are_told_what_the_formula_says_in_values_and_gradients(name, cliques, ring, path):
    complexes = [cliques(1, 5), ring(4), path(1)]
    batch, model = cf.collate(complexes), model_for(complexes, name, readout_cells="all")
    cells = model.embedded(batch)
    attended = model._attended(cells, batch)
    for number in range(3):
        cells = model.plan.through(model.layers[number : number + 1], cells, attended, False)
        if number < 2:
            attended = [
                updated_one_by_one(update, each, cells)
                for update, each in zip(model.pair_updates[number], attended, strict=True)
            ]
    expected, found = model.read_out(cells, batch), model(batch)
    torch.testing.assert_close(found, expected)
    gradients = [
        torch.autograd.grad(
            output.square().sum(), list(model.parameters()), allow_unused=True,
            materialize_grads=True,
        )
        for output in (found, expected)
    ]  # fmt: skip
    for own, oracle in zip(*gradients, strict=True):
        torch.testing.assert_close(own, oracle)
    learned = dict(zip([name for name, _ in model.named_parameters()], gradients[0], strict=True))
    assert all((own != 0).any() for name, own in learned.items() if "pair_updates" in name)


@every_attention
@settings(deadline=None, max_examples=2)
@given(st.integers(0, 99))
def test_neither_numbering_nor_orientation_nor_the_batch_changes_the_output(
    name, cliques, ring, path, relabeled, flipped, seed
):
    complexes = [cliques(seed, 6, face_features=True), cliques(seed + 1, 4, face_features=True)]
    model = model_for(complexes, name, readout_cells="all")
    expected = model(cf.collate(complexes))
    alone = torch.cat([model(cf.collate([cells])) for cells in complexes])
    torch.testing.assert_close(alone, expected)
    moved = [flipped(relabeled(cells, seed), seed) for cells in complexes]
    torch.testing.assert_close(model(cf.collate(moved)), expected)


def test_all_other_weights_start_as_they_do_without(ring):
    weights = []
    for updates in (False, True):
        torch.manual_seed(0)
        chosen = ArchitectureConfig(pair_width=4, pair_updates=updates)
        config = ModelConfig.for_batch(cf.collate([ring(4)]), chosen)
        weights.append(CellularTransformer(config, attention_plan("pairwise-mixed")).state_dict())
    plain, other = weights
    assert {name.split(".")[0] for name in other.keys() - plain.keys()} == {"pair_updates"}
    assert all(torch.equal(rows, other[name]) for name, rows in plain.items())


def test_pairs_that_are_not_described_have_nothing_to_learn():
    with pytest.raises(ValueError, match="pair_updates is of no use without pair_width"):
        ArchitectureConfig(pair_updates=True)
