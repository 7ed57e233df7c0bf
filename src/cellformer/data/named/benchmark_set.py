"""Benchmark sets by name: where one may lie on this machine, and how it gets there."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cellformer.basics.files import cache_root
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.data.dataset import PARTS, GraphSet, Metric, Task
from cellformer.data.named.checksums import check_recorded
from cellformer.data.named.download import FetchError, Patience, download

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Form:
    """One way in which a set may lie in a folder."""

    path: str  # of the file or folder
    read: Callable[[Path, str], GraphSet]  # from the path and the set's name
    regenerated: str = ""  # for graphs that are not the published ones: what they are


@dataclass(frozen=True)
class RemoteFile:
    """A file at its official address."""

    path: str  # where it is kept
    url: str
    sha256: str | None = None  # None: not published; recorded when first fetched
    size: int | None = None  # bytes


@dataclass(frozen=True)
class NamedSet:
    """What is known of a benchmark set; its card in the documentation is written from this."""

    name: str
    title: str
    homepage: str
    license: str
    citation: str
    split: str  # in words
    metric: Metric
    graphs: int | None  # a set of another size is refused; None: it grows
    parts: tuple[int, int, int] | None  # sizes of the official split
    forms: tuple[Form, ...]  # in order of preference
    remote: tuple[RemoteFile, ...]
    convert: Callable[[Path, Path], None] | None = None
    """Makes the first form's file from the folder of fetched files, which are then removed."""
    generate: Callable[[], GraphSet] | None = None  # a stand-in where no form is found
    scheme: MoleculeScheme | None = None  # of its features, where they are those of a molecule
    remarks: str = ""


def folders() -> Iterator[Path]:
    """Where sets are looked for: the folder of ``CELLFORMER_DATA``, then fetched ones."""
    chosen = os.environ.get("CELLFORMER_DATA")
    if chosen:
        yield Path(chosen)
    yield fetched_folder()


def fetched_folder() -> Path:
    """Where `fetch` puts sets unless told otherwise."""
    return cache_root() / "sets"


def open_named(named: NamedSet, metric: Metric | None = None, task: Task | None = None) -> GraphSet:
    """The set from this machine; nothing is ever fetched here.

    ``metric`` overrules the set's own. ``task`` is that of a trained model, whose classes keep
    their numbers; a set without its targets is opened without any. Raises FileNotFoundError,
    saying what to do, if the set is not here, ValueError if it is not what it should be.
    """
    return posing(_found(named), metric or named.metric, task)


def posing(opened: GraphSet, metric: Metric | None, task: Task | None) -> GraphSet:
    """The set with another metric, or with the task of a trained model, as in `open_named`."""
    if opened.task_or_none is None:
        return opened
    own = opened.task
    if task is None:
        return replace(opened, task_or_none=replace(own, metric=metric or own.metric))
    if not set(task.targets) <= set(own.targets) or _what(task) != _what(own):
        empty = np.zeros((len(opened), 0), np.float32)
        return replace(opened, task_or_none=None, targets=empty, cell_offsets=None, cell_split=None)
    targets = opened.targets[:, [own.targets.index(target) for target in task.targets]]
    if task.labels != own.labels:
        if not set(own.labels) <= set(task.labels):
            raise ValueError(
                f"{opened.name} has the classes {own.labels}, the trained model {task.labels}"
            )
        numbers = np.array([task.labels.index(label) for label in own.labels], targets.dtype)
        known = np.isfinite(targets)
        targets = targets.copy()
        targets[known] = numbers[targets[known].astype(np.int64)]
    return replace(opened, task_or_none=task, targets=targets)


def _what(task: Task) -> tuple[object, ...]:
    return task.kind, task.rank, task.flips


