"""One door to all data: sets by name, files and folders by path."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cellformer.basics.suggestions import did_you_mean
from cellformer.basics.urls import is_url, local_copy
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import (
    GraphSet,
    Kind,
    Metric,
    MoleculeDescriptors,
    SmilesList,
    Task,
)
from cellformer.data.interop.pyg_labels import LabelsOf
from cellformer.data.named.benchmark_set import open_named, posing
from cellformer.data.named.catalogue import NAMED_SETS
from cellformer.data.named.fields import FIELD_SETS, open_fields
from cellformer.data.named.nci import open_nci
from cellformer.data.named.surfaces import SURFACE_SETS, open_surfaces
from cellformer.data.quantities import Censored
from cellformer.data.readers.gcb_npz import is_gcb_archive, read_gcb
from cellformer.data.readers.mesh_file import MESH_SUFFIXES, read_mesh
from cellformer.data.readers.mesh_folder import is_mesh_folder, read_mesh_folder
from cellformer.data.readers.npz import read_npz
from cellformer.data.readers.ogb_folder import is_ogb_folder, read_ogb
from cellformer.data.readers.point_files import (
    FACELESS_SUFFIXES,
    POINT_SUFFIXES,
    has_faces,
    read_points,
)
from cellformer.data.readers.point_folder import PointClouds, is_point_folder, read_point_folder
from cellformer.data.readers.tu_folder import is_tu_folder, read_tu
from cellformer.data.tables.atom_targets import TargetsOf
from cellformer.data.tables.formats import TABLE_ENDINGS
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import is_table, read_table
from cellformer.lifting.mesh import Degenerate
from cellformer.lifting.mesh_features import with_mesh_features
from cellformer.lifting.point_cloud import PointNeighbors

FILE_ENDINGS = (".npz", *TABLE_ENDINGS, ".pt")
_ENDINGS = ", ".join(ending for ending in FILE_ENDINGS if not ending.endswith(".gz"))


def source_names() -> tuple[str, ...]:
    """The names that `open_source` knows."""
    return ("nci", *SURFACE_SETS, *FIELD_SETS, *NAMED_SETS)


def molecule_scheme(source: str) -> MoleculeScheme:
    """The features of a source's molecules, unless others are chosen.

    A model that was trained on a set with these features needs them of new molecules too.
    """
    own = NAMED_SETS[source].scheme if source in NAMED_SETS else None
    return own or "standard"


def open_source(
    name: str | os.PathLike[str],
    target: str | Sequence[str] | None = None,
    smiles_column: str | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    split_column: str | None = None,
    separator: str | None = None,
    charset: str | None = None,
    features: MoleculeScheme | None = None,
    neighbors: PointNeighbors | None = None,
    columns: Sequence[str] = (),
    descriptors: MoleculeDescriptors = "none",
    censored: Censored = "refuse",
    column_units: Sequence[str] | None = None,
    degenerate: Degenerate = "fail",
    targets_of: TargetsOf | LabelsOf | None = None,
) -> GraphSet:
    """Opens a set by name, an ``.npz`` or ``.pt`` file, a table, a folder, a mesh or a point cloud.

    A file may be at a URL that fsspec can read, and is then fetched into the cache. A folder holds
    meshes (see `read_mesh_folder`), point clouds (see `read_point_folder`), the raw files of an OGB
    or TU Dortmund set, or what PyG wrote (see `read_pyg`).
    ``target`` names the columns to learn (a table has targets only where some are named),
    ``smiles_column``, ``split_column``, ``kind``, ``metric``, ``separator`` and ``charset``
    overrule what the source suggests, ``task`` is that of a trained model, whose classes keep
    their numbers, ``features`` are those of molecules that are given as SMILES (other graphs have
    the features that they have), and ``neighbors`` says how the points of clouds are joined.
    ``columns`` of a table are descriptors of its rows, and ``descriptors`` says which ones are
    computed of molecules that are given as SMILES. ``censored`` says what values such as >5 in a
    table are, and ``column_units`` in which units a model has learned the ``columns``.
    ``degenerate`` says what happens to faces of meshes that are none, and ``targets_of`` whose
    targets the lists in the cells of a table, or the labels of PyG's data, are.

    Raises ValueError, with the nearest name, if there is no such source or an option is of no use
    to it, and FileNotFoundError if there is no such file.
    """
    word = os.fspath(name)
    if degenerate != "fail" and not is_mesh(word):
        raise ValueError(f"degenerate is of use to meshes only, and {word!r} is none")
    targets = (target,) if isinstance(target, str) else target
    if is_table(word):
        table = read_table(word, separator, charset)
        scheme = features or "standard"
        return molecules(
            table, targets, smiles_column, kind, metric, task, split_column, scheme, columns,
            descriptors, censored, column_units, targets_of,
        )  # fmt: skip
    for option, value in (("split_column", split_column), ("separator", separator),
                          ("charset", charset), ("descriptors", columns or None)):  # fmt: skip
        if value is not None:
            raise ValueError(f"{option} is of use to a table only, and {word!r} is none")
    here = os.fspath(local_copy(word)) if is_url(word) else word
    opened = _open(
        here, targets, smiles_column, kind, metric, task, cache_dir, neighbors, censored,
        degenerate, targets_of,
    )  # fmt: skip
    return described_as(opened, features, descriptors)


def _open(
    word: str,
    targets: Sequence[str] | None,
    smiles_column: str | None,
    kind: Kind | None,
    metric: Metric | None,
    task: Task | None,
    cache_dir: str | os.PathLike[str] | None,
    neighbors: PointNeighbors | None,
    censored: Censored,
    degenerate: Degenerate,
    targets_of: TargetsOf | LabelsOf | None,
) -> GraphSet:
    path = Path(word)
    if targets_of is not None and not (word.endswith(".pt") or _is_pyg(path)):
        raise ValueError(
            f"targets_of is of use to a table and to PyG's data only, and {word!r} is neither"
        )
    if not path.is_dir() or _is_raw(path):
        _refuse_options(word, censored=None if censored == "refuse" else censored)
    if word == "nci":
        _refuse_options(word, target=targets, smiles_column=smiles_column, kind=kind, metric=metric)
        return open_nci(cache_dir)
    if word in SURFACE_SETS:
        _refuse_options(word, smiles_column=smiles_column, kind=kind)
        return open_surfaces(word, targets, metric, task, cache_dir)
    if word in FIELD_SETS:
        _refuse_options(word, target=targets, smiles_column=smiles_column, kind=kind)
        return open_fields(word, metric, task, cache_dir)
    if word in NAMED_SETS:
        _refuse_options(word, target=targets, smiles_column=smiles_column, kind=kind)
        return open_named(NAMED_SETS[word], metric, task)
    if word.endswith(".npz"):
        if smiles_column is not None:
            raise ValueError(f"{word} is a file of graphs and has no SMILES column")
        if is_gcb_archive(path):
            _refuse_options(word, target=targets, kind=kind)
            return posing(read_gcb(path, path.stem), metric, task)
        return read_npz(word, targets, kind, metric, task)
    if word.endswith(".pt"):
        _refuse_options(word, target=targets, smiles_column=smiles_column)
        return posing(_read_pyg(path, kind, targets_of, task), metric, task)
    if path.is_dir() and is_point_folder(path) and not _is_raw(path):
        _refuse_options(word, smiles_column=smiles_column)
        return read_point_folder(path, targets, kind, metric, task, neighbors, censored)
    if path.is_dir() and is_mesh_folder(path):
        _refuse_options(word, smiles_column=smiles_column)
        return read_mesh_folder(path, targets, kind, metric, task, censored, degenerate)
    if path.is_dir():
        _refuse_options(word, target=targets, smiles_column=smiles_column)
        if _is_pyg(path):
            return posing(_read_pyg(path, kind, targets_of, task), metric, task)
        _refuse_options(word, kind=kind)
        return posing(_open_folder(path), metric, task)
    if path.suffix.lower() in POINT_SUFFIXES or _is_faceless(path):
        _refuse_options(word, target=targets, kind=kind, smiles_column=smiles_column)
        clouds = PointClouds((read_points(path),), neighbors or PointNeighbors())
        return GraphSet(path.name, clouds, _NO_TARGETS, None, None, clouds.digest())
    if path.suffix.lower() in MESH_SUFFIXES:
        _refuse_options(word, target=targets, kind=kind, smiles_column=smiles_column)
        return complex_set([with_mesh_features(read_mesh(path, degenerate))], name=path.name)
    raise no_source(word)


def described_as(
    opened: GraphSet, features: MoleculeScheme | None, descriptors: MoleculeDescriptors
) -> GraphSet:
    """The set with these features and descriptors of molecules that are given as SMILES.

    Raises ValueError for descriptors of a set that consists of other graphs.
    """
    if not isinstance(opened.graphs, SmilesList):
        if descriptors != "none":
            raise ValueError(
                f"molecule_descriptors are made of SMILES, and {opened.name!r} does not consist of "
                "these"
            )
        return opened
    scheme = opened.graphs.scheme if features is None else features
    graphs = replace(opened.graphs, scheme=scheme, descriptors=descriptors)
    return replace(opened, graphs=graphs, digest=graphs.digest())


def is_source(name: str | os.PathLike[str]) -> bool:
    """Whether this names a set, or a file or folder that exists or has an ending that is read, or
    is a URL.
    """
    word = os.fspath(name)
    return (
        word in source_names()
        or is_url(word)
        or is_table(word)
        or word.lower().endswith((*FILE_ENDINGS, *MESH_SUFFIXES, *POINT_SUFFIXES))
        or Path(word).exists()
    )


_PATH = re.compile(r".*\.[a-z][a-z0-9_]{1,7}|[\w. ~-]*(/[\w. ~-]+)+/?|.*\\.*\\.*|[\w. ~-]+/")
"""A text with the ending of a file's name, or with names between slashes."""


