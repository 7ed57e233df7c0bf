"""The general, powerful, scalable graph transformer."""

from jaxtyping import Float
from torch import Tensor, nn
from torch_geometric.nn import GINConv, GINEConv, GPSConv, global_add_pool

from cellformer.complexes.batches.batch import CellBatch
from cellformer.experiments.baselines.config import GPS
from cellformer.experiments.baselines.inputs import GraphData, GraphEmbedding
from cellformer.model.readouts.readout import halving_network


class GPSNetwork(nn.Module):
    """See `GPS`."""

    def __init__(self, chosen: GPS, data: GraphData):
        super().__init__()
        width = chosen.width
        self.embedding = GraphEmbedding(data.shape, width)
        conv = GINEConv if self.embedding.has_edges else GINConv
        self.layers = nn.ModuleList(
            GPSConv(
                width,
                conv(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))),
                heads=chosen.heads,
                dropout=chosen.dropout,
                attn_kwargs={"dropout": chosen.attention_dropout},
            )
            for _ in range(chosen.layers)
        )
        self.readout = halving_network(width, 2, data.shape.outputs, dropout=0.0)

    def forward(self, batch: CellBatch) -> Float[Tensor, "complex output"]:
        """One row per graph."""
        vertices, edge_index, edges, graph, num_graphs = self.embedding(batch)
        given = {} if edges is None else {"edge_attr": edges}
        for layer in self.layers:
            vertices = layer(vertices, edge_index, graph, **given)
        outputs: Tensor = self.readout(global_add_pool(vertices, graph, num_graphs))
        return outputs
