"""The configuration of a model: what a user chooses, and what the data decide."""

# Only the standard library is imported here: the command line reads these fields for its help.
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from cellformer.basics.checks import at_least, one_of, share
from cellformer.basics.keys import check_complete, check_keys
from cellformer.model.catalogs import READOUTS

if TYPE_CHECKING:
    from cellformer.complexes.batches.batch import CellBatch
    from cellformer.complexes.descriptors import Descriptors
    from cellformer.complexes.many.ragged import RaggedComplexes

ReadoutCells: TypeAlias = Literal["vertices", "all"]
Pooling: TypeAlias = Literal["sum", "mean"]
Position: TypeAlias = Literal["concat", "sum"]
EdgeSignal: TypeAlias = Literal["sum", "concat"]
NeighborWeights: TypeAlias = Literal["counts", "binary"]
Norm: TypeAlias = Literal["layer", "rms", "batch"]
DegreeScaling: TypeAlias = Literal["none", "log", "linear"]
DescriptorHead: TypeAlias = Literal["kernel", "network"]
ALL = "all"
"""What stands for the whole complex in ``reach``."""


@dataclass(frozen=True)
class ArchitectureConfig:
    """What a user chooses about a model.

    Source: the paper, appendix "Architecture details and experiments", for the quantities of its
    table. Raises ValueError, naming the field, where a value is out of range.

    Args:
        width: Columns of every cell's hidden state; a multiple of heads.
        layers: Number of transformer layers.
        heads: Number of attention heads.
        feedforward_width: Inner columns of the feed-forward blocks; as wide as width if not set.
        dropout: Dropout of attention outputs and in the feed-forward blocks.
        attention_dropout: Dropout of attention weights.
        embedding_dropout: Dropout of the embedded cells before the first layer.
        readout: What makes a prediction of the cells: a network on each, whose results are pooled
            (the paper), or one of your own.
        readout_layers: Hidden layers of the readout's network, each half as wide as the one before.
        readout_dropout: Dropout in the readout.
        readout_cells: Which cells are read out, the vertices (the paper) or all.
        pooling: Whether a complex is the sum (the paper) or the mean of its cells' readouts.
        position: How encodings join the features, the paper's ConcatPE or SumPE.
        edge_signal: What edges without features start from, the sum of their endpoints'
            embeddings, or both side by side, lower vertex first (the paper, for GCB), which
            depends on the numbering of the vertices.
        neighbor_weights: Whether a neighborhood's entries count shared cells or are all 1.
        scale_scores: Whether scores are divided by the square root of the head width.
        projection_bias: Whether queries, keys and values have a bias.
        output_projection: Whether a linear map follows the concatenated heads.
        theta_per_head: Whether dense attention learns one theta per head instead of one.
        final_norm: Whether a norm precedes the readout (the paper has none).
        norm: What precedes attention and feed-forward blocks: layer norm (the paper), the root mean
            square, or batch norm over the cells of a batch.
        degree_scaling: What multiplies the average that a cell receives along an arrow: nothing
            (the paper), or for each column a line in the logarithm of its number of neighbors, or
            in this number, which makes sums possible.
        gate: Whether a cell decides, column by column, how much of it to take.
        reach: How far the heads of general-sparse attention see, for each share of them a number
            of hops, 1 for the neighborhood alone (the paper), or ``all`` for the whole complex, as
            in ``1,1,2,all``.
        virtual_cell: Whether one more cell for each complex reads all cells between the layers and
            is added to each.
        layer_dropout: Part of the complexes that leave out the last layer while training; earlier
            ones are left out less often, in proportion (stochastic depth).
        signed_width: Columns of every cell's hidden state beside ``width`` that change their sign
            with the orientation of the cell, a multiple of heads; 0 for none (the paper).
            Attention then knows whether two cells are oriented alike, and reversing a cell changes
            no prediction.
        pair_width: Columns of the vector that describes each pair of cells that attend, from which
            scores get a bias and values a term; 0 for none (the paper). In dense attention it
            stands in place of theta N.
        pair_steps: Up to how many steps of a walk from cell to cell are known of a pair.
        pair_values: Columns that each head receives of the pairs, beside those of the values.
        pair_updates: Whether the vectors of pairs learn between the layers from what their two
            cells have become.
        sign_invariant: Whether a network to which signs make no difference reads the encodings
            whose signs are ambiguous (SignNet), which nothing is then drawn of.
        random_signs: Whether training draws the ambiguous signs of encodings at random, where
            there are any.
        descriptor_head: What stands beside the transformer where counts describe complexes: a
            regression by kernels over the complexes of the training part, or a network.
        descriptor_width: Hidden columns of this network.
        descriptor_dropout: Dropout of these; two fifths as much of the counts themselves.
    """

    width: int = 64
    layers: int = 4
    heads: int = 8
    feedforward_width: int | None = None
    dropout: float = 0.0
    attention_dropout: float = 0.1
    embedding_dropout: float = 0.0
    readout: str = "network"
    readout_layers: int = 2
    readout_dropout: float = 0.0
    readout_cells: ReadoutCells = "vertices"
    pooling: Pooling = "sum"
    position: Position = "concat"
    edge_signal: EdgeSignal = "sum"
    neighbor_weights: NeighborWeights = "counts"
    scale_scores: bool = True
    projection_bias: bool = True
    output_projection: bool = True
    theta_per_head: bool = False
    final_norm: bool = False
    norm: Norm = "layer"
    degree_scaling: DegreeScaling = "none"
    gate: bool = False
    reach: str = "1"
    virtual_cell: bool = False
    layer_dropout: float = 0.0
    signed_width: int = 0
    pair_width: int = 0
    pair_steps: int = 8
    pair_values: int = 2
    pair_updates: bool = False
    sign_invariant: bool = False
    random_signs: bool = True
    descriptor_head: DescriptorHead = "kernel"
    descriptor_width: int = 512
    descriptor_dropout: float = 0.5

    def __post_init__(self) -> None:
        at_least(1, width=self.width, heads=self.heads, descriptor_width=self.descriptor_width)
        at_least(0, layers=self.layers, readout_layers=self.readout_layers)
        at_least(0, pair_width=self.pair_width, pair_values=self.pair_values)
        at_least(0, signed_width=self.signed_width)
        at_least(1, pair_steps=self.pair_steps)
        _check_pairs(self)
        _check_reach(self)
        _check_descriptors(self)
        if self.feedforward_width is not None:
            at_least(1, feedforward_width=self.feedforward_width)
        if self.width % self.heads:
            raise ValueError(f"width ({self.width}) must be a multiple of heads ({self.heads})")
        if self.signed_width % self.heads:
            raise ValueError(
                f"signed_width ({self.signed_width}) must be a multiple of heads ({self.heads})"
            )
        if self.signed_width and self.pair_width:
            raise ValueError(
                "signed_width and pair_width do not go together: what describes pairs forgets how "
                "cells are oriented; leave one of them out"
            )
        _check_readout(self)
        halved = READOUTS.takes(self.readout, "readout_layers")
        if halved and self.width >> self.readout_layers == 0:
            raise ValueError(
                f"width ({self.width}) cannot be halved readout_layers ({self.readout_layers}) "
                "times; use fewer readout_layers"
            )
        for name in ("dropout", "attention_dropout", "embedding_dropout", "readout_dropout",
                     "layer_dropout", "descriptor_dropout"):  # fmt: skip
            share(**{name: getattr(self, name)})
        for name, choices in (
            ("readout_cells", ReadoutCells),
            ("pooling", Pooling),
            ("position", Position),
            ("edge_signal", EdgeSignal),
            ("neighbor_weights", NeighborWeights),
            ("norm", Norm),
            ("degree_scaling", DegreeScaling),
            ("descriptor_head", DescriptorHead),
        ):
            one_of(get_args(choices), **{name: getattr(self, name)})

    @property
    def shares(self) -> tuple[float, ...]:
        """The hops that each share of the heads reaches; infinite for the whole complex."""
        return tuple(math.inf if part == ALL else float(part) for part in _parts(self.reach))

    @property
    def inner_width(self) -> int:
        """The inner columns of the feed-forward blocks."""
        return self.width if self.feedforward_width is None else self.feedforward_width


