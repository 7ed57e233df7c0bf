"""Encodings that are read so that their signs make no difference."""

import pytest
import torch

import cellformer as cf
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.cell_complex import FLIPPING_SIGN, NO_SIGN, RANK_SIGN, SHARED_SIGN
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig
from cellformer.model.plans.named import attention_plan
from cellformer.model.plans.reach import steps_seen
from cellformer.model.transformer import CellularTransformer

KINDS = [SHARED_SIGN, NO_SIGN, RANK_SIGN, SHARED_SIGN, FLIPPING_SIGN]


@pytest.fixture
def complexes(cliques, ring, path, encoded):
    made = [cliques(1, 6, face_features=True), cliques(2, 5, face_features=True)]
    made += [cliques(3, 1, face_features=True)]
    return [encoded(cells, seed, signs=KINDS) for seed, cells in enumerate(made)]


def model_for(complexes, name="general-sparse", **options):
    """A small model, none of whose weights is at a neutral start."""
    torch.manual_seed(0)
    chosen = {"width": 16, "layers": 2, "heads": 4, "readout_cells": "all", "sign_invariant": True,
              "attention_dropout": 0.0, **options}  # fmt: skip
    config = ModelConfig.for_batch(cf.collate(complexes), ArchitectureConfig(**chosen))
    model = CellularTransformer(config, attention_plan(name))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model


def with_encodings(batch, change):
    """A batch whose encodings, rank by rank, are others."""
    changed = tuple(change(rank, rows.clone()) for rank, rows in enumerate(batch.encodings))
    kept = {name: getattr(batch, name) for name in batch.__dataclass_fields__}
    return CellBatch(**{**kept, "encodings": changed, "_neighborhoods": {}})


@pytest.mark.parametrize("name", ATTENTIONS.names)
def test_no_sign_of_an_eigenvector_of_any_complex_changes_a_bit(name, complexes):
    model, batch = model_for(complexes, name), cf.collate(complexes)
    assert (model.config.data.shared_signs, model.config.data.rank_signs) == ((0, 3), (2,))
    expected = model(batch)
    for column, kind in enumerate(KINDS):
        for chosen in range(3):

            def turned(rank, rows, column=column, kind=kind, chosen=chosen):
                here = batch.complex_of(rank) == chosen
                if kind == SHARED_SIGN or rank == 1:
                    rows[here, column] *= -1
                return rows

            same = torch.equal(model(with_encodings(batch, turned)), expected)
            assert same == (kind != NO_SIGN or chosen == 2)  # the last is a vertex


def test_what_flips_with_single_cells_changes_no_bit_and_shared_signs_are_compared(complexes):
    model, batch = model_for(complexes), cf.collate(complexes)
    expected = model(batch)
    for column, same in ((4, True), (0, False)):

        def turned(rank, rows, column=column):
            rows[::2, column] *= -1
            return rows

        assert torch.equal(model(with_encodings(batch, turned)), expected) == same


def test_it_is_the_formula_in_values_and_gradients(complexes):
    """Cell after cell and eigenvector after eigenvector."""
    batch, network = cf.collate(complexes), model_for(complexes).embedding.either_sign.double()
    embedding = model_for(complexes).embedding
    corners = {rank: embedding.corners(batch, rank) for rank in (1, 2)}
    found = network(batch, [rows.double() for rows in batch.encodings], corners)

    def vertices_of(rank, cell):
        ends = corners[rank].offsets
        return corners[rank].senders[ends[cell] : ends[cell + 1]].tolist()

    edges_at = {vertex: [] for vertex in range(batch.num_cells[0])}
    for edge in range(batch.num_cells[1]):
        for vertex in vertices_of(1, edge):
            edges_at[vertex].append(edge)
    root = [sum(cells.num_cells) ** 0.5 for cells in complexes]

    def phi(module, column, sign, rank, cell):
        def inner(rank, cell):
            value = batch.encodings[rank][cell, column].double() * sign
            value = value * root[batch.complex_of(rank)[cell]]
            return module.first(value.view(1)).relu()

        told = module.own(inner(rank, cell))
        if module.near is not None:
            cells = [(rank, cell)] if rank else [(1, edge) for edge in edges_at[cell]]
            near = [
                torch.stack([inner(0, vertex) for vertex in vertices_of(*each)]).mean(0)
                for each in cells
            ]
            if near:
                told = told + module.near(torch.stack(near).mean(0))
        return told.relu()

    for rank, rows in enumerate(found):
        expected = []
        for cell in range(batch.num_cells[rank]):
            both = [
                phi(module, column, 1, rank, cell) + phi(module, column, -1, rank, cell)
                for module, columns in ((network.of_shared, (0, 3)), (network.of_other, (2, 4)))
                for column in columns
            ]
            expected.append(network.rho(torch.cat(both)))
        expected = torch.stack(expected)
        torch.testing.assert_close(rows, expected)
        weights = list(network.parameters())
        own, oracle = (torch.autograd.grad(each.square().sum(), weights, retain_graph=True)
                       for each in (rows, expected))  # fmt: skip
        for one, other in zip(own, oracle, strict=True):
            torch.testing.assert_close(one, other)
            assert (one != 0).any()


@pytest.mark.parametrize("options", [{}, {"signed_width": 8}, {"position": "sum"}], ids=str)
def test_neither_the_batch_nor_the_numbering_changes_the_output(options, complexes, relabeled):
    model = model_for(complexes, **options).double().eval()
    expected = model(cf.collate(complexes))
    alone = torch.cat([model(cf.collate([cells])) for cells in complexes])
    torch.testing.assert_close(alone, expected)
    moved = cf.collate([relabeled(cells, 5) for cells in complexes])
    torch.testing.assert_close(model(moved), expected)
    assert [len(rows) for rows in model.embedding.blank(moved)] == list(moved.num_cells)


def test_nothing_is_drawn_in_training(complexes):
    model, batch = model_for(complexes).train(), cf.collate(complexes)
    state = torch.get_rng_state()
    assert torch.equal(model(batch), model(batch))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_whole_complex_is_needed():
    with pytest.raises(ValueError, match="either sign depends on the whole complex's size"):
        steps_seen(cf.general_sparse(), ArchitectureConfig(sign_invariant=True), 2)


def test_columns_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="shared_signs must name columns of the 2"):
        DataShape(encoding=2, shared_signs=(2,))
