from dataclasses import replace

import numpy as np
import pytest
import torch

from cellformer.complexes.batches.batch import CellBatch, collate
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.relabel import permute_graph
from cellformer.explaining.integrated_gradients import integrated_gradients
from cellformer.explaining.occlusion import occlusion
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.model.config import (
    ArchitectureConfig,
    DataShape,
    DescriptorShape,
    ModelConfig,
)
from cellformer.model.described import cell_model
from cellformer.model.plans.named import attention_plan

COUNTS = np.array([[0, 9], [1, 0], [7, 2]], np.uint8)
VALUES = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 8.0]], np.float32)
GRAPHS = [Graph.from_smiles(text) for text in ("CCO", "c1ccccc1N", "C")]


def complexes(graphs=GRAPHS, counts=COUNTS, values=VALUES):
    ragged = RaggedComplexes.from_complexes([InducedCycles()(graph) for graph in graphs])
    return replace(ragged, descriptors=Descriptors(counts, values))


def model_for(ragged, **options):
    torch.manual_seed(0)
    shape = replace(DataShape.of(ragged), descriptors=DescriptorShape.of(ragged.descriptors))
    network = {"descriptor_head": "network"}
    options = {"width": 16, "layers": 2, "heads": 2, **network, **options}
    config = ModelConfig(ArchitectureConfig(**options), shape)
    return cell_model(config, attention_plan("general-sparse", max_rank=2)).eval()


def test_the_shape_is_read_off_known_values_and_survives_json():
    shape = DescriptorShape.of(Descriptors(COUNTS, VALUES))
    assert shape.counts == 2
    assert shape.mean == pytest.approx((3.0, 6.0))
    assert shape.deviation == pytest.approx((np.std([1, 3, 5]), 2.0))
    assert shape.blank == (False, True)
    config = ModelConfig(data=DataShape(descriptors=shape))
    assert ModelConfig.from_dict(config.to_dict()) == config
    assert DescriptorShape.of(Descriptors(COUNTS[:, :0], VALUES[:, :0])) is None


def test_columns_that_do_not_vary_or_are_never_known_are_harmless():
    values = np.array([[2.0, np.nan]] * 3, np.float32)
    shape = DescriptorShape.of(Descriptors(COUNTS, values))
    assert shape.mean == (2.0, 0.0)
    assert shape.deviation == (1.0, 1.0)
    model = model_for(complexes(values=values))
    assert torch.isfinite(model(CellBatch.from_ragged(complexes(values=values)))).all()


def test_without_descriptors_a_model_has_the_weights_it_always_had():
    ragged = complexes()
    bare = replace(ragged, descriptors=None)
    names = dict(model_for(bare).named_parameters())
    described = dict(model_for(ragged).transformer.named_parameters())
    assert not any(name.startswith(("values", "counts")) for name in names)
    assert set(described) == set(names)
    for name, weights in names.items():
        torch.testing.assert_close(described[name], weights, rtol=0, atol=0)


def test_the_prediction_is_the_mean_of_two_opinions_weighted_by_the_share():
    ragged = complexes()
    model, batch = model_for(ragged), CellBatch.from_ragged(ragged)
    from_cells, from_counts = model.opinions(batch)
    torch.testing.assert_close(model(batch), (from_cells + from_counts) / 2)
    model.counts.share.fill_(1.0)
    torch.testing.assert_close(model(batch), from_counts)
    assert "counts.share" in model.state_dict()


def test_while_training_each_complex_is_predicted_by_one_opinion():
    ragged = complexes()
    model = model_for(ragged, attention_dropout=0.0, descriptor_dropout=0.0).train()
    batch = CellBatch.from_ragged(ragged)
    from_cells, from_counts = model.opinions(batch)
    drawn = [model(batch) for _ in range(20)]
    for rows in drawn:
        chosen = torch.isclose(rows, from_cells) | torch.isclose(rows, from_counts)
        assert chosen.all()
    assert len({tuple(rows.flatten().tolist()) for rows in drawn}) > 1


def test_every_descriptor_and_every_weight_of_theirs_counts():
    ragged = complexes()
    model = model_for(ragged)
    batch = CellBatch.from_ragged(ragged)
    batch.descriptors.requires_grad_()
    model(batch).square().sum().backward()
    known = ~torch.isnan(batch.descriptors)
    assert (batch.descriptors.grad[known] != 0).float().mean() > 0.8
    assert torch.isfinite(batch.descriptors.grad[known]).all()
    for name, weights in model.named_parameters():
        if name.startswith(("values", "counts")):
            assert weights.grad is not None
            assert torch.isfinite(weights.grad).all(), name


def test_values_change_what_the_cells_mean_not_only_the_prediction():
    ragged = complexes()
    model, batch = model_for(ragged), CellBatch.from_ragged(ragged)
    moved = replace(batch, descriptors=batch.descriptors + torch.tensor([0.0, 0, 2, 0]))
    assert not torch.allclose(model.embed(batch)[0], model.embed(moved)[0])


def test_a_blank_value_is_the_mean_where_training_had_no_blanks():
    ragged = complexes()
    model = model_for(ragged)
    blank, mean = (CellBatch.from_ragged(ragged) for _ in range(2))
    blank.descriptors[1, 2], mean.descriptors[1, 2] = float("nan"), 3.0
    torch.testing.assert_close(model(blank), model(mean))
    blank.descriptors[1, 3], mean.descriptors[1, 3] = float("nan"), 6.0
    assert not torch.allclose(model(blank), model(mean))  # this column was blank in training


@pytest.mark.parametrize("seed", range(3))
def test_neither_the_order_of_atoms_nor_the_company_changes_a_prediction(seed):
    ragged = complexes()
    model = model_for(ragged)
    rng = np.random.default_rng(seed)
    shuffled = [permute_graph(graph, rng.permutation(graph.num_vertices)) for graph in GRAPHS]
    with torch.no_grad():
        together = model(CellBatch.from_ragged(ragged))
        other = model(CellBatch.from_ragged(complexes(shuffled)))
        alone = torch.cat([model(collate([ragged[row]])) for row in range(3)])
    torch.testing.assert_close(other, together, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(alone, together, rtol=1e-5, atol=1e-5)


def test_complexes_described_otherwise_are_refused():
    ragged = complexes()
    model = model_for(ragged)
    for given in (None, Descriptors(COUNTS, VALUES[:, :1])):
        batch = CellBatch.from_ragged(replace(ragged, descriptors=given))
        with pytest.raises(ValueError, match=r"the model was made for 2 counts and 2 values"):
            model(batch)


def test_explanations_leave_the_descriptors_as_they_are():
    ragged = complexes(values=np.nan_to_num(VALUES))
    model = model_for(ragged)
    cells = ragged[1]
    with torch.no_grad():
        prediction = float(model(collate([cells]))[0, 0])
    found = integrated_gradients(model, cells)
    assert found.prediction == pytest.approx(prediction, abs=1e-4)
    assert found.total == pytest.approx(found.prediction - found.reference, abs=1e-3)
    left_out = occlusion(model, cells)
    assert left_out.prediction == pytest.approx(prediction, abs=1e-5)
    model.counts.share.fill_(1.0)
    assert occlusion(model, cells).ranks[0] == pytest.approx(np.zeros(7), abs=1e-6)


def test_descriptors_and_predictions_of_cells_exclude_each_other():
    with pytest.raises(ValueError, match="of no use where cells are predicted"):
        DataShape(target_rank=0, descriptors=DescriptorShape(counts=1))
