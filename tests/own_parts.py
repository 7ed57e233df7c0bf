"""A module with one part of a user's own of every kind, as a text to be written somewhere."""

TEXT = '''
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

import cellformer as cf


@dataclass(frozen=True)
class SmallRings:
    """A face for every ring up to a length."""

    longest: int = 5

    def __call__(self, graph):
        return cf.lift(graph, cf.InducedCycles(max_length=self.longest))


@dataclass(frozen=True)
class Degrees:
    """The number of faces and cofaces of each cell."""

    size: int = 1

    def __call__(self, cells):
        ranks = []
        for rank, count in enumerate(cells.num_cells):
            columns = np.zeros((count, self.size), np.float32)
            if rank:
                columns[:, 0] += abs(cells.boundary(rank)).sum(0)
            if rank < cells.dim:
                columns[:, 0] += abs(cells.boundary(rank + 1)).sum(1)
            ranks.append(columns)
        return cf.EncodedRanks(tuple(ranks), np.zeros(self.size, np.int8))


def share_an_edge(cells):
    edges = abs(cells.boundary(1))
    return edges @ edges.T


def near(max_rank):
    arrows = cf.paper_diagram(max_rank).arrows
    return cf.Pairwise(cf.TensorDiagram((*arrows, cf.Arrow(0, 0, share_an_edge))))


@dataclass(frozen=True)
class Twice:
    """Each layer of general attention is passed twice."""

    max_rank: int = 2

    @property
    def diagram(self):
        return cf.paper_diagram(self.max_rank)

    def relations(self, dim):
        return cf.general_sparse(self.max_rank).relations(dim)

    def layer(self, options):
        return cf.general_sparse(self.max_rank).layer(options)

    def through(self, layers, cells, patterns, vertices_only):
        for layer in layers:
            for _ in range(2):
                cells = cf.general_sparse().through([layer], cells, patterns, vertices_only)
        return cells


class Largest(nn.Module):
    """The largest vertex of each complex, column by column, and a linear map."""

    def __init__(self, width, outputs, scale=1.0):
        super().__init__()
        self.linear = nn.Linear(width, outputs)
        self.scale = scale

    def ranks(self, batch):
        return (0,)

    def forward(self, cells, batch):
        owner = batch.complex_of(0)
        rows = [cells[0][owner == number].amax(0) for number in range(batch.num_complexes)]
        return self.scale * self.linear(torch.stack(rows))


def cubed(outputs, targets, power=3.0):
    return (outputs - targets).abs() ** power


def worst(outputs, targets):
    return (outputs - targets).abs().max()


def read(path, scale=1.0):
    rows = [line.split() for line in Path(path).read_text().splitlines()]
    graphs = [cf.Graph.from_smiles(row[0]) for row in rows]
    task = cf.Task("regression", ("atoms",), "mae")
    return cf.in_memory(graphs, [scale * float(row[1]) for row in rows], task, name="own")
'''
