"""The hyperparameters of the paper (its table of architectures), and the default."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from cellformer.basics.suggestions import did_you_mean
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import (
    DataConfig,
    ObjectivesConfig,
    OptimizerConfig,
    RunConfig,
    TrainingConfig,
)


def _paper(
    *,
    attention: str,
    encoding: str,
    width: int,
    heads: int,
    batch_size: int,
    epochs: int,
    peak_rate: float,
    weight_decay: float,
    readout_layers: int,
    readout_dropout: float,
) -> RunConfig:
    """What the paper's three experiments share: everything not named here.

    Warm-up takes a tenth of the epochs in all three, so it follows a shortened schedule.
    """
    return RunConfig(
        data=DataConfig(lifting="cycle-basis", encodings=encoding, encoding_size=8),
        attention=attention,
        model=ArchitectureConfig(
            width=width,
            layers=12,
            heads=heads,
            dropout=0.0,
            attention_dropout=0.1,
            embedding_dropout=0.0,
            readout_layers=readout_layers,
            readout_dropout=readout_dropout,
            edge_signal="concat",
            final_norm=False,
        ),
        optimizer=OptimizerConfig(
            peak_rate=peak_rate, weight_decay=weight_decay, warmup=0.1, clip_norm=5.0
        ),
        training=TrainingConfig(
            epochs=epochs, batch_size=batch_size, loss="auto", standardize=False
        ),
    )


PRESETS: dict[str, RunConfig] = {
    "default": RunConfig(),
    "gcb-hard": _paper(
        attention="general-sparse",
        encoding="bspe",
        width=80,
        heads=8,
        batch_size=256,
        epochs=350,
        peak_rate=3e-4,
        weight_decay=0.01,
        readout_layers=1,
        readout_dropout=0.1,
    ),
    "molhiv": _paper(
        attention="pairwise-sparse",
        encoding="bspe",
        width=768,
        heads=32,
        batch_size=1024,
        epochs=200,
        peak_rate=2e-4,
        weight_decay=1e-5,
        readout_layers=3,
        readout_dropout=0.0,
    ),
    "zinc": _paper(
        attention="pairwise-mixed",
        encoding="rwbspe",
        width=96,
        heads=8,
        batch_size=256,
        epochs=10_000,
        peak_rate=2e-4,
        weight_decay=0.01,
        readout_layers=2,
        readout_dropout=0.0,
    ),
}
"""By name, each with the attention and the encoding that did best on its data set in the paper;
every other attention and encoding goes with each too (``attention``, ``data.encodings``)."""


PRETRAINING = RunConfig(
    data=DataConfig(
        computed_targets=True,
        computed_fragments=512,
        molecule_descriptors="none",
        split="random",
        fractions=(0.97, 0.03, 0.0),
    ),
    # The usual readout narrows to a quarter of the width, too little for hundreds of targets.
    model=ArchitectureConfig(readout_layers=0),
    training=TrainingConfig(epochs=10, batch_size=128, loss="huber"),
    objectives=ObjectivesConfig(masked=0.3, pairs=0.1),
)
"""Where the values of ``cellformer pretrain`` start from: what it learns needs no labels."""


def flatten(config: object, prefix: str = "") -> dict[str, Any]:
    """The values of a tree of dataclasses under dotted names."""
    assert dataclasses.is_dataclass(config)
    flat: dict[str, Any] = {}
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if dataclasses.is_dataclass(value):
            flat.update(flatten(value, f"{prefix}{item.name}."))
        else:
            flat[prefix + item.name] = value
    return flat


def override(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """The configuration with other values for some of the names that `flatten` gives.

    Raises ValueError for a name that is no field, and where the values do not fit.
    """
    known = flatten(config)
    for name in values:
        if name not in known:
            raise ValueError(f"there is no field {name}{did_you_mean(name, known)}")
    own = {name: value for name, value in values.items() if "." not in name}
    for part in {name.partition(".")[0] for name in values if "." in name}:
        inner = {n.partition(".")[2]: v for n, v in values.items() if n.startswith(f"{part}.")}
        own[part] = dataclasses.replace(getattr(config, part), **inner)
    return dataclasses.replace(config, **own)
