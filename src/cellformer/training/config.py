"""Everything that determines a training, as one tree of frozen dataclasses.

The command line and the configuration file are derived from this tree. Importing it is cheap.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cellformer.basics.checks import at_least, positive, share
from cellformer.basics.decoding import decoded
from cellformer.basics.keys import check_given, check_keys
from cellformer.basics.sealed import read_sealed
from cellformer.data.readers.catalog import READERS
from cellformer.encodings.catalog import ENCODINGS, encoding_parts
from cellformer.lifting.catalog import LIFTINGS
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig
from cellformer.training.catalogs import LOSSES, METRICS

FRACTIONS = (0.8, 0.1, 0.1)
ENCODING_SIZE = 8
LARGEST_SEED = 2**63 - 1
"""What generators of PyTorch take."""


@dataclass(frozen=True)
class PreparationConfig:
    """How a row of a source becomes a complex."""

    smiles_column: str | None = None
    """The column of SMILES strings in a table; by default found by its name."""
    separator: str | None = None
    """What separates the cells of a text table; by default found out."""
    charset: str | None = None
    """The encoding of a text table, such as cp1250; by default found out."""
    censored: Literal["refuse", "bound", "learn"] = "refuse"
    """What a value such as >5 or <0.1 in a column of numbers is: refused, taken for its bound, or
    learned as a bound, which costs nothing where a prediction keeps to it."""
    features: Literal["auto", "standard", "ogb", "zinc"] = "auto"
    """Features of molecules given as SMILES; auto: those of the set, or standard (OGB's, with
    stereochemistry that does not depend on the order of the atoms)."""
    fragments: Literal["all", "largest"] = "all"
    """Which fragments of a molecule count: all of a salt, or the largest, in training and
    prediction alike."""
    descriptors: tuple[str, ...] = ()
    """Columns of numbers of a table that describe its molecules, beside their structure; new
    molecules need them too. Where a cell is blank, the mean of the training part stands in."""
    molecule_descriptors: Literal["auto", "none", "morgan", "fingerprints"] = "auto"
    """What is computed of molecules given as SMILES as wholes: morgan counts the fragments within
    two bonds of each atom (ECFP4); fingerprints counts pairs of atoms, paths and fragments by their
    chemical role too, and adds RDKit's physical values, log P among them. auto: fingerprints for a
    table, none elsewhere."""
    ring_features: bool | Literal["numbers"] = False
    """Whether 2-cells get features: size and neighbors, and in molecules with the features standard
    or ogb also aromaticity, heteroatoms, multiple bonds and conjugation. With numbers the counts
    among them are no categories, so that a size that is rarely learned has its place too."""
    hodge_parts: bool = False
    """Whether features of cells that flip with their orientation, such as flows along edges, are
    followed by their Hodge decomposition: gradient, curl, and what goes around holes."""
    lifting: str = "auto"
    """How a graph becomes a complex; auto takes the cells that the source brings, such as the
    faces of meshes, and otherwise induced-cycles. All but cycle-basis are independent of the
    labeling."""
    max_length: int | None = None
    """Longest cycle that is filled; by default 8 with induced-cycles, any with rings."""
    max_dim: int | None = None
    """Highest rank of cell that cliques and point clouds make; by default 2."""
    neighbors: int | None = None
    """Nearest points that a point of a cloud is joined to; by default 6."""
    radius: float | None = None
    """Distance up to which the points of a cloud are joined instead, in their own units."""
    degenerate: Literal["fail", "drop"] = "fail"
    """What happens to faces of a mesh with fewer than three vertices, or with one twice."""
    over_limit: Literal["fail", "skip", "truncate"] = "fail"
    """What happens to a graph that is over its lifting's limits."""
    encodings: str = "rwbspe+rwpe"
    """Positional encodings, joined by +; name:size sets a size."""
    encoding_size: int | None = None
    """Columns of each encoding without a size of its own; by default 8."""
    patch_cells: int | None = None
    """Cells of a patch, about, where large complexes whose cells are learned are cut into such; by
    default they stay whole. The steps of training and prediction then consist of patches."""
    patch_halo: int | None = None
    """How many steps around its own cells a patch reaches, from a cell to those in its boundary or
    back; by default as far as a cell of the model sees, so that cutting changes no prediction."""
    reader: str | None = None
    """Reads the source in place of the readers that come with this package: a function of yours
    from a path to a set of graphs."""

    def __post_init__(self) -> None:
        for name, least in (("encoding_size", 1), ("max_dim", 1), ("neighbors", 1),
                            ("max_length", 3), ("patch_cells", 1), ("patch_halo", 0)):  # fmt: skip
            value = getattr(self, name)
            if value is not None:
                at_least(least, **{name: value})
        if self.radius is not None:
            positive(**{"data.radius": self.radius})
        if self.radius is not None and self.neighbors is not None:
            raise ValueError("data.neighbors and data.radius contradict each other; choose one")
        if self.separator is not None and len(self.separator) != 1:
            raise ValueError(f"data.separator must be one character, got {self.separator!r}")
        LIFTINGS.check(self.lifting)
        if self.max_length is not None and not LIFTINGS.takes(self.lifting, "max_length"):
            raise ValueError(f"data.max_length is of no use with the lifting {self.lifting}")
        if self.over_limit == "truncate" and not LIFTINGS.takes(self.lifting, "over_limit"):
            raise ValueError(
                f"data.over_limit=truncate is of no use with the lifting {self.lifting}"
            )
        if self.ring_features and self.lifting == "skeleton":
            raise ValueError("data.ring_features needs 2-cells, which the skeleton does not have")
        sizes = [ENCODINGS.takes(e.name, "encoding_size") and "size" not in e.arguments
                 for e in encoding_parts(self.encodings)]  # fmt: skip
        # The default, which presets name, is not refused: encodings of other sizes replace theirs.
        if self.encoding_size not in (None, ENCODING_SIZE) and not any(sizes):
            raise ValueError(
                "data.encoding_size is of no use where each of data.encodings has a size of its own"
            )
        if self.patch_halo is not None and self.patch_cells is None:
            raise ValueError("data.patch_halo is of no use without data.patch_cells")
        if self.reader is not None:
            READERS.check(self.reader)


