"""Every field of model, optimizer and training changes what is learned, or is refused.

Where a field changes time or memory alone, what the loop is given has to differ.
"""

import importlib
from contextlib import contextmanager
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.complexes.batches.batch import CellBatch
from cellformer.data.readers.npz import write_npz
from cellformer.experiments.presets import override
from cellformer.model.config import ArchitectureConfig
from cellformer.model.embedding.feature_scaling import standardize_features
from cellformer.training.config import (
    ObjectivesConfig,
    OptimizerConfig,
    RunConfig,
    TrainingConfig,
)
from cellformer.training.loop import devices, fit, lightning_options
from cellformer.training.loop.world import World
from cellformer.training.materials.materials import gather
from cellformer.training.runs.recipe import Recipe
from grids import summary_of
from mesh_sets import write_off

train_module = importlib.import_module("cellformer.training.train")

NO_LAYERS = {"model.readout_layers": 0}
DENSE = {"attention": "general-dense"}
PAIRS = {"model.pair_width": 4}
COUNTS = {"data.source": "rows.csv", "data.target": ("y",)}
NETWORK = COUNTS | {"model.descriptor_head": "network"}

MODEL = {
    "width": ({}, 8),
    "layers": ({}, 2),
    "heads": ({}, 4),
    "feedforward_width": ({}, 5),
    "dropout": ({}, 0.3),
    "attention_dropout": ({}, 0.3),
    "embedding_dropout": ({}, 0.3),
    "readout": ({"model.readout_layers": 2}, "network(hidden_layers=1)"),
    "readout_layers": ({}, 0),
    "readout_dropout": ({}, 0.3),
    "readout_cells": ({}, "all"),
    "pooling": ({}, "mean"),
    "position": ({}, "sum"),
    "edge_signal": ({}, "concat"),
    "neighbor_weights": ({"model.readout_cells": "all"}, "binary"),
    "scale_scores": ({}, False),
    "projection_bias": ({}, False),
    "output_projection": ({}, False),
    "theta_per_head": (DENSE, True),
    "final_norm": ({}, True),
    "norm": ({}, "rms"),
    "degree_scaling": ({}, "log"),
    "gate": ({}, True),
    "reach": ({"model.heads": 4}, "1,2"),
    "virtual_cell": ({"model.layers": 2}, True),
    "layer_dropout": ({}, 0.5),
    "signed_width": ({}, 4),
    "pair_width": ({}, 4),
    "pair_steps": (PAIRS, 3),
    "pair_values": (PAIRS, 1),
    "pair_updates": (PAIRS | {"model.layers": 2}, True),
    "sign_invariant": ({}, True),
    "random_signs": ({}, False),
    "descriptor_head": (COUNTS, "network"),
    "descriptor_width": (NETWORK, 8),
    "descriptor_dropout": (NETWORK, 0.1),
}
"""For each field what else is set in both cases, and a value other than the default."""

OPTIMIZER = {
    "peak_rate": ({}, 1e-2),
    "weight_decay": ({}, 0.5),
    "warmup": ({}, 0.6),
    "clip_norm": ({}, 1e-3),
    "averaging": ({}, 0.9),
}

BEFORE = {"training.start_from": "before"}
CLASSES = {"data.source": "classes.npz"}
LONGER = {"training.max_steps": None, "training.epochs": 4, "optimizer.peak_rate": 0.5}
TRAINING = {
    "epochs": (LONGER, 2),
    "max_steps": ({}, 1),
    "max_minutes": (LONGER, 1e-6),
    "batch_size": ({}, 3),
    "batch_cells": ({}, 40),
    "bucket": ({}, True),
    "window": ({}, 2),
    "loss": ({}, "huber"),
    "class_weights": (CLASSES, "balanced"),
    "standardize": ({}, False),
    "patience": (LONGER, 1),
    "seed": ({}, 1),
    "start_from": ({}, "before"),
    "start_rate": (BEFORE, 0.5),
    "thaw": (BEFORE, "never"),
    "device": ({}, "gpu"),
    "precision": ({}, "bf16-mixed"),
    "resident": ({}, True),
    "loader_workers": ({}, 1),
    "keep_memory": ({}, False),
    "processes": ({}, 2),
    "compile": ({}, True),
    "logger": ({}, "csv"),
    "state_minutes": ({"training.keep_state": True}, 1e-9),
    "keep_state": ({}, True),
    "deterministic": ({}, False),
}

