"""The networks to compare with, and all that determines a training of one."""

# Importing this is cheap: the command line reads these fields for its help.
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from cellformer.basics.checks import one_of
from cellformer.training.config import DataConfig, OptimizerConfig, TrainingConfig

GINNorm: TypeAlias = Literal["batch", "layer", "graph"]


@dataclass(frozen=True)
class GIN:
    """Layers of GIN, of GINE where edges have features, and a network on the sum of the vertices.

    Source: Xu et al., "How Powerful are Graph Neural Networks?" (2019), built of the parts of
    PyTorch Geometric as in its own example, with a norm after every layer as in the paper, and one
    of the sum, without which a batch of large graphs soon left no unit of the readout alive.
    """

    width: int = 64
    """Columns of every vertex's hidden state."""
    layers: int = 5
    """Number of layers."""
    dropout: float = 0.5
    """Dropout in the network that reads a graph out."""
    norm: GINNorm = "batch"
    """The norm within and after every layer: over the vertices of a batch, or the columns of each
    vertex, or after every layer alone, over the vertices of each graph."""

    def __post_init__(self) -> None:
        one_of(get_args(GINNorm), norm=self.norm)


@dataclass(frozen=True)
class GPS:
    """Layers of GIN beside attention over all vertices of a graph; a network on their sum.

    Source: Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer" (2022),
    built of the parts of PyTorch Geometric as in its own example. The encodings are those of
    ``data.encodings``.
    """

    width: int = 64
    """Columns of every vertex's hidden state."""
    layers: int = 6
    """Number of layers."""
    heads: int = 4
    """Number of attention heads."""
    dropout: float = 0.0
    """Dropout of the outputs of each part of a layer."""
    attention_dropout: float = 0.5
    """Dropout of attention weights."""


@dataclass(frozen=True)
class MinCutPool:
    """Convolution, pooling to half the vertices, and so again; a network on the mean of the rest.

    Source: Bianchi, Grattarola, Alippi, "Spectral Clustering with Graph Neural Networks for Graph
    Pooling" (2020), built of the parts of PyTorch Geometric as in its own example. *Deviation*: the
    networks behind published scores have Chebyshev convolutions and skip connections, which are
    not here. Features of edges are not read. The losses of its two poolings are added to that of
    the task.
    """

    width: int = 32
    """Columns of every vertex's hidden state."""


Baseline: TypeAlias = GIN | GPS | MinCutPool

BASELINES: dict[str, type[Baseline]] = {"gin": GIN, "gps": GPS, "mincut-pool": MinCutPool}
"""By the name that they have on the command line."""


@dataclass(frozen=True)
class BaselineConfig:
    """One training of a network to compare with; the loop is that of our models."""

    model: Baseline
    """The network."""
    data: DataConfig
    """The data; graphs are not lifted, and nothing is computed of molecules as wholes."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    """The optimizer."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """The loop."""

    def __post_init__(self) -> None:
        if self.data.lifting != "skeleton":
            raise ValueError(
                f"networks on graphs read vertices and edges: data.lifting must be skeleton, "
                f"got {self.data.lifting}"
            )
        if self.data.descriptors or self.data.molecule_descriptors not in ("auto", "none"):
            raise ValueError(
                "networks on graphs read no descriptors of molecules: leave data.descriptors out, "
                "and data.molecule_descriptors at none"
            )
        ours = (self.training.compile, self.training.resident is True, self.training.start_from)
        if any(ours) or self.training.processes > 1:
            raise ValueError(
                "training.compile, resident, processes and start_from are for our models only"
            )
