"""The graph isomorphism network."""

from jaxtyping import Float
from torch import Tensor, nn
from torch_geometric.nn import MLP, BatchNorm, GINConv, GINEConv, GraphNorm, global_add_pool

from cellformer.complexes.batches.batch import CellBatch
from cellformer.experiments.baselines.config import GIN
from cellformer.experiments.baselines.inputs import GraphData, GraphEmbedding


class GINNetwork(nn.Module):
    """See `GIN`."""

    def __init__(self, chosen: GIN, data: GraphData):
        super().__init__()
        width = chosen.width
        self.embedding = GraphEmbedding(data.shape, width)
        conv = GINEConv if self.embedding.has_edges else GINConv
        self.layers = nn.ModuleList(conv(_network(chosen)) for _ in range(chosen.layers))
        self.norms = nn.ModuleList(_norm(chosen) for _ in range(chosen.layers))
        self.pooled_norm = nn.LayerNorm(width)  # sums over large graphs are large
        self.readout = MLP(
            [width, width, data.shape.outputs], norm=None, dropout=[chosen.dropout, 0.0]
        )

    def forward(self, batch: CellBatch) -> Float[Tensor, "complex output"]:
        """One row per graph."""
        vertices, edge_index, edges, graph, num_graphs = self.embedding(batch)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            given = (edge_index,) if edges is None else (edge_index, edges)
            sent = layer(vertices, *given)
            of_graphs = (graph, num_graphs) if isinstance(norm, GraphNorm) else ()
            vertices = norm(sent, *of_graphs).relu()
        pooled = self.pooled_norm(global_add_pool(vertices, graph, num_graphs))
        outputs: Tensor = self.readout(pooled)
        return outputs


def _network(chosen: GIN) -> MLP:
    """The two linear maps of a layer; between them all vertices of a batch look like one graph."""
    columns = [chosen.width] * 3
    match chosen.norm:
        case "batch":
            return MLP(columns, norm="batch_norm")
        case "layer":
            return MLP(columns, norm="layer_norm", norm_kwargs={"mode": "node"})
    return MLP(columns, norm=None)


def _norm(chosen: GIN) -> nn.Module:
    norms = {"batch": BatchNorm, "layer": nn.LayerNorm, "graph": GraphNorm}
    made: nn.Module = norms[chosen.norm](chosen.width)
    return made
