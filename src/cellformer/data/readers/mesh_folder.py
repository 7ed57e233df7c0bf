"""A folder of meshes with labels, of whole meshes or of their vertices, edges or faces.

Whole meshes: a table ``labels.csv`` with the columns ``file`` and the targets, and perhaps
``split`` (train, val, test); or a folder for each class, ``CLASS/x.off`` or, as ModelNet has it,
``CLASS/train/x.off`` and ``CLASS/test/x.off``.

Cells: beside each mesh ``x.off`` a table ``x.vertices.csv``, ``x.edges.csv`` or ``x.faces.csv``
with one line per cell under a line with the names of the targets. Vertices and faces come in the
order of the mesh file; edges are told by two columns ``a`` and ``b``, vertex numbers from 0.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, Kind, Metric, Task
from cellformer.data.quantities import Censored
from cellformer.data.readers.labels import (
    ReadCells,
    Targets,
    columns_of,
    counted,
    files_with,
    read_labels,
    texts,
)
from cellformer.data.readers.mesh_file import MESH_SUFFIXES, read_mesh
from cellformer.data.tables.table import Table
from cellformer.lifting.mesh import Degenerate
from cellformer.lifting.mesh_features import with_mesh_features


def is_mesh_folder(folder: Path) -> bool:
    """Whether a folder holds mesh files, at most two folders deep."""
    return folder.is_dir() and bool(files_with(folder, MESH_SUFFIXES))


def read_mesh_folder(
    folder: Path,
    target: Sequence[str] | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
    censored: Censored = "refuse",
    degenerate: Degenerate = "fail",
) -> GraphSet:
    """The meshes of a folder, by name, with features from their geometry and their own faces.

    Whole numbers and words are classes, other numbers values, unless ``kind`` says otherwise.
    Meshes without any labels make a set without targets, to predict. ``task`` is that of a trained
    model. Raises ValueError, naming file and line, where labels and meshes do not fit together.
    """
    files = files_with(folder, MESH_SUFFIXES)
    if not files:
        raise ValueError(f"{folder} holds no mesh ({', '.join(MESH_SUFFIXES)})")
    meshes = [with_mesh_features(read_mesh(file, degenerate)) for file in files]
    of_cells = {
        "vertices": counted("vertices", [mesh.num_cells[0] for mesh in meshes]),
        "edges": _by_ends(meshes),
        "faces": counted("faces", [mesh.num_cells[2] for mesh in meshes]),
    }
    labels = read_labels(folder, files, target, of_cells)
    posed, values = labels.encoded(task, kind, metric, str(folder), censored)
    if posed is None or values is None:
        return complex_set(meshes, name=folder.name, split=labels.split)
    if posed.rank is None:
        return complex_set(meshes, values, posed, labels.split, folder.name)
    ends = np.cumsum([mesh.num_cells[posed.rank] for mesh in meshes])[:-1]
    return complex_set(meshes, np.split(values, ends), posed, labels.split, folder.name)


def _by_ends(meshes: Sequence[CellComplex]) -> ReadCells:
    """A reader of tables that tell an edge by its two vertices."""

    def read(table: Table, number: int, target: Sequence[str] | None) -> Targets:
        mesh = meshes[number]
        edges = {frozenset(pair): edge for edge, pair in enumerate(edge_ends(mesh).tolist())}
        columns = columns_of(table, target, ("a", "b"))
        found: Targets = {name: [None] * mesh.num_cells[1] for name in columns}
        for line, (a, b) in enumerate(zip(texts(table, "a"), texts(table, "b"), strict=True)):
            edge = edges.get(frozenset((_vertex(a), _vertex(b))))
            if edge is None:
                raise ValueError(
                    f"{table.where}, label {line} (counted from 0): no edge joins {a} and {b}"
                )
            for name, values in columns.items():
                found[name][edge] = values[line]
        return found

    return read


def _vertex(cell: str) -> int | None:
    """The number of a vertex, None for anything else."""
    try:
        return int(cell)
    except ValueError:
        return None