@dataclass(frozen=True)
class DataConfig(PreparationConfig):
    """Where the complexes come from, how they are made, and which of them train."""

    source: str = "nci"
    """Name of a data set, or path of an .npz file, of a table (.csv, .tsv, .parquet, .xlsx), of
    molecules (.sdf, .smi) or of a folder of raw files, meshes or point clouds."""
    more_sources: tuple[str, ...] = ()
    """Further sources of the same kind, whose rows are learned too. Where the first one brings a
    split, theirs train."""
    leave_out: tuple[str, ...] = ()
    """Sources whose molecules are not learned, whatever form they have here: those by which the
    model, or one that begins with it, is to be judged."""
    computed_targets: bool = False
    """Whether what RDKit computes of molecules is learned in place of the targets of the source,
    each molecule once; of other graphs, the numbers of their vertices and edges."""
    computed_fragments: int = 0
    """How many counts of fragments within two bonds of an atom are among these targets, of
    molecules, beside RDKit's descriptors."""
    target: tuple[str, ...] = ()
    """Columns to learn; needed for a table, chooses among several targets elsewhere."""
    kind: Literal["auto", "regression", "binary", "multiclass"] = "auto"
    """What is learned; auto reads it off the targets."""
    targets_of: Literal["auto", "atoms", "bonds", "graphs", "vertices", "edges"] = "auto"
    """Whose values the lists in the cells of a table are, atoms or bonds, or those of PyG's data,
    graphs, vertices or edges; auto: their lengths say it."""
    metric: str = "auto"
    """What chooses the best epoch and is reported first; auto: mae, rocauc or accuracy."""
    on_error: Literal["skip", "fail"] = "skip"
    """What happens at a row without a valid molecule: it is left out, or nothing is trained."""
    split: Literal["auto", "random", "scaffold"] = "auto"
    """auto takes the split that the data set brings, otherwise a random one."""
    split_column: str | None = None
    """The column of a table that says train, val or test; by default one named split."""
    val_file: str | None = None
    """A file like the source whose rows validate."""
    test_file: str | None = None
    """A file like the source whose rows are the test part."""
    split_seed: int | None = None
    """Seed of a random split; by default 0."""
    fractions: tuple[float, float, float] | None = None
    """Training, validation and test parts of a split made here; by default 0.8, 0.1, 0.1."""
    folds: int | None = None
    """Parts of a cross-validation (train --folds runs through them), by split and split_seed."""
    fold: int = 0
    """The part that is the test part, from 0; the next one validates, the others train."""
    duplicates: Literal["together", "apart"] = "together"
    """Whether all rows of one molecule fall into the same part of a random split."""
    workers: int = 0
    """Processes that prepare complexes; 0 prepares in this one."""

    @property
    def shares(self) -> tuple[float, float, float]:
        """The parts of a split made here, given or not."""
        return self.fractions or FRACTIONS

    @property
    def seed_of_split(self) -> int:
        """The seed of a random split, given or not."""
        return self.split_seed or 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric != "auto":
            METRICS.check(self.metric)
        shares = self.shares
        if min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
            raise ValueError(
                "data.fractions must be three parts of 1, such as 0.8,0.1,0.1, got "
                + ",".join(map(str, shares))
            )
        at_least(0, workers=self.workers, **{"data.split_seed": self.seed_of_split})
        if self.folds is not None:
            at_least(3, folds=self.folds)
        if not 0 <= self.fold < (self.folds or 1):
            raise ValueError(
                f"data.fold must be from 0 to {self.folds - 1}, got {self.fold}"
                if self.folds
                else "data.fold is one of data.folds parts; say how many"
            )
        if self.folds is not None and self.fractions is not None:
            raise ValueError("data.fractions are of no use with data.folds, which are alike")
        at_least(0, computed_fragments=self.computed_fragments)
        if self.computed_targets:
            self._check_computed()
        elif self.computed_fragments:
            raise ValueError("data.computed_fragments are of no use without data.computed_targets")
        if self.more_sources and self.split_column is not None:
            raise ValueError("data.split_column is of no use with data.more_sources")
        if self.split == "scaffold":
            for name, given in (("split_seed", self.split_seed is not None and not self.folds),
                                ("duplicates", self.duplicates == "apart")):  # fmt: skip
                if given:
                    raise ValueError(f"data.{name} is of no use with the scaffold split")
        ways = {
            "split": None if self.split == "auto" else self.split,
            "split_column": self.split_column,
            "val_file or test_file": self.val_file or self.test_file,
        }
        chosen = [f"data.{way}" for way, value in ways.items() if value is not None]
        if self.folds is not None:
            chosen = [way for way in chosen if way != "data.split"] + ["data.folds"]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} contradict each other; choose one")

    def _check_computed(self) -> None:
        given = {
            "target": bool(self.target),
            "kind": self.kind != "auto",
            "targets_of": self.targets_of != "auto",
            "censored": self.censored != "refuse" and not self.descriptors,
        }
        for name, is_given in given.items():
            if is_given:
                raise ValueError(f"data.{name} is of no use with data.computed_targets")
        if self.molecule_descriptors != "none":
            raise ValueError(
                "data.computed_targets are descriptors of molecules themselves, so that others "
                "would give them away; set data.molecule_descriptors to none"
            )


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
    averaging: float = 0.0
    """Decay of an exponential moving average of the weights over the steps, which is validated,
    kept and predicts; 0: the weights themselves."""

    def __post_init__(self) -> None:
        share(**{"optimizer.warmup": self.warmup, "optimizer.averaging": self.averaging})
        if self.averaging == 1:
            raise ValueError("optimizer.averaging must be less than 1, where nothing is learned")
        if self.peak_rate <= 0 or self.weight_decay < 0 or self.clip_norm < 0:
            raise ValueError(
                "optimizer.peak_rate must be positive, weight_decay and clip_norm not negative"
            )


