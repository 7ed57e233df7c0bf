"""A graph network on the line graph: edges are its vertices, and meet where they share an end."""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.topology.hodge import complexes_of
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import down_laplacian
from cellformer.data.dataset import GraphSet, Task

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of torch.jit
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.nn import GINEConv, global_add_pool


@dataclass(frozen=True)
class LineGraphTraining:
    """How the network is trained.

    Args:
        width: Of its layers.
        layers: Their number.
        epochs: Of training; the weights of the best one on the validation rows are judged.
        rate: The highest learning rate, falling as a cosine.
        batch_size: In complexes.
        seed: Of the weights, the order and the orientations.
    """

    width: int = 96
    layers: int = 8
    epochs: int = 60
    rate: float = 1e-3
    batch_size: int = 32
    seed: int = 0


class LineGraphNetwork(nn.Module):
    """GINE layers with residuals; two edges know whether they are oriented alike where they meet.

    It is not equivariant: it learns from random orientations, anew in every epoch, to be nearly so.
    """

    def __init__(self, width: int, layers: int, outputs: int, of_edges: bool):
        super().__init__()
        self.of_edges = of_edges
        self.first = nn.Linear(2, width)
        self.layers = nn.ModuleList(
            GINEConv(
                nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)),
                edge_dim=1,
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.last = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs))

    def forward(self, data: Data) -> Tensor:
        """A row for each edge, or for each complex."""
        rows = self.first(data.x)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            rows = rows + layer(norm(rows), data.edge_index, data.edge_attr)
        pooled = rows if self.of_edges else global_add_pool(rows, data.batch) / 10
        found: Tensor = self.last(pooled)
        return found


def line_graph(cells: CellComplex, target: NDArray[np.floating]) -> Data:
    """Edges that share an end, with the sign of their meeting; flow or steps, and the category."""
    meeting = down_laplacian(cells, 1).tocoo()
    apart = meeting.row != meeting.col
    pairs = np.stack([meeting.row[apart], meeting.col[apart]]).astype(np.int64)
    own = cells.features[1]
    return Data(
        x=torch.from_numpy(np.column_stack([own.signed[:, 0], own.discrete[:, 0]])).float(),
        edge_index=torch.from_numpy(pairs),
        edge_attr=torch.from_numpy(meeting.data[apart, None]).float(),
        y=torch.from_numpy(np.asarray(target, np.float32)),
    )


def train_line_graph(source: GraphSet, chosen: LineGraphTraining) -> float:
    """The error (of flows) or accuracy (of trajectories) on the test rows."""
    assert source.split is not None
    torch.manual_seed(chosen.seed)
    task = source.task
    listed = complexes_of(source)
    parts = {
        part: DataLoader(
            [line_graph(listed[row], source.targets_of(np.array([row]))[:, 0]) for row in rows],
            chosen.batch_size,
            shuffle=part == "train",
        )
        for part, rows in source.split.items()
    }
    model = LineGraphNetwork(chosen.width, chosen.layers, task.outputs, task.rank is not None)
    optimizer = torch.optim.AdamW(model.parameters(), chosen.rate)
    steps = chosen.epochs * len(parts["train"])
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, chosen.rate, steps)
    best, tested = float("inf"), float("nan")
    for _ in range(chosen.epochs):
        model.train()
        for batch in parts["train"]:
            turned = _turned(batch, task)
            loss = _loss(model(turned), turned.y, task)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
        reached = _judged(model, parts["val"], task)
        if reached < best:
            best, tested = reached, _judged(model, parts["test"], task)
    return tested if task.kind == "regression" else 1 - tested


def _turned(batch: Data, task: Task) -> Data:
    """The batch with each edge reversed or not, at random."""
    signs = 2.0 * torch.randint(0, 2, (len(batch.x), 1)) - 1
    one, other = batch.edge_index
    made = batch.clone()
    made.x = torch.cat([batch.x[:, :1] * signs, batch.x[:, 1:]], dim=1)
    made.edge_attr = batch.edge_attr * signs[one] * signs[other]
    if task.flips:
        made.y = batch.y * signs[:, 0]
    return made


def _loss(outputs: Tensor, targets: Tensor, task: Task) -> Tensor:
    if task.kind == "regression":
        known = targets.isfinite()
        return (outputs[known, 0] - targets[known]).abs().mean()
    return nn.functional.cross_entropy(outputs, targets.long())


@torch.no_grad()
def _judged(model: LineGraphNetwork, batches: DataLoader, task: Task) -> float:
    """The mean absolute error, or the share of wrong classes."""
    model.eval()
    wrong = []
    for batch in batches:
        outputs = model(batch)
        if task.kind == "regression":
            known = batch.y.isfinite()
            wrong.append((outputs[known, 0] - batch.y[known]).abs())
        else:
            wrong.append((outputs.argmax(dim=1) != batch.y).float())
    return float(torch.cat(wrong).mean())
