"""Files at a URL, by fsspec, whose failures are told with the URL and what to do."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cellformer.basics.archives import one_line
from cellformer.basics.cache import cache_entry
from cellformer.basics.causes import raise_of_process
from cellformer.basics.owners import passing
from cellformer.basics.sealed import FaultError

CURE = "see whether the URL is right and can be read from here"


def is_url(place: str) -> bool:
    """Whether a place is no path of this machine."""
    return "://" in place


def local_copy(place: str | os.PathLike[str]) -> Path:
    """A path as it is; of a file at a URL, the copy in the cache, fetched unless it is there.

    The copy has the name that the file has there. It is fetched anew when the file is another one
    by what is told of it there, such as its size, time and tag. Raises FileNotFoundError where
    there is none, FaultError where it cannot be fetched, ImportError without fsspec.
    """
    word = os.fspath(place)
    if not is_url(word):
        return Path(word)
    files, path = files_at(word)
    try:
        with reached(word):
            told = sorted((key, str(value)) for key, value in files.info(path).items())
            name = hashlib.sha256(f"{word}\n{told}".encode()).hexdigest()[:32]
            copy = cache_entry("fetched", name) / (path.rpartition("/")[2] or "file")
            if not copy.exists():
                _fetch(files, path, copy)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {word}") from None
    return copy


def _fetch(files: Any, path: str, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    with passing(copy) as hidden:
        files.get_file(path, str(hidden))
        hidden.replace(copy)


def files_at(url: str, kind: type[FaultError] = FaultError) -> tuple[Any, str]:
    """The files that a URL leads to, as fsspec has them, and the path in them.

    Raises ImportError where fsspec is missing, and an error of this kind, naming the URL, for one
    that cannot be used.
    """
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{url} needs fsspec; run: pip install 'cellformer[remote]'") from None
    with reached(url, kind):
        files, root = fsspec.core.url_to_fs(url)
    return files, root.rstrip("/")


@contextmanager
def reached(url: str, kind: type[FaultError] = FaultError) -> Iterator[None]:
    """What fails within is told with the URL, as an error of this kind; file systems raise nearly
    any. A file that is not there stays a FileNotFoundError.
    """
    try:
        yield
    except ImportError as error:
        raise kind(f"{url} needs another package ({one_line(error)})", "install it") from None
    except FileNotFoundError:
        raise
    except Exception as error:
        raise_of_process(error)
        raise kind(f"{url} cannot be read ({one_line(error)})", CURE) from None