def is_mesh(source: object) -> bool:
    """Whether this names a file with a mesh, or a folder of such files."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = local_copy(source)
    if path.is_dir():
        return is_mesh_folder(path) and not is_point_folder(path)
    return path.suffix.lower() in MESH_SUFFIXES and not _is_faceless(path)


def no_source(word: str, reason: str = "") -> Exception:
    """The error for a word that names nothing; ``reason`` says why it is no SMILES either.

    What looks like a path is a file that is missing, and everything else a ValueError.
    """
    path = Path(word)
    if path.is_file():
        return ValueError(
            f"{word}: files of this kind are not read, only those that end in {_ENDINGS}, and "
            "meshes and point clouds"
        )
    if _PATH.fullmatch(word) and not did_you_mean(word, source_names()):
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        near = did_you_mean(path.name, [other.name for other in beside])
        return FileNotFoundError(f"there is no file or folder {word}{near}")
    no_molecule = f", and no molecule either: {reason}." if reason else "."
    hint = did_you_mean(word, source_names()) or no_molecule
    return ValueError(
        f"there is no data source {word!r}{hint} Give nci, a set that cellformer fetch lists, or "
        f"the path of a folder or of a file that ends in {_ENDINGS}"
    )


_NO_TARGETS = np.zeros((1, 0), np.float32)


def _is_faceless(path: Path) -> bool:
    return path.suffix.lower() in FACELESS_SUFFIXES and path.exists() and not has_faces(path)


RAW = ((is_ogb_folder, read_ogb), (is_tu_folder, read_tu))
"""Folders of raw files: which they are, and their readers."""


def _is_raw(folder: Path) -> bool:
    return any(fits(folder) for fits, _ in RAW)


def _is_pyg(folder: Path) -> bool:
    return folder.is_dir() and not _is_raw(folder) and _holds_pyg(folder)


def _holds_pyg(folder: Path) -> bool:
    from cellformer.data.readers.pyg_files import is_pyg_folder  # torch is slow to import

    return is_pyg_folder(folder)


def _read_pyg(
    path: Path, kind: Kind | None, of: TargetsOf | LabelsOf | None, task: Task | None
) -> GraphSet:
    from cellformer.data.readers.pyg_files import read_pyg

    if of == "atoms" or of == "bonds":
        raise ValueError(
            f"{path} holds graphs of PyG, whose targets_of are graphs, vertices or edges, not {of}"
        )
    opened = read_pyg(path, kind, of=of or "auto")
    if task is None or task.rank not in _LABELS_OF or opened.task_or_none is None:
        return opened
    if opened.task.rank == task.rank:
        return opened
    try:  # the labels that the model has learned may be there too
        return read_pyg(path, kind, of=_LABELS_OF[task.rank])
    except ValueError:
        return opened


_LABELS_OF: dict[int | None, LabelsOf] = {None: "graphs", 0: "vertices", 1: "edges"}


def _open_folder(folder: Path) -> GraphSet:
    for fits, read in RAW:
        if fits(folder):
            return read(folder, folder.name)
    raise ValueError(
        f"the folder {folder} holds no known set: neither OGB's raw/edge.csv.gz, nor the "
        "NAME_graph_indicator.txt of the TU collection, nor a PyG data set, nor meshes, nor point "
        "clouds"
    )


def _refuse_options(name: str, **options: object) -> None:
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option} cannot be chosen: the set {name!r} has its own")