@dataclass(frozen=True)
class DescriptorShape:
    """The descriptors of complexes, and what of the training part scales their values.

    Args:
        counts: The number of counts.
        mean: Of each value, where it is known.
        deviation: Of each value, 1 where it does not vary.
        blank: Whether each value is unknown of some complexes.
    """

    counts: int = 0
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()
    blank: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        at_least(0, counts=self.counts)
        if not len(self.mean) == len(self.deviation) == len(self.blank):
            raise ValueError("mean, deviation and blank need one entry per value")
        if not all(deviation > 0 for deviation in self.deviation):
            raise ValueError(f"deviation must be positive, got {self.deviation}")

    @property
    def columns(self) -> int:
        """The number of counts and values."""
        return self.counts + len(self.mean)

    @classmethod
    def of(
        cls, descriptors: "Descriptors | None", chosen: Any = slice(None)
    ) -> "DescriptorShape | None":
        """Of the chosen complexes, those of the training part; None where there are no descriptors.

        One column is in memory at a time.
        """
        if descriptors is None or not sum(descriptors.columns):
            return None
        mean, deviation, blank = [], [], []
        for number in range(descriptors.columns[1]):
            column = descriptors.values[chosen, number].astype("float64")
            known = column[column == column]  # NaN equals nothing
            spread = float(known.std()) if len(known) else 0.0
            mean.append(float(known.mean()) if len(known) else 0.0)
            deviation.append(spread if spread > 0 else 1.0)
            blank.append(len(known) < len(column))
        return cls(descriptors.columns[0], tuple(mean), tuple(deviation), tuple(blank))


