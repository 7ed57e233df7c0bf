from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig
from cellformer.model.device_neighborhoods import resident_for
from cellformer.model.plans.named import attention_plan
from cellformer.model.plans.pairwise import Pairwise
from cellformer.model.relations.diagram import Arrow, TensorDiagram, paper_diagram
from cellformer.model.transformer import CellularTransformer

CHOSEN = np.array([4, 1, 0, 1])


@pytest.fixture
def ragged(ring, path, cliques):
    return RaggedComplexes.from_complexes([ring(4), path(3), cliques(0), ring(5), path(1)])


def model_of(ragged, plan, **options):
    torch.manual_seed(0)
    architecture = ArchitectureConfig(**{"width": 8, "layers": 1, "heads": 2, **options})
    return CellularTransformer(ModelConfig(architecture, DataShape.of(ragged, 1)), plan)


def gradients(model, batch):
    torch.manual_seed(1)  # dropout and random signs
    output = model.train()(batch)
    output.sum().backward()
    found = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return [output, *found]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"neighbor_weights": "binary"},
        {"pair_width": 4, "pair_steps": 3},
        {"signed_width": 4},
    ],
)
@pytest.mark.parametrize("name", ["pairwise-mixed", "pairwise-sparse", "general-dense"])
def test_a_model_reads_the_same_bits_and_nothing_is_made_on_the_way(
    name, options, ragged, monkeypatch
):
    plan = attention_plan(name, max_rank=len(ragged.ranks) - 1)
    model = model_of(ragged, plan, **options)
    expected = gradients(model, CellBatch.from_ragged(ragged.take(CHOSEN)))
    resident = resident_for(model, ragged)
    monkeypatch.setattr(CellBatch, "boundary", lambda *_: pytest.fail("made by the batch"))
    got = gradients(model, resident.batch(CHOSEN))
    assert len(got) == len(expected)
    for left, right in zip(got, expected, strict=True):
        assert torch.equal(left, right)


@pytest.mark.parametrize("options", [{"reach": "2,all"}, {"reach": "1,3", "pair_width": 4}])
def test_hops_are_found_once_for_the_whole_collection(options, ragged, monkeypatch):
    test_a_model_reads_the_same_bits_and_nothing_is_made_on_the_way(
        "general-sparse", {"heads": 4, **options}, ragged, monkeypatch
    )


def test_edges_that_lack_features_of_their_own_find_their_corners(ragged):
    plan = attention_plan("pairwise-sparse", max_rank=len(ragged.ranks) - 1)
    model = model_of(ragged, plan)
    assert ("vertices of", 2) in resident_for(model, ragged).neighborhoods


def same_degree(cells):
    """Vertices with as many edges, in the whole of what is given."""
    degree = abs(cells.boundary(1)).sum(axis=1)
    return scipy.sparse.csr_array(degree[:, None] == degree[None, :])


def sharing_an_edge(cells):
    edges = abs(cells.boundary(1).astype(np.int32))
    return scipy.sparse.csr_array(edges @ edges.T)


def plan_with(function):
    return Pairwise(TensorDiagram((*paper_diagram(3).arrows, Arrow(0, 0, function))))


def test_a_neighborhood_of_the_users_is_kept_too(ragged):
    model = model_of(ragged, plan_with(sharing_an_edge))
    expected = gradients(model, CellBatch.from_ragged(ragged.take(CHOSEN)))
    got = gradients(model, resident_for(model, ragged).batch(CHOSEN))
    for left, right in zip(got, expected, strict=True):
        assert torch.equal(left, right)


def test_one_that_joins_complexes_of_the_collection_is_refused(ragged):
    with pytest.raises(ValueError, match="must not join"):
        resident_for(model_of(ragged, plan_with(same_degree)), ragged)


def test_what_was_not_kept_is_made_by_the_batch(ragged):
    model = model_of(ragged, attention_plan("pairwise-sparse", max_rank=len(ragged.ranks) - 1))
    resident = replace(resident_for(model, ragged), neighborhoods={})
    expected = gradients(model, CellBatch.from_ragged(ragged.take(CHOSEN)))
    for left, right in zip(gradients(model, resident.batch(CHOSEN)), expected, strict=True):
        assert torch.equal(left, right)
