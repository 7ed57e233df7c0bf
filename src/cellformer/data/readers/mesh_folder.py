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
from numpy.typing import NDArray

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import PARTS, GraphSet, Kind, Metric, Task
from cellformer.data.table import Table, read_table
from cellformer.data.targets import Value, classification_of, encode_targets, make_task
from cellformer.lifting.mesh import MESH_SUFFIXES, read_mesh
from cellformer.lifting.mesh_features import with_mesh_features

LABELS = "labels.csv"
CELLS = {"vertices": 0, "edges": 1, "faces": 2}
Targets = dict[str, list[Value]]


def is_mesh_folder(folder: Path) -> bool:
    """Whether a folder holds mesh files, at most two folders deep."""
    return folder.is_dir() and bool(_meshes(folder))


def read_mesh_folder(
    folder: Path,
    target: Sequence[str] | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
) -> GraphSet:
    """The meshes of a folder, by name, with features from their geometry and their own faces.

    Whole numbers and words are classes, other numbers values, unless ``kind`` says otherwise.
    Meshes without any labels make a set without targets, to predict. ``task`` is that of a trained
    model. Raises ValueError, naming file and line, where labels and meshes do not fit together.
    """
    files = _meshes(folder)
    if not files:
        raise ValueError(f"{folder} holds no mesh ({', '.join(MESH_SUFFIXES)})")
    meshes = [with_mesh_features(read_mesh(file)) for file in files]
    of_cells = {
        word: [file.with_name(f"{file.stem}.{word}.csv") for file in files] for word in CELLS
    }
    labeled = [word for word, tables in of_cells.items() if any(t.exists() for t in tables)]
    if len(labeled) > 1:
        raise ValueError(f"{folder} has labels of {' and of '.join(labeled)}; leave one kind")
    split = None
    if labeled:
        parts = [
            _cell_columns(table, mesh, labeled[0], target)
            for table, mesh in zip(of_cells[labeled[0]], meshes, strict=True)
        ]
        columns = _joined(parts, of_cells[labeled[0]])
    elif (folder / LABELS).exists():
        columns, split = _from_table(folder, files, target)
    else:
        columns, split = _from_folders(folder, files)
    rank = CELLS[labeled[0]] if labeled else None
    if not columns or (task is not None and not set(task.targets) <= set(columns)):
        return complex_set(meshes, name=folder.name, split=split)
    if task is None:
        task = _task(columns, kind, metric, rank, str(folder))
    values = encode_targets({name: columns[name] for name in task.targets}, task, str(folder))
    if rank is None:
        return complex_set(meshes, values, task, split, folder.name)
    ends = np.cumsum([mesh.num_cells[rank] for mesh in meshes])[:-1]
    return complex_set(meshes, np.split(values, ends), task, split, folder.name)


def _meshes(folder: Path) -> list[Path]:
    found = [
        file
        for pattern in ("*", "*/*", "*/*/*")
        for file in folder.glob(pattern)
        if file.suffix.lower() in MESH_SUFFIXES and file.is_file()
    ]
    return sorted(found)


def _texts(table: Table, name: str) -> list[str]:
    """The cells of a column, empty where there is none."""
    return table.column(name).fillna("").astype(str).tolist()


def _value(cell: str) -> Value:
    """A number where it is one."""
    text = cell.strip()
    if not text:
        return None
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _task(
    columns: Targets, kind: Kind | None, metric: Metric | None, rank: int | None, where: str
) -> Task:
    values = [v for column in columns.values() for v in column if v is not None]
    if not values:
        raise ValueError(f"{where}: every label is blank")
    if kind is None:
        fractions = any(isinstance(v, float) and not v.is_integer() for v in values)
        kind = "regression" if fractions else classification_of(columns)
    made = make_task(columns, kind, metric, where)
    return Task(made.kind, made.targets, made.metric, made.labels, rank)


def _columns(table: Table, target: Sequence[str] | None, others: Sequence[str]) -> Targets:
    names = target or [name for name in table.header if name not in others]
    if not names:
        raise ValueError(f"{table.where} has no column of labels beside {', '.join(others)}")
    return {name: [_value(cell) for cell in _texts(table, name)] for name in names}