OBJECTIVES = {
    "masked": ({"data.source": "rows.csv", "data.target": ("y",)}, 1.0),
    "masked_share": (
        {"data.source": "rows.csv", "data.target": ("y",), "objectives.masked": 1.0}, 0.5
    ),
    "pairs": ({}, 1.0),
}  # fmt: skip

REFUSED = {
    "readout_cells": ("strip", {}, "all"),
    "pooling": ("strip", {}, "mean"),
    "readout_dropout": ("rings.npz", NO_LAYERS, 0.1),
    "theta_per_head": ("rings.npz", {}, True),
    "pair_updates": ("rings.npz", PAIRS, True),
    "reach": ("rings.npz", {"model.layers": 0}, "all"),
    "signed_width": ("rings.npz", {"model.layers": 0}, 2),
    "sign_invariant": ("rings.npz", {"data.encodings": "rwpe:2"}, True),
    "random_signs": ("rings.npz", {"model.sign_invariant": True}, False),
    "descriptor_head": ("rings.npz", {}, "network"),
    "descriptor_width": ("rings.npz", {"model.descriptor_head": "network"}, 8),
    "descriptor_dropout": ("rings.npz", {"model.descriptor_head": "network"}, 0.1),
}
"""Where a field of the model has no use: the source, what else is set, and a value."""


