"""Every attention with every encoding, on real complexes."""

import itertools
from functools import lru_cache

import lightning.pytorch as pl
import numpy as np
import pytest
import torch

from cellformer.data.loading.loader import batches
from cellformer.data.preparing.prepare import prepare
from cellformer.data.sources import open_source
from cellformer.encodings.catalog import ENCODINGS
from cellformer.encodings.named import parse_encodings
from cellformer.lifting.cycle_basis import CycleBasis
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig
from cellformer.model.plans.named import attention_plan
from cellformer.model.transformer import CellularTransformer
from cellformer.training.loop.lightning_options import quiet_lightning
from cellformer.training.loop.module import CellularModule
from cellformer.training.runs.scaling import Scaling

COUNT = 18
FILES = {"gcb": "gcb/hard_small_flat.npz", "zinc": "zinc/zinc12k_graphs.npz"}


@lru_cache(maxsize=1)  # its files stay open
def prepared(path, encoding):
    """The first complexes of a file."""
    source = open_source(path)
    first = type(source)(
        source.name, source.graphs.part(0, COUNT), source.targets[:COUNT], source.task_or_none,
        None, source.digest + f", the first {COUNT}",
    )  # fmt: skip
    complexes = prepare(first, CycleBasis(), parse_encodings(encoding, 8), progress=False)
    return source.task, complexes.complexes


class FiniteGradients(pl.Callback):
    """Keeps the losses and sees to it that every gradient is finite."""

    def __init__(self):
        self.losses = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.losses.append(float(outputs["loss"]))

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        gradients = [p.grad for p in pl_module.parameters() if p.grad is not None]
        assert gradients
        assert all(torch.isfinite(gradient).all() for gradient in gradients)
        assert any((gradient != 0).any() for gradient in gradients)


@pytest.mark.parametrize(
    ("name", "encoding", "attention"),
    list(itertools.product(FILES, ENCODINGS.names, ATTENTIONS.names)),
)
def test_two_epochs_train_with_finite_losses_and_gradients(name, attention, encoding, real_data):
    task, complexes = prepared(str(real_data / FILES[name]), encoding)
    architecture = ArchitectureConfig(width=16, layers=2, heads=2, edge_signal="concat")
    torch.manual_seed(0)
    model = CellularTransformer(
        ModelConfig(architecture, DataShape.of(complexes, task.outputs)), attention_plan(attention)
    )
    module = CellularModule(model, task, Scaling.none(1), total_steps=6)
    watch = FiniteGradients()
    with quiet_lightning():
        trainer = pl.Trainer(
            max_epochs=2, accelerator="cpu", callbacks=[watch], logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        trainer.fit(
            module,
            batches(complexes, np.arange(COUNT), COUNT // 3, shuffle=True),
            batches(complexes, np.arange(COUNT // 3), COUNT // 3, shuffle=False),
        )
    assert len(watch.losses) == 6
    assert np.isfinite(watch.losses).all()
