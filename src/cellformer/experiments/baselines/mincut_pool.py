"""A classifier that pools graphs by minimal cuts."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch_geometric.nn import DenseGraphConv, GCNConv, dense_mincut_pool
from torch_geometric.utils import to_dense_adj, to_dense_batch

from cellformer.complexes.batches.batch import CellBatch
from cellformer.experiments.baselines.config import MinCutPool
from cellformer.experiments.baselines.inputs import GraphData, GraphEmbedding


class MinCutPoolNetwork(nn.Module):
    """See `MinCutPool`; ``auxiliary_loss`` is that of the last forward pass."""

    auxiliary_loss: Float[Tensor, ""] | float = 0.0

    def __init__(self, chosen: MinCutPool, data: GraphData):
        super().__init__()
        width = chosen.width
        clusters = [math.ceil(data.mean_vertices / 2), math.ceil(data.mean_vertices / 4)]
        self.embedding = GraphEmbedding(data.shape, width, read_edges=False)
        self.first = GCNConv(width, width)
        self.pools = nn.ModuleList(nn.Linear(width, count) for count in clusters)
        self.convs = nn.ModuleList(DenseGraphConv(width, width) for _ in clusters)
        self.readout = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, data.shape.outputs)
        )

    def forward(self, batch: CellBatch) -> Float[Tensor, "complex output"]:
        """One row per graph."""
        vertices, edge_index, _, graph, num_graphs = self.embedding(batch)
        vertices = self.first(vertices, edge_index).relu()
        dense, mask = to_dense_batch(vertices, graph, batch_size=num_graphs)
        adjacent = to_dense_adj(
            edge_index, graph, batch_size=num_graphs, max_num_nodes=mask.shape[1]
        )
        # Without loops a graph without edges would have no cut: 0 / 0.
        adjacent = adjacent + torch.diag_embed(mask.to(adjacent.dtype))
        self.auxiliary_loss = 0.0
        for pool, conv in zip(self.pools, self.convs, strict=True):
            dense, adjacent, cut, orthogonality = dense_mincut_pool(
                dense, adjacent, pool(dense), mask
            )
            mask = None
            self.auxiliary_loss = self.auxiliary_loss + cut + orthogonality
            dense = conv(dense, adjacent).relu()
        outputs: Tensor = self.readout(dense.mean(dim=1))
        return outputs
