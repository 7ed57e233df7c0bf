from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.model.config import ArchitectureConfig, DataShape, DescriptorShape, ModelConfig
from cellformer.model.described import DescribedTransformer, cell_model
from cellformer.model.plans.general import general_sparse
from cellformer.model.transformer import CellularTransformer
from cellformer.training.runs.weights import load_weights, save_weights

COUNTS = np.array([[0, 9], [1, 0], [7, 2]], np.uint8)
VALUES = np.array([[1.0], [3.0], [5.0]], np.float32)


def complexes(counts=COUNTS, values=VALUES):
    graphs = [Graph.from_smiles(text) for text in ("CCO", "c1ccccc1N", "C")]
    ragged = RaggedComplexes.from_complexes([InducedCycles()(graph) for graph in graphs])
    return replace(ragged, descriptors=Descriptors(counts, values))


def config_for(ragged):
    shape = replace(DataShape.of(ragged), descriptors=DescriptorShape.of(ragged.descriptors))
    architecture = ArchitectureConfig(
        width=8, layers=1, heads=2, descriptor_head="network", descriptor_width=8
    )
    return ModelConfig(architecture, shape)


def made(ragged, seed=0):
    torch.manual_seed(seed)
    return cell_model(config_for(ragged), general_sparse()).eval()


def named_as_before(state):
    """The transformer's weights were the model's own when it read the descriptors itself."""
    return {name.removeprefix("transformer."): value for name, value in state.items()}


@pytest.mark.parametrize(
    ("counts", "values"), [(COUNTS, VALUES), (COUNTS[:, :0], VALUES), (COUNTS, VALUES[:, :0])]
)
def test_weights_of_before_are_read(counts, values, tmp_path):
    ragged = complexes(counts, values)
    model, other = made(ragged), made(ragged, seed=1)
    old = named_as_before(model.state_dict())
    assert len(old) == len(model.state_dict())
    assert {name.partition(".")[0] for name in old} == {"embedding", "layers", "readout"} | (
        {"values"} if values.size else set()
    ) | ({"counts"} if counts.size else set())
    save_file(old, tmp_path / "old.safetensors")
    load_weights(tmp_path / "old.safetensors", other)
    batch = CellBatch.from_ragged(ragged)
    assert torch.equal(other(batch), model(batch))
    save_weights(tmp_path / "new.safetensors", model)
    load_weights(tmp_path / "new.safetensors", other)


def test_they_are_read_within_another_module_too():
    model, other = made(complexes()), made(complexes(), seed=1)
    outer = torch.nn.ModuleDict({"model": other})
    outer.load_state_dict({f"model.{n}": v for n, v in named_as_before(model.state_dict()).items()})
    for left, right in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(left, right)


def test_weights_of_another_model_are_not(tmp_path):
    model = made(complexes())
    old = named_as_before(model.state_dict())
    save_file({**old, "readouts.bias": torch.zeros(1)}, tmp_path / "more.safetensors")
    old.pop("readout.network.0.weight")
    save_file(old, tmp_path / "less.safetensors")
    for name in ("more", "less"):
        with pytest.raises(ValueError, match=f"{name}.safetensors: these weights cannot be loaded"):
            load_weights(tmp_path / f"{name}.safetensors", model)


def test_only_complexes_with_descriptors_have_the_wrapper():
    described = complexes()
    bare = config_for(replace(described, descriptors=None))
    assert isinstance(made(described), DescribedTransformer)
    assert isinstance(cell_model(bare, general_sparse()), CellularTransformer)
    with pytest.raises(ValueError, match="make a DescribedTransformer"):
        CellularTransformer(config_for(described), general_sparse())
    with pytest.raises(ValueError, match="make a CellularTransformer"):
        DescribedTransformer(bare, general_sparse())


def test_the_transformer_within_knows_nothing_of_descriptors():
    model = made(complexes())
    assert model.transformer.config.data == replace(model.config.data, descriptors=None)
    batch = CellBatch.from_ragged(complexes())
    own = model.transformer(replace(batch, descriptors=None))
    assert torch.equal(own, model.transformer(batch))
    assert not torch.equal(own, model(batch))


def test_a_prediction_begins_anywhere_on_the_way():
    model, batch = made(complexes()), CellBatch.from_ragged(complexes())
    assert torch.equal(model.from_embedded(model.embedded(batch), batch), model(batch))
    assert [rows.shape[0] for rows in model.embed(batch)] == list(batch.num_cells)
