"""A module with one part of a user's own of every kind, as a text to be written somewhere."""

import json
import subprocess
import sys
from dataclasses import replace

from cellformer.complexes.graph import Graph
from tiny import SMILES

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "parts-of-others"
version = "1.2"

[tool.setuptools]
py-modules = ["parts_of_others"]
"""
INSTALLED = "parts_of_others"


def install(folder):
    """Installs a distribution that holds the parts; returns where, for the path of a process."""
    project, place = folder / "project", folder / "installed"
    project.mkdir()
    (project / "pyproject.toml").write_text(PROJECT)
    (project / f"{INSTALLED}.py").write_text(TEXT)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
               "--no-build-isolation", "--disable-pip-version-check", "--target", str(place),
               str(project)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return place


def with_installed(config, source):
    """The configuration with all parts of the distribution, for a source of `write_atoms`."""
    data = replace(
        config.data,
        source=str(source),
        reader=f"{INSTALLED}:read(scale=2.0)",
        lifting=f"{INSTALLED}:SmallRings(longest=6)",
        encodings=f"{INSTALLED}:Degrees(size=2)",
    )
    model = replace(config.model, readout=f"{INSTALLED}:Largest(scale=2.0)")
    return replace(config, data=data, attention=f"{INSTALLED}:Twice(max_rank=2)", model=model)


def check_kept(run):
    """A run folder says where every part is found again, with its arguments, in which version."""
    made = json.loads((run / "preparation.json").read_text())
    model = json.loads((run / "model.json").read_text())
    for part, name, arguments in (
        (made["lifting"], "SmallRings", {"longest": 6}),
        (made["encodings"][0], "Degrees", {"size": 2}),
        (made["reader"], "read", {"scale": 2.0}),
        (model["attention"], "Twice", {"max_rank": 2}),
    ):
        assert part == {"part": f"{INSTALLED}:{name}", "arguments": arguments}
    assert model["model"]["architecture"]["readout"] == f"{INSTALLED}:Largest(scale=2.0)"
    for kept in (made, model):
        assert kept["versions"][INSTALLED]["version"] == "parts-of-others 1.2"
        assert len(kept["versions"][INSTALLED]["sha256"]) == 64


def write_atoms(file):
    """A source that the reader alone reads."""
    lines = [f"{text} {Graph.from_smiles(text).num_vertices}" for text in SMILES]
    file.write_text("\n".join(lines) + "\n")
    return file


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