def _cell_columns(
    file: Path, mesh: CellComplex, word: str, target: Sequence[str] | None
) -> Targets | None:
    """One value per cell of the mesh; None where the mesh has no table."""
    if not file.exists():
        return None
    table = read_table(file)
    rank = CELLS[word]
    columns = _columns(table, target, ("a", "b") if word == "edges" else ())
    count = mesh.num_cells[rank]
    if word != "edges":
        if len(table) != count:
            raise ValueError(f"{file} has {len(table)} lines of labels for {count} {word}")
        return columns
    number = {
        frozenset(pair): edge for edge, pair in enumerate(edge_ends(mesh).tolist())
    }  # fmt: skip
    found: Targets = {name: [None] * count for name in columns}
    for line, (a, b) in enumerate(zip(_texts(table, "a"), _texts(table, "b"), strict=True)):
        ends = (_value(a), _value(b))
        edge = number.get(frozenset(ends))
        if edge is None:
            raise ValueError(f"{file}, label {line} (counted from 0): no edge joins {a} and {b}")
        for name, values in columns.items():
            found[name][edge] = values[line]
    return found


def _joined(parts: Sequence[Targets | None], files: Sequence[Path]) -> Targets:
    missing = [file for file, part in zip(files, parts, strict=True) if part is None]
    if missing:
        raise ValueError(f"there is no file {missing[0]}, but other meshes have labels of cells")
    present = [part for part in parts if part is not None]
    for file, part in zip(files, present, strict=True):
        if part.keys() != present[0].keys():
            raise ValueError(f"{file} has the columns {list(part)}, {files[0]} {list(present[0])}")
    return {name: [v for part in present for v in part[name]] for name in present[0]}


def _from_table(
    folder: Path, files: Sequence[Path], target: Sequence[str] | None
) -> tuple[Targets, dict[str, NDArray[np.int64]] | None]:
    table = read_table(folder / LABELS)
    names = [Path(cell.strip()).as_posix() for cell in _texts(table, "file")]
    wanted = [file.relative_to(folder).as_posix() for file in files]
    twice = {name for name in names if names.count(name) > 1}
    unlike = sorted(set(names) ^ set(wanted)) + sorted(twice)
    if unlike:
        where = "named twice" if unlike[0] in twice else (
            "no such mesh" if unlike[0] in names else "a mesh without a line")  # fmt: skip
        raise ValueError(f"{table.where}: {unlike[0]!r} is {where}")
    line = [names.index(name) for name in wanted]
    columns = _columns(table, target, ("file", "split"))
    ordered = {name: [values[at] for at in line] for name, values in columns.items()}
    if "split" not in table.header:
        return ordered, None
    written = _texts(table, "split")
    words = [written[at].strip().lower() for at in line]
    strange = sorted(set(words) - {*PARTS, ""})
    if strange:
        raise ValueError(f"{table.where}: split {strange[0]!r} is none of {', '.join(PARTS)}")
    return ordered, {part: np.flatnonzero(np.array(words) == part) for part in PARTS}


def _from_folders(
    folder: Path, files: Sequence[Path]
) -> tuple[Targets, dict[str, NDArray[np.int64]] | None]:
    """Classes by folder; the test part by folder too, where there is one."""
    parents = [file.relative_to(folder).parts[:-1] for file in files]
    if not any(parents):
        return {}, None
    if not all(parents):
        raise ValueError(f"{folder}: some meshes lie in a folder of their class, some in none")
    columns: Targets = {"class": [parts[0] for parts in parents]}
    words = [parts[1] if len(parts) > 1 else "" for parts in parents]
    if "test" not in words or not set(words) <= {*PARTS}:
        return columns, None
    train = np.flatnonzero(np.array(words) == "train")
    val = np.flatnonzero(np.array(words) == "val")
    if not len(val):  # ModelNet has none: every tenth mesh of the training part
        val, train = train[9::10], np.delete(train, np.s_[9::10])
    return columns, {"train": train, "val": val, "test": np.flatnonzero(np.array(words) == "test")}
