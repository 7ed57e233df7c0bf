"""What is hidden and guessed, against readable references and independent libraries."""

import math
from dataclasses import replace
from itertools import combinations

import networkx as nx
import pytest
import torch
from torch.nn import functional

import cellformer as cf
from cellformer.complexes.batches.batch import Part, collate
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig
from cellformer.model.transformer import CellularTransformer
from cellformer.training.config import ObjectivesConfig
from cellformer.training.objectives.drawing import drawn
from cellformer.training.objectives.masking import MaskedFeatures, masked
from cellformer.training.objectives.objectives import Objectives, check_objectives
from cellformer.training.objectives.pairs import (
    FARTHEST,
    VertexPairs,
    distances,
    first_vertices,
    sharing,
)

SMILES = ("CCO", "c1ccc2ccccc2c1CCCCCCCCCC=O", "[Na+].[Cl-]", "C", "C1CC1c1ccccc1", "CC(=O)N")


def complexes():
    preparation = cf.Preparation(ring_features=True)
    return [preparation.one(text) for text in SMILES]


def model_of(batch, **architecture):
    torch.manual_seed(0)
    chosen = ArchitectureConfig(width=8, layers=1, heads=2, attention_dropout=0.0, **architecture)
    config = ModelConfig(chosen, DataShape.of(batch, 1))
    return CellularTransformer(config, cf.general_sparse(max_rank=2))


@pytest.fixture(scope="module")
def batch():
    return collate(complexes())


def test_numbers_are_spread_evenly_and_differ_by_rank_seed_and_complex(batch):
    many = collate(complexes() * 200)
    chance = drawn(many, 0, seed=3)
    assert chance.min() >= 0
    assert chance.max() < 1
    counts = torch.histc(chance.float(), 20, 0, 1)
    expected = len(chance) / 20
    assert ((counts - expected) ** 2 / expected).sum() < 50  # chi-squared, 19 degrees: p < 2e-4
    assert len(chance.unique()) == len(chance)
    assert not torch.isin(chance, drawn(many, 0, seed=4)).any()
    assert not torch.isin(chance, drawn(many, 1, seed=3)).any()


def test_a_part_of_a_batch_draws_what_the_whole_does(batch):
    places = torch.tensor([4, 1, 5])
    part = collate([complexes()[place] for place in places])
    part = replace(part, part=Part(places, len(SMILES)))
    for rank in range(3):
        whole, of = drawn(batch, rank, 7), batch.complex_of(rank)
        expected = torch.cat([whole[of == place] for place in places])
        assert torch.equal(drawn(part, rank, 7), expected)


def test_hidden_features_tell_nothing(batch):
    model = model_of(batch).eval()
    hidden = masked(batch, model.embedding, 0.4, seed=1)
    assert set(hidden.hidden) == {0, 1, 2}
    others = [rows.clone() for rows in batch.discrete]
    for rank, chosen in hidden.hidden.items():
        assert 0 < chosen.sum() < len(chosen)
        others[rank][chosen] = torch.roll(others[rank][chosen], 1, 0) * 0 + 1
        unchanged = hidden.batch.discrete[rank][~chosen] == batch.discrete[rank][~chosen]
        assert unchanged.all()
    changed = masked(replace(batch, discrete=tuple(others)), model.embedding, 0.4, seed=1)
    assert not torch.equal(model(batch), model(replace(batch, discrete=tuple(others))))
    assert torch.equal(model(hidden.batch), model(changed.batch))


def test_hidden_values_become_the_mean():
    vertices = torch.rand(6, 3).double().numpy()
    graph = cf.Graph.from_edges([(n, n + 1) for n in range(5)], vertex_features=vertices)
    batch = collate([cf.lift(graph, cf.Skeleton())])
    model = model_of(batch)
    features = model.embedding.features["0"]
    features.mean += 5.0
    features.deviation *= 2.0
    hidden = masked(batch, model.embedding, 0.5, seed=0)
    chosen = hidden.hidden[0]
    assert (hidden.batch.continuous[0][chosen] == 5).all()
    guess = MaskedFeatures(model.embedding, 8)
    cells = [torch.rand(count, 8) for count in batch.num_cells]
    total, number = guess(model.embedding, cells, batch, hidden)
    own = guess.guesses["0"](cells[0][chosen])
    wanted = (batch.continuous[0][chosen] - 5) / 2
    assert number == chosen.sum() > 0
    expected = functional.huber_loss(own, wanted.float(), reduction="none").mean(1).sum()
    torch.testing.assert_close(total, expected)


def test_the_loss_of_hidden_cells_against_a_loop(batch):
    embedding = model_of(batch).embedding
    guess = MaskedFeatures(embedding, 8)
    hidden = masked(batch, embedding, 0.5, seed=2)
    cells = [torch.rand(count, 8) for count in batch.num_cells]
    total, number = guess(embedding, cells, batch, hidden)
    expected, count = 0.0, 0
    for rank in range(3):
        first = embedding.features[str(rank)].first_row.tolist()
        last = embedding.features[str(rank)].last_row.tolist()
        for cell in hidden.hidden[rank].nonzero()[:, 0].tolist():
            outputs, place, each = guess.guesses[str(rank)](cells[rank][cell]), 0, []
            for column, size in enumerate(b - a + 1 for a, b in zip(first, last, strict=True)):
                logits = outputs[place : place + size].log_softmax(0)
                each.append(-logits[batch.discrete[rank][cell, column]].item())
                place += size
            expected, count = expected + sum(each) / len(each), count + 1
    assert number == count
    assert total.item() == pytest.approx(expected, rel=1e-5)