@dataclass(frozen=True)
class DataShape:
    """What the data decide about a model: the columns of each rank, and the outputs.

    Ranks past the end of ``categories`` have no features of their own.

    Args:
        categories: For each rank, the number of categories of each discrete column.
        continuous: For each rank, the number of continuous columns.
        encoding: The number of columns of the positional encodings.
        outputs: The number of values predicted for a complex, or for a cell.
        target_rank: The rank of the cells to predict for; not set: for complexes.
        descriptors: Those of the complexes, if they have any.
        flipping: The columns of the encodings that change their sign with the orientation of a
            cell.
        flips: Whether the values to predict for cells do.
        signed: For each rank, the number of features that do, where any rank has some.
        shared_signs: The columns of the encodings whose sign is ambiguous, but the same for all
            cells of a complex.
        rank_signs: Those where it is the same for all cells of a rank.
    """

    categories: tuple[tuple[int, ...], ...] = ((),)
    continuous: tuple[int, ...] = (0,)
    encoding: int = 0
    outputs: int = 1
    target_rank: int | None = None
    descriptors: DescriptorShape | None = None
    flipping: tuple[int, ...] = ()
    flips: bool = False
    signed: tuple[int, ...] = ()
    shared_signs: tuple[int, ...] = ()
    rank_signs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.flips and not self.target_rank:
            raise ValueError(
                "flips is for targets of cells of rank 1 or more; neither vertices nor complexes "
                "can be reversed"
            )
        for name in ("flipping", "shared_signs", "rank_signs"):
            named = getattr(self, name)
            if named and not 0 <= min(named) <= max(named) < self.encoding:
                raise ValueError(
                    f"{name} must name columns of the {self.encoding} of the encodings, from 0, "
                    f"got {named}"
                )
        if self.descriptors is not None and self.target_rank is not None:
            raise ValueError("descriptors of complexes are of no use where cells are predicted")
        if self.target_rank is not None and not 0 <= self.target_rank < len(self.categories):
            raise ValueError(
                f"target_rank must be one of the {len(self.categories)} ranks described, from 0, "
                f"got {self.target_rank}"
            )
        if self.signed and len(self.signed) != len(self.categories):
            raise ValueError(f"signed needs one entry per rank, got {self.signed}")
        if len(self.categories) != len(self.continuous) or not self.categories:
            raise ValueError(
                f"categories has {len(self.categories)} ranks and continuous "
                f"{len(self.continuous)}; both need one entry per rank, at least one"
            )
        for column in (number for rank in self.categories for number in rank):
            at_least(0, categories=column)
        for columns in self.continuous:
            at_least(0, continuous=columns)
        for columns in self.signed:
            at_least(0, signed=columns)
        at_least(0, encoding=self.encoding)
        at_least(1, outputs=self.outputs)

    @property
    def num_ranks(self) -> int:
        """The number of ranks described."""
        return len(self.categories)

    @classmethod
    def of(
        cls,
        data: "CellBatch | RaggedComplexes",
        outputs: int = 1,
        target_rank: int | None = None,
        flips: bool = False,
    ) -> "DataShape":
        """Counts the columns and categories that occur in a batch or a collection.

        Descriptors are left out; see `DescriptorShape.of`.
        """
        from cellformer.complexes.cell_complex import FLIPPING_SIGN, RANK_SIGN, SHARED_SIGN
        from cellformer.complexes.many.ragged import RaggedComplexes

        discrete: Sequence[Any]  # torch tensors or numpy arrays, read alike
        continuous: Sequence[Any]
        if isinstance(data, RaggedComplexes):
            discrete = [rank.discrete for rank in data.ranks]
            continuous = [rank.continuous for rank in data.ranks]
            signed = tuple(rank.signed.shape[1] for rank in data.ranks)
        else:
            discrete, continuous = data.discrete, data.continuous
            signed = tuple(int(rank.shape[1]) for rank in data.signed)
        kinds = data.encoding_signs.tolist()
        flipping, shared, of_rank = (
            tuple(column for column, kind in enumerate(kinds) if kind == wanted)
            for wanted in (FLIPPING_SIGN, SHARED_SIGN, RANK_SIGN)
        )
        return cls(
            tuple(
                tuple(
                    int(rank[:, column].max()) + 1 if len(rank) else 0
                    for column in range(rank.shape[1])
                )
                for rank in discrete
            ),
            tuple(int(rank.shape[1]) for rank in continuous),
            len(data.encoding_signs),
            outputs,
            target_rank,
            flipping=flipping,
            flips=flips,
            signed=signed if any(signed) else (),
            shared_signs=shared,
            rank_signs=of_rank,
        )