def rings_with_bridges():
    """Cycles of several lengths and two that share a path, whose faces share several edges."""
    graphs = []
    for size in range(4, 16):
        edges = [(i, (i + 1) % size) for i in range(size)]
        graphs.append([*edges, (0, size), (size, size + 1), (size + 1, size // 2)])
    return [cf.Graph.from_edges(edges) for edges in graphs]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A configuration of sources in the working folder, which it stands in."""
    folder = tmp_path_factory.mktemp("fields")
    graphs = rings_with_bridges()
    rows = np.arange(len(graphs))
    split = {"train": rows[:8], "val": rows[8:10], "test": rows[10:]}
    write_npz(folder / "rings.npz", graphs, rows.astype(float) ** 2, split)
    labels = (rows % 3 == 0).astype(int)
    write_npz(folder / "classes.npz", graphs, labels, split)
    points = np.array([(x, y, x * y) for x in range(6) for y in range(2)], float)
    write_off(folder / "strip" / "strip.off", points, [(n, n + 1, n + 2) for n in range(10)])
    (folder / "strip" / "strip.vertices.csv").write_text("\n".join(["y", *"123412341234"]))
    lines = [f"{'C' * n}O,{n},{'train' if n < 6 else 'val'}" for n in range(1, 9)]
    (folder / "rows.csv").write_text("\n".join(["smiles,y,split", *lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        config = override(
            RunConfig(),
            {
                "data.source": "rings.npz", "data.encodings": "bspe:2", "model.width": 16,
                "model.layers": 1, "model.heads": 2, "model.readout_layers": 1,
                "training.epochs": 1, "training.max_steps": 2, "training.batch_size": 4,
            },
        )  # fmt: skip
        cf.train(override(config, {"training.seed": 7}), folder / "before")
        yield config


@pytest.fixture(scope="module")
def prepared(base):
    """The materials of a configuration, gathered once for each source."""
    known = {}

    def of(config):
        if config.data.source not in known:
            known[config.data.source] = gather(config.data)
        return known[config.data.source]

    return of


def step(config, materials):
    """The names and shapes of the weights, and what the model says in training."""
    torch.manual_seed(0)
    model = Recipe.for_materials(config, materials).build()
    standardize_features(model, materials.complexes, materials.split["train"])
    told = model.train()(CellBatch.from_ragged(materials.complexes))
    return [(name, each.shape) for name, each in model.named_parameters()], told.tolist()


@pytest.mark.parametrize("field", MODEL)
def test_a_field_of_the_model_makes_another_model(field, base, prepared):
    others, value = MODEL[field]
    config = override(base, others)
    before = step(config, prepared(config))
    assert step(config, prepared(config)) == before
    assert step(override(config, {f"model.{field}": value}), prepared(config)) != before


@pytest.mark.parametrize("field", REFUSED)
def test_a_field_of_the_model_without_a_use_is_refused(field, base, tmp_path):
    source, others, value = REFUSED[field]
    config = override(base, {"data.source": source, **others, f"model.{field}": value})
    with pytest.raises(ValueError, match=rf"model\.{field} is of use .* only"):
        cf.train(config, tmp_path / "run")
    assert not (tmp_path / "run" / "config.json").exists()


def test_encodings_that_are_none_are_not_joined(base, tmp_path):
    config = override(base, {"model.position": "sum"})
    config = replace(config, data=cf.DataConfig(source=config.data.source))
    with pytest.raises(ValueError, match=r"model\.position is of use with positional encodings"):
        cf.train(config, tmp_path / "run", preparation=cf.Preparation(encodings=()))


class Learned:
    """The weights of trainings, what their loops were given and left, or why there are none."""

    def __init__(self, folder, patch):
        self.folder = folder
        self.known = {}
        self.given = []
        own_batches, own_options = fit.batches, fit.trainer_options

        def batches(complexes, *places, workers, **options):
            self.given.append(("batches", type(complexes).__name__, workers))
            return own_batches(complexes, *places, workers=0, **options)

        def options_on_a_gpu(config, world):
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(devices, "device_of", lambda _: "cuda")
                self.given.append(("strict", own_options(config, world)["deterministic"]))
            return own_options(config, world)

        @contextmanager
        def memory_kept():
            self.given.append("memory is kept")
            yield

        def launch(path, processes, *_):
            raise ValueError(f"{processes} processes are started")

        patch.setattr(fit, "SHARD", 2)
        patch.setattr(fit, "batches", batches)
        patch.setattr(fit, "trainer_options", options_on_a_gpu)
        patch.setattr(fit, "freed_memory_kept", memory_kept)
        patch.setattr(train_module, "launch", launch)
        patch.setattr(train_module, "write_summary", lambda *_: summary_of("rings", 0.0))
        patch.setattr(
            train_module, "compile_layers", lambda *_: self.given.append("layers are compiled")
        )
        patch.setattr(devices, "has_gpu", lambda: False)

    def __call__(self, config):
        if config not in self.known:
            self.known[config] = self.train(config)
        return self.known[config]

    def train(self, config):
        self.given.clear()
        run = self.folder / str(len([*self.folder.iterdir()]))
        try:
            cf.train(config, run)
        except ValueError as error:
            return str(error)
        told = {"resume.ckpt", "resume-before.ckpt", "tensorboard", "csv"}
        left = sorted(told & {path.name for path in run.iterdir()})
        return (run / "last.safetensors").read_bytes(), tuple(self.given), left


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield Learned(tmp_path_factory.mktemp("runs"), patch)


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (part, field)
        for part, cases in (
            ("optimizer", OPTIMIZER), ("training", TRAINING), ("objectives", OBJECTIVES)
        )
        for field in cases
    ],
)  # fmt: skip
def test_a_field_of_the_training_changes_what_is_learned(part, field, base, learned):
    cases = {"optimizer": OPTIMIZER, "training": TRAINING, "objectives": OBJECTIVES}
    others, value = cases[part][field]
    config = override(base, others)
    before = learned(config)
    assert not isinstance(before, str), before
    after = learned(override(config, {f"{part}.{field}": value}))
    assert after != before
    if isinstance(after, str):
        assert f"{part}.{field}" in after or field in after, after


def test_the_same_configuration_learns_the_same(base, learned):
    assert learned.train(base) == learned(base)


def test_weights_of_classes_without_classes_are_refused(base, learned):
    assert "class_weights" in learned(override(base, {"training.class_weights": "balanced"}))


def test_no_field_is_left_out():
    for kind, cases in ((ArchitectureConfig, MODEL), (OptimizerConfig, OPTIMIZER),
                        (TrainingConfig, TRAINING), (ObjectivesConfig, OBJECTIVES)):  # fmt: skip
        assert set(cases) == {field.name for field in fields(kind)}
        for field in fields(kind):
            assert cases[field.name][1] != field.default


def test_a_run_that_was_trained_on_a_gpu_predicts_where_there_is_none(monkeypatch):
    chosen = TrainingConfig(device="gpu")
    for found, accelerator, device in ((False, "auto", "cpu"), (True, "gpu", "cuda")):
        monkeypatch.setattr(lightning_options, "has_gpu", lambda found=found: found)
        monkeypatch.setattr(devices, "has_gpu", lambda found=found: found)
        monkeypatch.setattr("torch.cuda.is_available", lambda found=found: found)
        assert lightning_options.trainer_options(chosen, World())["accelerator"] == accelerator
        assert devices.prediction_device(chosen).type == device
