"""Where prepared data and compiled code are kept, also where the usual folders cannot be written.

Then a temporary folder serves, for as long as this process lives.
"""

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
from pathlib import Path

from cellformer.basics.files import cache_root, replace_atomically
from cellformer.basics.owners import abandoned, mark, remove

logger = logging.getLogger(__name__)

TEMPORARY = "CELLFORMER_TEMPORARY_CACHE"
"""In the environment of the processes that one starts whose cache cannot be written."""

PACKAGE = Path(__file__).resolve().parents[1]
PREFIX = ".cellformer-cache."
_writable: set[Path] = set()
_told: set[Path] = set()


def cache_entry(kind: str, name: str, cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """Where something of this name is, or is to be made, in the cache or in ``cache_dir``.

    Where the cache has none and cannot be written, it is in a temporary folder, which is told once.
    """
    root = Path(cache_dir or cache_root())
    entry = root / kind / name
    if root.is_absolute() or cache_dir or os.environ.get("CELLFORMER_CACHE"):
        if os.path.exists(entry) or (trouble := _trouble(entry.parent)) is None:
            return entry
    else:
        trouble = "this user has no home folder"
    return _instead(root, trouble) / kind / name


def cache_folder(kind: str) -> Path | None:
    """Of the cache, for things of a kind, made if need be; None where it cannot be written."""
    root = cache_root()
    folder = root / kind
    return folder if root.is_absolute() and _trouble(folder) is None else None


def writable_entry(entry: Path) -> Path:
    """For what cannot stay as it is at ``entry``: there, or in the temporary folder."""
    trouble = _trouble(entry.parent)
    if trouble is None:
        return entry
    return _instead(entry.parents[1], trouble) / entry.parent.name / entry.name


def temporary_cache() -> Path:
    """The folder of this process and those that it starts; made by whoever writes there first."""
    told = os.environ.get(TEMPORARY)
    if told:
        return Path(told)
    folder = Path(tempfile.gettempdir()) / f"{PREFIX}{mark()}.tmp"
    for left in folder.parent.glob(f"{PREFIX}*.tmp"):
        if abandoned(left):
            remove(left)
    os.environ[TEMPORARY] = str(folder)
    owner = os.getpid()
    atexit.register(lambda: remove(folder) if os.getpid() == owner else None)
    return folder


def remove_temporary_cache() -> None:
    """For a process that ends without the usual end, and started no others."""
    told = os.environ.get(TEMPORARY)
    if told and Path(told).name.startswith(f"{PREFIX}{mark().rpartition('-')[0]}-"):
        remove(Path(told))


def keep_compiled_code() -> None:
    """Has Numba keep what it compiles in the cache, where it cannot do so beside the sources.

    To be called before anything is compiled. Numba's own second choice needs a home folder. What
    lies compiled beside the sources, where somebody else could write, is taken from there.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    root = cache_root()
    usable = root.is_absolute() and _trouble(root) is None
    folder = (root if usable else temporary_cache()) / "numba"
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    for made in PACKAGE.rglob("__pycache__/*.nb[ic]"):
        kept = folder / numba_folder(made.parents[1]) / made.name
        if not kept.exists():
            # Where it cannot be copied it is compiled again.
            with contextlib.suppress(OSError), replace_atomically(kept, durable=False) as copied:
                shutil.copyfile(made, copied)


def numba_folder(sources: Path) -> str:
    """The folder within NUMBA_CACHE_DIR for what files of a folder compile, as Numba names it."""
    digest = hashlib.sha1(str(sources).encode(), usedforsecurity=False)
    return f"{sources.name}_{digest.hexdigest()}"


def _trouble(folder: Path) -> str | None:
    """Why nothing can be written to a folder, which is made if need be; None if it can."""
    if folder in _writable:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return error.strerror or str(error)
    _writable.add(folder)
    return None


def _instead(root: Path, trouble: str) -> Path:
    folder = temporary_cache()
    folder.mkdir(mode=0o700, exist_ok=True)
    if root not in _told:
        _told.add(root)
        logger.warning(
            "the cache %s cannot be written (%s); what is prepared is kept in %s until this ends. "
            "CELLFORMER_CACHE can name another folder",
            root,
            trouble,
            folder,
        )
    return folder
