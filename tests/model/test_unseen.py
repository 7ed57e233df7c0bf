import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.model.config import ArchitectureConfig, DataShape, DescriptorShape, ModelConfig
from cellformer.model.described import cell_model
from cellformer.model.embedding.unseen import silence_unseen
from cellformer.model.plans.pairwise import pairwise_sparse

SMALL = ArchitectureConfig(
    width=8, layers=1, heads=2, descriptor_head="network", descriptor_width=6
)
COUNTS = np.array([[1, 0, 2, 0], [0, 0, 1, 0], [3, 1, 0, 0]], np.uint8)


def vertex(*categories):
    cells = cf.CellComplex.from_boundaries([], 1, features=[[categories]])
    return cells.with_encodings([np.zeros((1, 0), np.float32)], np.zeros(0, np.int8))


@pytest.fixture
def collection():
    """Of three complexes only the first two are trained on; 4 and 2 are the highest categories."""
    ragged = RaggedComplexes.from_complexes([vertex(0, 2), vertex(4, 2), vertex(3, 1)])
    return RaggedComplexes(
        ragged.ranks, ragged.encoding_signs,
        descriptors=Descriptors(COUNTS, np.zeros((3, 0), np.float32)),
    )  # fmt: skip


@pytest.fixture
def model(collection, seeded):
    shape = DescriptorShape.of(collection.descriptors)
    data = DataShape.of(collection.take([0, 1]))
    model = cell_model(
        ModelConfig(SMALL, DataShape(data.categories, data.continuous, descriptors=shape)),
        pairwise_sparse(2),
    )
    silence_unseen(model, collection, np.array([0, 1]))
    return model.eval()


def test_categories_between_those_that_were_trained_on_add_nothing(model):
    embedding = model.embedding.features["0"]

    def of(*categories):
        return embedding(torch.tensor([categories]), torch.zeros(1, 0))[0]

    for unseen in (1, 2, 3, 5, 99):
        assert torch.equal(of(unseen, 2), of(7, 2))
    for unseen in (0, 1, 3):
        assert torch.equal(of(4, unseen), of(4, 9))
    assert not torch.equal(of(0, 2), of(4, 2))
    assert (of(0, 9) != 0).all()


def test_counts_that_no_training_complex_has_add_nothing(model):
    weight = model.counts.hidden.weight
    assert (weight[:, [0, 2]] != 0).all()
    assert torch.equal(weight[:, [1, 3]], torch.zeros(6, 2))


def test_what_is_silent_stays_so_and_what_is_not_is_trained(model, collection):
    batch = cf.CellBatch.from_ragged(collection.take([0, 1]))
    before = [p.clone() for p in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        loss = (model.train()(batch) - torch.tensor([[1.0], [2.0]])).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    table = model.embedding.features["0"].table.weight
    assert torch.equal(table[[2, 3, 4]], torch.zeros(3, 8))
    assert (table[[1, 5]] != 0).all()
    assert torch.equal(model.counts.hidden.weight[:, [1, 3]], torch.zeros(6, 2))
    assert any(not torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))
