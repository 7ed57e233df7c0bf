import logging

import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.explaining import integrated_gradients as module
from cellformer.explaining.integrated_gradients import integrated_gradients


@pytest.mark.parametrize("name", ["pairwise-sparse", "pairwise-mixed", "general-dense"])
def test_contributions_sum_to_the_difference_of_predictions(make_model, molecules, name):
    model = make_model(name).eval()
    for cells in molecules:
        found = integrated_gradients(model, cells, output=1)
        batch = cf.collate([cells])
        with torch.no_grad():
            prediction = float(model(batch)[0, 1])
            unknown = float(model.from_embedded(model.embedding.blank(batch), batch)[0, 1])
        assert found.prediction == pytest.approx(prediction, abs=1e-5)
        assert found.reference == pytest.approx(unknown, abs=1e-5)
        assert found.total == pytest.approx(prediction - unknown, abs=1e-3)
        assert [len(rows) for rows in found.ranks] == list(cells.num_cells)


def test_the_blank_start_is_what_zero_features_and_encodings_give(make_model, molecules):
    """Averages over many points along the line, by the plain midpoint rule, agree."""
    model = make_model("general-sparse", heads=2).double().eval()
    batch = cf.collate([molecules[2]])
    start, stop = model.embedding.blank(batch), model.embedding(batch)
    totals = [torch.zeros(len(rows), dtype=torch.float64) for rows in start]
    points = 400
    for step in range(points):
        at = ((step + 0.5) / points) ** 3  # denser where the model bends
        width = ((step + 1) / points) ** 3 - (step / points) ** 3
        states = [
            (a + at * (b - a)).detach().requires_grad_() for a, b in zip(start, stop, strict=True)
        ]
        output = model.from_embedded(states, batch)[0, 0]
        for total, slope, a, b in zip(
            totals, torch.autograd.grad(output, states), start, stop, strict=True
        ):
            total += width * ((b - a) * slope).sum(1).detach()
    found = integrated_gradients(model, molecules[2])
    for expected, rows in zip(totals, found.ranks, strict=True):
        np.testing.assert_allclose(rows, expected.numpy(), atol=2e-3)


def test_symmetric_cells_contribute_alike_and_the_model_is_left_alone(make_model, molecules):
    model = make_model("pairwise-mixed").train()
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    found = integrated_gradients(model, molecules[0])
    rings = found.ranks[2]
    assert rings[0] == pytest.approx(rings[1], abs=1e-6)
    assert model.training
    assert all(torch.equal(value, kept[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


def test_missing_the_difference_is_told(make_model, molecules, caplog, monkeypatch):
    monkeypatch.setattr(module, "ROUNDS", 1)
    with caplog.at_level(logging.WARNING):
        integrated_gradients(make_model("pairwise-sparse"), molecules[1], tolerance=1e-12)
    assert "integrated gradients sum to" in caplog.text
