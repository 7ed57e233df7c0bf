"""Everything that determines a training, as one tree of frozen dataclasses.

The command line and the configuration file are derived from this tree. Importing it is cheap.
"""

import dataclasses
import difflib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from jsonargparse import ArgumentError, ArgumentParser

from cellformer.model.config import ArchitectureConfig, AttentionName

LiftingName = Literal["auto", "skeleton", "cycle-basis", "induced-cycles", "rings", "cliques"]


@dataclass(frozen=True)
class DataConfig:
    """Where the complexes come from and how they are made."""

    source: str = "nci"
    """Name of a data set, or path of an .npz or .csv file or of a folder of raw files."""
    target: tuple[str, ...] = ()
    """Columns to learn; needed for a table, chooses among several targets elsewhere."""
    kind: Literal["auto", "regression", "binary", "multiclass"] = "auto"
    """What is learned; auto reads it off the targets."""
    metric: Literal["auto", "mae", "rmse", "accuracy", "rocauc"] = "auto"
    """What chooses the best epoch and is reported first; auto: mae, rocauc or accuracy."""
    smiles_column: str | None = None
    """The column of SMILES strings in a table; by default found by its name."""
    features: Literal["auto", "standard", "ogb", "zinc"] = "auto"
    """Features of molecules given as SMILES; auto: those of the set, or standard (OGB's, with
    stereochemistry that does not depend on the order of the atoms)."""
    ring_features: bool = False
    """Whether the rings of molecules, as 2-cells, get features: size, aromaticity and others."""
    lifting: LiftingName = "auto"
    """How a graph becomes a complex; auto takes the cells that the source brings, such as the
    faces of meshes, and otherwise induced-cycles. All but cycle-basis are independent of the
    labeling."""
    max_length: int | None = None
    """Longest cycle that is filled; by default 8 with induced-cycles, any with rings."""
    max_dim: int = 2
    """Highest rank of cell that cliques makes."""
    over_limit: Literal["fail", "skip", "truncate"] = "fail"
    """What happens to a graph that is over its lifting's limits."""
    encodings: str = "rwbspe+rwpe"
    """Names joined by +: zeros, bspe, rwbspe, rwpe, hodgelap, slepians; name:size sets a size."""
    encoding_size: int = 8
    """Columns of each encoding without a size of its own."""
    split: Literal["auto", "random", "scaffold"] = "auto"
    """auto takes the split that the data set brings, otherwise a random one."""
    split_seed: int = 0
    """Seed of a random split."""
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """Training, validation and test parts of a split made here."""
    workers: int = 0
    """Processes that prepare complexes; 0 prepares in this one."""

    def __post_init__(self) -> None:
        if min(self.fractions) < 0 or abs(sum(self.fractions) - 1) > 1e-6:
            raise ValueError(f"data.fractions must be three parts of 1, got {self.fractions}")
        _at_least(1, encoding_size=self.encoding_size, max_dim=self.max_dim)
        if self.max_length is not None:
            _at_least(3, max_length=self.max_length)
        _at_least(0, workers=self.workers)


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW with a linear warm-up and a cosine descent to zero, per step."""

    peak_rate: float = 1e-3
    """Learning rate at the end of the warm-up."""
    weight_decay: float = 0.01
    """Decoupled weight decay."""
    warmup: float = 0.1
    """Part of all steps in which the rate rises."""
    clip_norm: float = 5.0
    """Largest gradient norm; 0 does not clip."""

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < 1:
            raise ValueError(f"optimizer.warmup must be in [0, 1), got {self.warmup}")
        if self.peak_rate <= 0 or self.weight_decay < 0 or self.clip_norm < 0:
            raise ValueError(
                "optimizer.peak_rate must be positive, weight_decay and clip_norm not negative"
            )


@dataclass(frozen=True)
class TrainingConfig:
    """The loop."""

    epochs: int = 30
    """Passes over the training set; the schedule is laid out for them."""
    max_steps: int | None = None
    """Steps after which training ends even if epochs are left; shortens the schedule."""
    batch_size: int = 64
    """Complexes per step."""
    loss: Literal["auto", "l1", "mse", "huber"] = "auto"
    """auto: l1 for regression, cross-entropy for classes; the others are for regression."""
    standardize: bool = True
    """Whether regression targets are scaled to mean 0 and deviation 1 within training."""
    patience: int | None = None
    """Epochs without a better validation score after which training stops early."""
    seed: int = 0
    """Seed of weights, order, dropout and random signs."""
    loader_workers: int = 0
    """Processes that assemble batches; 0 assembles them in this one."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where the model runs."""
    precision: Literal["32", "bf16-mixed"] = "32"
    """Numbers used in training; predictions are always made in 32 bits."""
    deterministic: bool = True
    """Same seed, same bits; on a GPU this refuses operations that are not reproducible."""

    def __post_init__(self) -> None:
        _at_least(1, epochs=self.epochs, batch_size=self.batch_size)
        _at_least(0, loader_workers=self.loader_workers)
        for name in ("max_steps", "patience"):
            value = getattr(self, name)
            if value is not None:
                _at_least(1, **{name: value})


@dataclass(frozen=True)
class RunConfig:
    """One training."""

    data: DataConfig = field(default_factory=DataConfig)
    """The data."""
    attention: AttentionName = "general-sparse"
    """Who attends to whom (the paper, sections on pairwise and general attention)."""
    model: ArchitectureConfig = field(default_factory=ArchitectureConfig)
    """The model."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    """The optimizer."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """The loop."""

    @classmethod
    def from_json(cls, path: Path) -> "RunConfig":
        """Reads the config.json of a run; raises ValueError naming file and field."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: cannot be read as a configuration ({error})") from error
        check_keys(RunConfig, values, str(path))
        parser = ArgumentParser(exit_on_error=False)
        parser.add_argument("--run", type=RunConfig)
        try:
            run = parser.instantiate(parser.parse_object({"run": values})).run
        except (ArgumentError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
        assert isinstance(run, RunConfig)
        return run


def check_keys(config: type, values: object, where: str, prefix: str = "") -> None:
    """Raises ValueError, with the nearest right name, for a key that the dataclass lacks."""
    if not isinstance(values, dict):
        raise ValueError(f"{where}: {prefix.rstrip('.') or 'the file'} must be a mapping of fields")
    fields = {item.name: item.type for item in dataclasses.fields(config)}
    for key, value in values.items():
        if key not in fields:
            near = difflib.get_close_matches(str(key), fields, n=1, cutoff=0.5)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"known: {', '.join(fields)}"
            raise ValueError(f"{where}: there is no field {prefix}{key}; {hint}")
        kind = fields[key]
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            check_keys(kind, value, where, f"{prefix}{key}.")


def _at_least(lowest: int, **values: int) -> None:
    for name, value in values.items():
        if value < lowest:
            raise ValueError(f"{name} must be at least {lowest}, got {value}")