def test_a_category_that_no_column_has_costs_nothing(batch):
    embedding = model_of(batch).embedding
    guess = MaskedFeatures(embedding, 8)
    strange = replace(batch, discrete=tuple(rows * 0 + 999 for rows in batch.discrete))
    hidden = masked(strange, embedding, 0.5, seed=2)
    total, number = guess(embedding, [torch.rand(n, 8) for n in batch.num_cells], strange, hidden)
    assert total == 0 < number


def graph_of(cells):
    graph = nx.Graph()
    graph.add_nodes_from(range(cells.num_cells[0]))
    faces = cells.boundaries[0].tocsc()
    graph.add_edges_from(faces.indices.reshape(-1, 2).tolist())
    return graph


@pytest.mark.parametrize("seed", range(3))
def test_distances_and_shared_cells_against_networkx(batch, seed):
    embedding = model_of(batch).embedding
    first = first_vertices(batch, seed)
    found, shared = distances(embedding, batch, first), sharing(embedding, batch, first)
    starts = batch.offsets[0].tolist()
    for number, cells in enumerate(complexes()):
        begin, end = starts[number : number + 2]
        own = int(first[number]) - begin
        assert 0 <= own < end - begin
        lengths = nx.single_source_shortest_path_length(graph_of(cells), own)
        expected = [min(lengths.get(vertex, -1), FARTHEST) for vertex in range(end - begin)]
        assert found[begin:end].tolist() == expected
        together = set()
        if cells.dim == 2:
            corners = (abs(cells.boundaries[0]) @ abs(cells.boundaries[1])).tocsc()
            for cell in range(cells.num_cells[2]):
                ring = corners.indices[corners.indptr[cell] : corners.indptr[cell + 1]].tolist()
                together |= set(combinations(ring, 2)) | {(v, v) for v in ring}
        pairs = together | {(b, a) for a, b in together}
        assert shared[begin:end].tolist() == [(own, v) in pairs for v in range(end - begin)]


def test_the_loss_of_pairs_against_a_loop(batch):
    embedding = model_of(batch).embedding
    guess = VertexPairs(8)
    cells = [torch.rand(count, 8) for count in batch.num_cells]
    total, number = guess(embedding, cells, batch, seed=5)
    first = first_vertices(batch, 5)
    far, near = distances(embedding, batch, first), sharing(embedding, batch, first)
    expected, count = 0.0, 0
    for vertex, of in enumerate(batch.complex_of(0).tolist()):
        if far[vertex] > 0:
            a, b = guess.norm(cells[0][first[of]]), guess.norm(cells[0][vertex])
            told = guess.guess(torch.cat([a * b, (a - b).abs()]))
            expected -= told[:FARTHEST].log_softmax(0)[far[vertex] - 1].item()
            expected -= functional.logsigmoid(told[-1] if near[vertex] else -told[-1]).item()
            count += 1
    assert number == count
    assert total.item() == pytest.approx(expected, rel=1e-5)


def test_parts_of_a_batch_have_the_losses_of_the_whole(batch):
    model = model_of(batch, random_signs=False)
    objectives = Objectives(ObjectivesConfig(masked=1.0, masked_share=0.4, pairs=1.0), model)
    outputs, whole = objectives(model, batch, seed=9)
    sums, rows = {"masked": [0, 0], "pairs": [0, 0]}, {}
    for places in (torch.tensor([0, 3, 5]), torch.tensor([1, 2, 4])):
        part = collate([complexes()[place] for place in places])
        told, own = objectives(model, replace(part, part=Part(places, len(SMILES))), seed=9)
        rows |= dict(zip(places.tolist(), told, strict=True))
        for name, (total, number) in own.items():
            sums[name][0] += total.item()
            sums[name][1] += number.item()
    for name, (total, number) in whole.items():
        assert sums[name] == [pytest.approx(total.item(), rel=1e-5), number.item()]
    torch.testing.assert_close(torch.stack([rows[place] for place in range(len(SMILES))]), outputs)


def test_every_weight_that_guesses_learns(batch):
    model = model_of(batch)
    objectives = Objectives(ObjectivesConfig(masked=1.0, masked_share=0.5, pairs=1.0), model)
    outputs, sums = objectives(model, batch, seed=0)
    means = {name: total / number for name, (total, number) in sums.items()}
    objectives.joined(outputs.mean(), means).backward()
    for name, parameter in objectives.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    assert all(math.isfinite(mean.item()) for mean in means.values())


def test_complexes_without_anything_to_guess():
    graphs = [cf.Graph.from_edges([], num_vertices=count) for count in (0, 1, 3)]
    batch = collate([cf.lift(graph, cf.Skeleton()) for graph in graphs])
    model = model_of(batch)
    with pytest.raises(ValueError, match=r"objectives\.masked hides .* have none"):
        check_objectives(ObjectivesConfig(masked=1.0), model.config.data)
    _, sums = Objectives(ObjectivesConfig(pairs=1.0), model)(model, batch, seed=0)
    assert [part.item() for part in sums["pairs"]] == [0, 0]
    sums["pairs"][0].backward()
