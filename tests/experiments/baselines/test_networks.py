"""What holds for each of the networks, whatever it learns."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric")

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.graph import Graph
from cellformer.complexes.relabel import permute
from cellformer.data.dataset import Task
from cellformer.encodings.encode import encode
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.experiments.baselines.config import BASELINES, GIN, BaselineConfig, MinCutPool
from cellformer.experiments.baselines.inputs import GraphData
from cellformer.experiments.baselines.module import BaselineModule
from cellformer.experiments.baselines.networks import network_of
from cellformer.lifting.skeleton import Skeleton
from cellformer.model.config import DataShape
from cellformer.training.config import DataConfig, TrainingConfig
from cellformer.training.runs.scaling import Scaling
from tiny import SMILES

NETWORKS = [pytest.param(kind(), id=name) for name, kind in BASELINES.items()]
CELLS = [encode(Skeleton()(Graph.from_smiles(text)), [RWBSPe(4)]) for text in SMILES]


def network(chosen, batch, outputs=2):
    torch.manual_seed(0)
    return network_of(chosen, GraphData(DataShape.of(batch, outputs), mean_vertices=6.0))


@pytest.mark.parametrize("chosen", NETWORKS)
def test_a_graph_is_answered_alike_alone_and_among_others(chosen):
    batch = collate(CELLS)
    model = network(chosen, batch).eval()
    together = model(batch)
    assert together.shape == (len(CELLS), 2)
    alone = torch.cat([model(collate([cells])) for cells in CELLS])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("chosen", NETWORKS)
def test_the_numbering_of_vertices_says_nothing(chosen):
    cells = CELLS[SMILES.index("c1ccc2ccccc2c1")]
    model = network(chosen, collate(CELLS)).eval()
    order = np.random.default_rng(0).permutation(cells.num_cells[0])
    again = permute(cells, [order, None])
    torch.testing.assert_close(
        model(collate([cells])), model(collate([again])), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("chosen", NETWORKS)
def test_every_parameter_learns_also_beside_graphs_without_edges(chosen):
    batch = collate(CELLS)  # methane and table salt have none
    model = network(chosen, batch)
    module = BaselineModule(model, Task("regression", ("a", "b"), "mae"), Scaling.none(2))
    loss = model(batch).abs().sum() + getattr(model, "auxiliary_loss", 0.0)
    loss.backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize(("norm", "alike"), [("batch", False), ("layer", True), ("graph", True)])
def test_only_the_norm_over_a_batch_sees_other_graphs_while_training(norm, alike):
    graphs = [cells for cells in CELLS if cells.num_cells[0] > 3]
    batch = collate(graphs)
    model = network(GIN(width=16, layers=2, dropout=0.0, norm=norm), batch).train()
    alone = torch.cat([model(collate([cells])) for cells in graphs])
    assert torch.allclose(model(batch), alone, atol=1e-4) == alike


@pytest.mark.parametrize(
    ("name", "differs"), [("gin", True), ("gps", True), ("mincut-pool", False)]
)
def test_features_of_edges_are_read_except_by_pooling(name, differs):
    batch = collate(CELLS)
    model = network(BASELINES[name](), batch).eval()
    bonds = batch.discrete[1].clone()
    bonds[:, 0] = bonds[0, 0]
    other = replace(batch, discrete=(batch.discrete[0], bonds))
    assert (not torch.equal(model(batch), model(other))) == differs


def test_the_poolings_losses_are_learned_with_the_task():
    batch = replace(collate(CELLS), targets=torch.zeros(len(CELLS), 1))
    model = network(MinCutPool(), batch, outputs=1)
    module = BaselineModule(model, Task("regression", ("a",), "mae"), Scaling.none(1))
    module.log = lambda *args, **kwargs: None
    loss = module.training_step(batch, 0)
    task_alone = model(batch).abs().mean()
    torch.testing.assert_close(loss, task_alone + model.auxiliary_loss)
    assert model.auxiliary_loss.item() != 0


def test_only_what_networks_on_graphs_can_do_is_accepted():
    with pytest.raises(ValueError, match="skeleton"):
        BaselineConfig(MinCutPool(), DataConfig())
    for chosen in ({"resident": True}, {"start_from": "runs/before"}):
        with pytest.raises(ValueError, match="our models only"):
            BaselineConfig(
                MinCutPool(), DataConfig(lifting="skeleton"), training=TrainingConfig(**chosen)
            )
    for described in ({"descriptors": ("T",)}, {"molecule_descriptors": "morgan"}):
        with pytest.raises(ValueError, match="read no descriptors"):
            BaselineConfig(MinCutPool(), DataConfig(lifting="skeleton", **described))