@dataclass(frozen=True)
class TrainingConfig:
    """The loop."""

    epochs: int | Literal["auto"] = "auto"
    """Passes over the training set; the schedule is laid out for them. auto: 30, and more, up to
    300, where these are fewer than 1200 steps; 300 steps where kernels answer beside the cells."""
    max_steps: int | None = None
    """Steps after which training ends even if epochs are left; shortens the schedule."""
    max_minutes: float | None = None
    """Minutes after which training ends, with a last validation, even if epochs are left; the
    schedule stays as it is."""
    batch_size: int = 64
    """Complexes per step, all processes together; the most, where batch_cells is given."""
    batch_cells: int | None = None
    """Most cells per step, all processes together; a complex with more is a step of its own."""
    bucket: bool = False
    """Whether the complexes of a step are of like size; steps still come in random order."""
    window: int | None = None
    """Complexes that are shuffled at a time, for sets larger than the memory: shards come in random
    order, as many together as have so many complexes. All are shuffled at once unless it is set."""
    loss: str = "auto"
    """What is minimized. auto: l1 for regression, mse where the metric is rmse or r2, cross-entropy
    for classes. gaussian and quantile(level=0.9) learn the uncertainty of values too."""
    class_weights: Literal["equal", "balanced"] | tuple[float, ...] = "equal"
    """Weight of each class in the loss, in the order of the labels; balanced: by their rarity."""
    standardize: bool = True
    """Whether regression targets are scaled to mean 0 and deviation 1 within training."""
    patience: int | None = None
    """Epochs without a better validation score after which training stops early."""
    seed: int = 0
    """Seed of weights, order, dropout and random signs."""
    start_from: str | None = None
    """A run folder, or the weights of one, to begin with what has the same shapes there."""
    start_rate: float = 1.0
    """What the learning rate is multiplied by for weights that come from there."""
    thaw: Literal["at-once", "gradual", "never"] = "at-once"
    """When weights that come from there learn: from the first step on; one layer after the other,
    the last one first, all after half of the steps; or never. The readout always does."""
    loader_workers: int = 0
    """Processes that assemble batches; 0 assembles them in this one."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where the model runs."""
    resident: bool | Literal["auto"] = "auto"
    """Whether all complexes are kept on the device, and batches put together there; auto: on a
    GPU, where they take up at most a quarter of its free memory and loader_workers is 0."""
    precision: Literal["32", "bf16-mixed"] = "32"
    """Numbers used in training; predictions are always made in 32 bits."""
    keep_memory: bool = True
    """On a CPU, whether memory that a step frees is kept for the next one: up to twice as fast for
    large batches, for up to twice the memory."""
    processes: int = 1
    """Processes on this machine that train together, each on a share of every batch, on a GPU of
    its own or with its part of the cores; torchrun and SLURM start them themselves."""
    compile: bool = False
    """Whether layers are compiled by torch.compile; needs a C++ compiler, and an attention that
    is sparse everywhere. It takes a minute and was of no use on a CPU."""
    logger: Literal["tensorboard", "csv", "wandb", "mlflow", "none"] = "tensorboard"
    """Where losses, scores and learning rates are told while training, beside curve.csv: in files
    of the run folder, or by Weights & Biases or MLflow, whose packages must be installed."""
    state_minutes: float = 10.0
    """Minutes after which the state of an epoch that still runs is kept, so that a training that is
    killed goes on from there; one that is stopped by a signal goes on from its last step."""
    keep_state: bool = False
    """Whether a finished run keeps resume.ckpt, the state of its training, without which it cannot
    be trained on to more epochs; the two states are six times as large as the weights."""
    deterministic: bool = True
    """Same seed, same bits; on a GPU this refuses operations that are not reproducible."""

    @property
    def fixed_epochs(self) -> int | None:
        """The number of epochs, where it does not follow from the data."""
        return None if self.epochs == "auto" else self.epochs

    def __post_init__(self) -> None:
        if self.loss != "auto":
            LOSSES.check(self.loss)
        at_least(1, batch_size=self.batch_size, processes=self.processes)
        if self.epochs != "auto":
            at_least(1, epochs=self.epochs)
        at_least(0, loader_workers=self.loader_workers)
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ValueError(f"training.seed must be from 0 to {LARGEST_SEED}, got {self.seed}")
        positive(**{"training.start_rate": self.start_rate})
        if self.start_from is None and (self.start_rate != 1 or self.thaw != "at-once"):
            raise ValueError(
                "training.start_rate and training.thaw are of no use without training.start_from"
            )
        if self.thaw == "never" and self.start_rate != 1:
            raise ValueError("training.start_rate is of no use with training.thaw=never")
        positive(**{"training.state_minutes": self.state_minutes})
        if self.max_minutes is not None:
            positive(max_minutes=self.max_minutes)
        if self.resident is True and self.loader_workers:
            raise ValueError("training.resident leaves nothing to do for training.loader_workers")
        if isinstance(self.class_weights, tuple) and not all(w > 0 for w in self.class_weights):
            raise ValueError(f"class_weights must be positive, got {self.class_weights}")
        for name in ("max_steps", "patience", "batch_cells", "window"):
            value = getattr(self, name)
            if value is not None:
                at_least(1, **{name: value})