LATER: Mapping[str, Any] = {
    "descriptor_head": "network",
    "descriptor_width": 512,
    "descriptor_dropout": 0.5,
    "readout": "network",
    "norm": "layer",
    "degree_scaling": "none",
    "gate": False,
    "virtual_cell": False,
    "layer_dropout": 0.0,
    "reach": "1",
    "signed_width": 0,
    "pair_width": 0,
    "pair_steps": 8,
    "pair_values": 2,
    "pair_updates": False,
    "sign_invariant": False,
}
"""Fields of an architecture that came after the first descriptions of models, with what models
without them are: the only choice then, or something without effect."""


@dataclass(frozen=True)
class ModelConfig:
    """Everything that determines a model apart from its attention plan.

    Args:
        architecture: What a user chooses.
        data: What the data decide.
    """

    architecture: ArchitectureConfig = field(default_factory=ArchitectureConfig)
    data: DataShape = field(default_factory=DataShape)

    def __post_init__(self) -> None:
        if (self.data.flips or any(self.data.signed)) and not self.architecture.signed_width:
            what = "targets" if self.data.flips else "features"
            raise ValueError(
                f"the {what} change their sign with the orientation of their cell, and without "
                "model.signed_width no column of the model does; set it to a multiple of "
                f"model.heads ({self.architecture.heads}), such as {4 * self.architecture.heads}"
            )
        if (
            self.data.target_rank is not None
            and self.architecture.readout != ArchitectureConfig.readout
        ):
            raise ValueError(
                f"the readout {self.architecture.readout} makes predictions of complexes, and here "
                f"cells of rank {self.data.target_rank} are predicted; leave readout out"
            )

    @classmethod
    def for_batch(
        cls,
        batch: "CellBatch | RaggedComplexes",
        architecture: ArchitectureConfig | None = None,
        outputs: int = 1,
    ) -> "ModelConfig":
        """A configuration that fits a batch, or a whole collection.

        Categories that do not occur in ``batch`` are unknown to the model, so give it all the
        training data, or state a `DataShape` yourself.
        """
        return cls(architecture or ArchitectureConfig(), DataShape.of(batch, outputs))

    def to_dict(self) -> dict[str, Any]:
        """The configuration as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ModelConfig":
        """The inverse of `to_dict`, also after a way through JSON.

        Raises ValueError where a key is unknown (naming the nearest one) or missing.
        """
        check_keys(cls, values, "model")
        check_complete(cls, values, "model")
        architecture = {**LATER, **values["architecture"]}
        later = {"target_rank": None, "descriptors": None, "flipping": (), "flips": False,
                 "signed": (), "shared_signs": (), "rank_signs": ()}  # fmt: skip
        data = {**later, **values["data"]}
        check_complete(ArchitectureConfig, architecture, "architecture")
        check_complete(DataShape, data, "data")
        return cls(
            ArchitectureConfig(**architecture),
            DataShape(
                tuple(tuple(rank) for rank in data["categories"]),
                tuple(data["continuous"]),
                data["encoding"],
                data["outputs"],
                data["target_rank"],
                _descriptors_from(data["descriptors"]),
                tuple(data["flipping"]),
                data["flips"],
                tuple(data["signed"]),
                tuple(data["shared_signs"]),
                tuple(data["rank_signs"]),
            ),
        )


def _descriptors_from(values: Mapping[str, Any] | None) -> DescriptorShape | None:
    if values is None:
        return None
    check_keys(DescriptorShape, values, "descriptors")
    check_complete(DescriptorShape, values, "descriptors")
    columns = (tuple(values[name]) for name in ("mean", "deviation", "blank"))
    return DescriptorShape(values["counts"], *columns)


def _check_descriptors(chosen: ArchitectureConfig) -> None:
    if chosen.descriptor_head == "kernel":
        for entry in fields(chosen):
            of_network = entry.name in ("descriptor_width", "descriptor_dropout")
            if of_network and getattr(chosen, entry.name) != entry.default:
                raise ValueError(f"{entry.name} is of no use without descriptor_head=network")


def _check_pairs(chosen: ArchitectureConfig) -> None:
    if not chosen.pair_width:
        for entry in fields(chosen):
            unused = entry.name in ("pair_steps", "pair_values", "pair_updates")
            if unused and getattr(chosen, entry.name) != entry.default:
                raise ValueError(f"{entry.name} is of no use without pair_width")
    elif chosen.theta_per_head:
        raise ValueError(
            "theta_per_head is of no use with pair_width: what describes pairs stands in place of "
            "theta N"
        )
    elif chosen.pair_values and not chosen.output_projection:
        raise ValueError(
            "pair_values need output_projection, which joins what pairs and cells give; set "
            "pair_values to 0, or output_projection to true"
        )


def _parts(reach: str) -> list[str]:
    return [part.strip() for part in reach.split(",")]


def _check_reach(chosen: ArchitectureConfig) -> None:
    for part in _parts(chosen.reach):
        if part != ALL and not (part.isdecimal() and int(part) > 0):
            raise ValueError(
                f"reach must be numbers of hops from 1 on, or {ALL}, with commas between, got "
                f"{chosen.reach!r}"
            )
    if chosen.heads % len(chosen.shares):
        raise ValueError(
            f"heads ({chosen.heads}) must be a multiple of the {len(chosen.shares)} shares that "
            f"reach ({chosen.reach}) has"
        )
    if chosen.signed_width and set(chosen.shares) != {1}:
        raise ValueError(
            "signed_width and reach do not go together: cells some hops apart have no relative "
            "orientation; leave one of them out"
        )


def _check_readout(chosen: ArchitectureConfig) -> None:
    given = READOUTS.check(chosen.readout).arguments
    for name in ("width", "outputs"):
        if name in given:
            raise ValueError(f"the readout {chosen.readout} is told its {name}; leave that out")
    for entry in fields(chosen):
        used = entry.name not in READOUTS.settings or READOUTS.takes(chosen.readout, entry.name)
        if not used and getattr(chosen, entry.name) != entry.default:
            raise ValueError(
                f"{entry.name} is of no use with the readout {chosen.readout}, whose arguments "
                "stand in its text"
            )