def _found(named: NamedSet) -> GraphSet:
    here = [(form, folder / form.path) for folder in folders() for form in named.forms]
    present = [(form, path) for form, path in here if path.exists()]
    for form, path in present:
        if not form.regenerated:
            return check_size(named, form.read(path, named.name), path)
    for form, path in present:
        _warn_regenerated(named, form.regenerated)
        return form.read(path, f"{named.name} (regenerated)")
    if named.generate is not None:
        _warn_regenerated(named, "drawn by this program's own generator")
        return replace(named.generate(), name=f"{named.name} (regenerated)")
    looked = " or ".join(str(folder / named.forms[0].path) for folder in folders())
    raise FileNotFoundError(
        f"the set {named.name!r} is not on this machine (no {looked}). Run: cellformer fetch "
        f"{named.name}. For a machine without network, run it elsewhere with --folder DIR, copy "
        "DIR, and set the environment variable CELLFORMER_DATA to it"
    )


def _warn_regenerated(named: NamedSet, what: str) -> None:
    logger.warning(
        '%s is not here; these graphs are %s, so call results "regenerated %s". The original: '
        "cellformer fetch %s",
        named.name,
        what,
        named.name,
        named.name,
    )


def check_size(named: NamedSet, opened: GraphSet, path: Path) -> GraphSet:
    """The set, if it has as many graphs, in as large parts, as published; else ValueError."""
    parts = None if opened.split is None else tuple(len(opened.split[part]) for part in PARTS)
    graphs = named.graphs or len(opened)
    if len(opened) != graphs or (named.parts is not None and parts != named.parts):
        raise ValueError(
            f"{path} has {len(opened)} graphs, split {parts}; {named.name} has {graphs}, split "
            f"{named.parts}. It is another set or a damaged one; remove it and fetch it anew"
        )
    return opened


def fetch(
    named: NamedSet,
    folder: Path | None = None,
    *,
    mirror: str | None = None,
    again: bool = False,
    patience: Patience | None = None,
    shown: bool = True,
) -> Path:
    """Downloads a set from its official source and returns the path that it is opened from.

    A set that is in the folder already is left as it is, unless ``again``. ``mirror`` is an
    address below which files of the same names lie. What arrives is compared with the published
    checksum, or with the one recorded when it was first fetched, and opened once; a file that
    fails is not kept. Raises FetchError.
    """
    folder = fetched_folder() if folder is None else folder
    result = folder / named.forms[0].path
    if result.exists() and not again:
        return result
    raw = folder / "downloads" / named.name if named.convert is not None else folder
    got: list[Path] = []
    try:
        for remote in named.remote:
            target = raw / remote.path
            if again:
                target.unlink(missing_ok=True)
            got.append(target)
            url = remote.url if mirror is None else f"{mirror.rstrip('/')}/{target.name}"
            found = download(
                url, target, remote.sha256, remote.size, patience=patience, shown=shown
            )
            if remote.sha256 is None:
                check_recorded(folder, f"{named.name}/{remote.path}", found, url)
            elif found != remote.sha256:  # it was there before this call
                raise FetchError(f"{target} is damaged or another file; remove it and fetch again")
        if named.convert is not None:
            named.convert(raw, result)
        check_size(named, named.forms[0].read(result, named.name), result)
    except (ValueError, FetchError) as error:
        # A complete file that cannot be used is worse than none.
        for file in got:
            file.unlink(missing_ok=True)
        if isinstance(error, FetchError):
            raise
        result.unlink(missing_ok=True)
        raise FetchError(
            f"what {named.homepage} gave for {named.name} cannot be used, and nothing was kept: "
            f"{error}"
        ) from None
    if named.convert is not None:
        shutil.rmtree(raw, ignore_errors=True)
        if not any((folder / "downloads").iterdir()):
            (folder / "downloads").rmdir()
    return result


def location(named: NamedSet) -> Path | None:
    """Where on this machine the published set is; None if it is not here."""
    places = (
        folder / form.path for folder in folders() for form in named.forms if not form.regenerated
    )
    return next((path for path in places if path.exists()), None)
