import pytest
import torch

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.graph import Graph
from cellformer.encodings.bspe import BSPe
from cellformer.encodings.encode import encode
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.dropping import drop_again
from cellformer.model.plans.general import general_sparse
from cellformer.model.plans.pairwise import pairwise_sparse
from cellformer.model.transformer import CellularTransformer


@pytest.fixture
def batch():
    graphs = [Graph.from_smiles(text) for text in ("c1ccccc1CO", "C1CC1N", "CCO")]
    return collate([encode(InducedCycles()(graph), [BSPe(3)]) for graph in graphs])


def model_of(batch, plan=None, **chosen):
    torch.manual_seed(0)
    chosen = {"attention_dropout": 0.0, "random_signs": True, "norm": "batch"} | chosen
    config = ModelConfig.for_batch(batch, ArchitectureConfig(width=8, layers=2, heads=2, **chosen))
    return CellularTransformer(config, plan or general_sparse()).eval()


@pytest.mark.parametrize("plan", [general_sparse, pairwise_sparse])
@pytest.mark.parametrize(
    "kind", ["dropout", "attention_dropout", "embedding_dropout", "readout_dropout"]
)
def test_every_dropout_comes_back(kind, plan, batch):
    model = model_of(batch, plan(), **{kind: 0.5})
    assert drop_again(model)
    assert not torch.equal(model(batch), model(batch))
    model.eval()
    assert torch.equal(model(batch), model(batch))


@pytest.mark.parametrize("plan", [general_sparse, pairwise_sparse])
def test_that_of_attention_comes_back_where_columns_flip(plan, batch):
    model = model_of(batch, plan(), attention_dropout=0.5, signed_width=4, readout_layers=0)
    assert drop_again(model)
    assert not torch.equal(model(batch), model(batch))


def test_leaving_out_layers_comes_back(batch):
    model = model_of(batch, layer_dropout=0.5)
    assert drop_again(model)
    assert len({str(model(batch).tolist()) for _ in range(20)}) > 1


def test_nothing_else_of_training_does(batch):
    model = model_of(batch)  # with random signs, and norms that follow what they see
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert not drop_again(model)
    assert torch.equal(model(batch), model(batch))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
