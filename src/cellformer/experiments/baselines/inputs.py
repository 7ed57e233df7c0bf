"""What a network on graphs reads off a batch of complexes of dimension 1."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from cellformer.complexes.batch import CellBatch
from cellformer.model.config import DataShape
from cellformer.model.embedding import ConcatPosition, FeatureEmbedding
from cellformer.model.signs import with_random_signs


@dataclass(frozen=True)
class GraphData:
    """What the data decide about a network on graphs.

    Args:
        shape: Columns and categories of vertices and edges, columns of the encodings, outputs.
        mean_vertices: How many vertices a training graph has on average.
    """

    shape: DataShape
    mean_vertices: float


class GraphInputs(NamedTuple):
    """A batch as networks of PyTorch Geometric take it, every edge in both directions."""

    vertices: Float[Tensor, "vertex width"]
    edge_index: Int64[Tensor, "2 directed_edge"]
    edges: Float[Tensor, "directed_edge width"] | None  # None: not read, or not there
    graph: Int64[Tensor, " vertex"]
    num_graphs: int


class GraphEmbedding(nn.Module):
    """Features of vertices and edges as vectors, the vertices' joined by their encodings."""

    def __init__(self, shape: DataShape, width: int, read_edges: bool = True):
        super().__init__()
        kinds = list(zip(shape.categories, shape.continuous, strict=True))
        kinds = kinds if read_edges else kinds[:1]
        features = [
            FeatureEmbedding(discrete, columns, width) if discrete or columns else None
            for discrete, columns in [*kinds, ((), 0)][:2]
        ]
        self.vertices, self.edges = features
        self.constant = None if self.vertices is not None else nn.Parameter(torch.randn(width))
        self.position = ConcatPosition(width, shape.encoding, width)

    @property
    def has_edges(self) -> bool:
        """Whether features of edges are read."""
        return self.edges is not None

    def forward(self, batch: CellBatch) -> GraphInputs:
        """Reads ranks 0 and 1 of the batch."""
        if self.vertices is not None:
            signals = self.vertices(batch.discrete[0], batch.continuous[0])
        else:
            assert self.constant is not None
            signals = self.constant.expand(batch.num_cells[0], -1)
        encodings = with_random_signs(batch) if self.training else batch.encodings
        pairs = torch.zeros((0, 2), dtype=torch.int64)
        if batch.dim:
            pairs = batch.faces[0].faces.long().reshape(-1, 2)
        edges = None
        if self.edges is not None and batch.dim:
            one_way = self.edges(batch.discrete[1], batch.continuous[1])
            edges = torch.cat([one_way, one_way])
        elif self.edges is not None:
            edges = signals.new_zeros((0, signals.shape[1]))
        return GraphInputs(
            self.position(signals, encodings[0]),
            torch.cat([pairs, pairs.flip(1)]).T.contiguous().to(signals.device),
            edges,
            batch.complex_of(0),
            batch.num_complexes,
        )
