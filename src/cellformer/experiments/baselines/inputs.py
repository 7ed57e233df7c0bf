"""What a network on graphs reads off a batch of complexes of dimension 1."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import DataShape
from cellformer.model.embedding.embedding import ConcatPosition, FeatureEmbedding
from cellformer.model.embedding.signs import with_random_signs


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
        self.features = nn.ModuleDict(
            {
                str(rank): FeatureEmbedding(discrete, columns, width)
                for rank, (discrete, columns) in enumerate(kinds[:2])
                if discrete or columns
            }
        )
        self.constant = None if "0" in self.features else nn.Parameter(torch.randn(width))
        self.position = ConcatPosition(width, shape.encoding, width)

    @property
    def has_edges(self) -> bool:
        """Whether features of edges are read."""
        return "1" in self.features

    def forward(self, batch: CellBatch) -> GraphInputs:
        """Reads ranks 0 and 1 of the batch."""
        signals = (
            self._read(batch, 0)
            if self.constant is None
            else self.constant.expand(batch.num_cells[0], -1)
        )
        encodings = with_random_signs(batch) if self.training else batch.encodings
        pairs = torch.zeros((0, 2), dtype=torch.int64)
        if batch.dim:
            pairs = batch.faces[0].faces.long().reshape(-1, 2)
        edges = None
        if self.has_edges and batch.dim:
            one_way = self._read(batch, 1)
            edges = torch.cat([one_way, one_way])
        elif self.has_edges:
            edges = signals.new_zeros((0, signals.shape[1]))
        return GraphInputs(
            self.position(signals, encodings[0]),
            torch.cat([pairs, pairs.flip(1)]).T.contiguous().to(signals.device),
            edges,
            batch.complex_of(0),
            batch.num_complexes,
        )

    def _read(self, batch: CellBatch, rank: int) -> Float[Tensor, "cell width"]:
        vectors: Tensor = self.features[str(rank)](batch.discrete[rank], batch.continuous[rank])
        return vectors
