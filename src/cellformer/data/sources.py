"""One door to all data: built-in sets by name, files by path."""

import difflib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from cellformer.data.dataset import GraphSet, Kind, Metric, Task
from cellformer.data.gcb import GCB_NAMES, generate_gcb
from cellformer.data.molecules import molecules
from cellformer.data.nci import open_nci
from cellformer.data.npz import read_npz
from cellformer.data.table import TABLE_ENDINGS, is_table, read_table

FOUND_IN_FOLDER = {
    "zinc": "zinc/zinc12k_graphs.npz",
    "molhiv": "molhiv/molhiv_graphs.npz",
}
"""Sets that are not shipped: files of the folder that ``CELLFORMER_DATA`` names."""

FILE_ENDINGS = (".npz", *TABLE_ENDINGS)


def source_names() -> tuple[str, ...]:
    """The names that `open_source` knows."""
    return ("nci", *GCB_NAMES, *FOUND_IN_FOLDER)


def open_source(
    name: str | os.PathLike[str],
    target: str | Sequence[str] | None = None,
    smiles_column: str | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
    cache_dir: Path | None = None,
    split_column: str | None = None,
    separator: str | None = None,
    charset: str | None = None,
) -> GraphSet:
    """Opens a built-in set by name, or an ``.npz`` file or a table by its path.

    ``target`` names the columns to learn (a table has targets only where some are named),
    ``smiles_column``, ``split_column``, ``kind``, ``metric``, ``separator`` and ``charset``
    overrule what the file suggests, and ``task`` is that of a trained model, whose classes keep
    their numbers. Raises ValueError, with the nearest
    name, if there is no such source, and FileNotFoundError if there is no such file.
    """
    word = os.fspath(name)
    targets = (target,) if isinstance(target, str) else target
    built_in: dict[str, Callable[[], GraphSet]] = {
        "nci": lambda: open_nci(cache_dir),
        **{known: lambda known=known: generate_gcb(known) for known in GCB_NAMES},  # type: ignore[misc]
    }
    if word in built_in:
        _refuse_options(word, targets, smiles_column, kind, metric)
        return built_in[word]()
    if word in FOUND_IN_FOLDER:
        _refuse_options(word, targets, smiles_column, kind, None)
        return read_npz(_in_folder(word), metric=metric, task=task, name=word)
    if word.endswith(".npz"):
        if smiles_column is not None:
            raise ValueError(f"{word} is a file of graphs and has no SMILES column")
        return read_npz(word, targets, kind, metric, task)
    if is_table(word):
        table = read_table(word, separator, charset)
        return molecules(table, targets, smiles_column, kind, metric, task, split_column)
    near = difflib.get_close_matches(word.lower(), source_names(), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"there is no data source {word!r}{hint} Give one of {', '.join(source_names())}, or the "
        f"path of a file that ends in {', '.join(FILE_ENDINGS)}"
    )


def _refuse_options(
    name: str,
    target: Sequence[str] | None,
    smiles_column: str | None,
    kind: Kind | None,
    metric: Metric | None,
) -> None:
    options = {"target": target, "smiles_column": smiles_column, "kind": kind, "metric": metric}
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option} cannot be chosen: the set {name!r} has its own")


def _in_folder(name: str) -> Path:
    folder = os.environ.get("CELLFORMER_DATA")
    if not folder:
        raise ValueError(
            f"the set {name!r} is not shipped with cellformer: put its file in a folder as "
            f"{FOUND_IN_FOLDER[name]} and set the environment variable CELLFORMER_DATA to that "
            "folder, or give the path of the file"
        )
    file = Path(folder) / FOUND_IN_FOLDER[name]
    if not file.exists():
        raise FileNotFoundError(f"CELLFORMER_DATA is {folder}, but there is no file {file}")
    return file