@dataclass(frozen=True)
class ObjectivesConfig:
    """What is learned beside the targets, from the complexes themselves."""

    masked: float = 0.0
    """Weight of guessing the features of cells that are hidden from the model; 0: none are."""
    masked_share: float = 0.15
    """Part of the cells with features, of every rank, that are hidden in each step."""
    pairs: float = 0.0
    """Weight of guessing how far apart two vertices are, and whether they share a 2-cell, from the
    vectors of both; 0: it is not learned."""

    def __post_init__(self) -> None:
        for name in ("masked", "pairs"):
            if getattr(self, name) < 0:
                raise ValueError(f"objectives.{name} must not be negative")
        if not 0 < self.masked_share < 1:
            raise ValueError(
                f"objectives.masked_share must lie between 0 and 1, got {self.masked_share}"
            )
        if not self.masked and self.masked_share != ObjectivesConfig.masked_share:
            raise ValueError("objectives.masked_share is of no use without objectives.masked")


@dataclass(frozen=True)
class RunConfig:
    """One training."""

    data: DataConfig = field(default_factory=DataConfig)
    """The data."""
    attention: str = "general-sparse"
    """Who attends to whom (the paper, sections on pairwise and general attention)."""
    model: ArchitectureConfig = field(default_factory=ArchitectureConfig)
    """The model."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    """The optimizer."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """The loop."""
    objectives: ObjectivesConfig = field(default_factory=ObjectivesConfig)
    """What is learned beside the targets."""

    def __post_init__(self) -> None:
        ATTENTIONS.check(self.attention)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> "RunConfig":
        """Reads the config.json of a run; raises ValueError naming file and field.

        One that was edited is damaged as long as it has its old checksum (see `read_sealed`).
        """
        try:
            values = read_sealed(Path(path))
        except OSError as error:
            raise ValueError(f"{path}: cannot be read as a configuration ({error})") from error
        return cls.from_values(values, str(path))

    @classmethod
    def from_values(cls, values: object, where: str) -> "RunConfig":
        """Reads the fields as config.json holds them; ``where`` that was found stands in errors."""
        check_keys(RunConfig, values, where)
        assert isinstance(values, dict)
        check_given(RunConfig, values, where)
        if isinstance(values.get("data"), dict) and "reader" not in values["data"]:
            values = values | {"data": _of_before(values["data"])}
        return decoded(RunConfig, values, where, partial=True)


def _of_before(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of data as earlier versions wrote them, which told defaults that are now unset."""
    defaults = {"max_dim": 2, "neighbors": 6, "encoding_size": ENCODING_SIZE, "split_seed": 0,
                "fractions": list(FRACTIONS)}  # fmt: skip
    unset = {name: None for name, value in defaults.items() if data.get(name) == value}
    return {"molecule_descriptors": "none"} | data | unset
