"""Files that appear whole or not at all, and where prepared data are kept."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cellformer.basics.owners import passing

SHARE = 0.005
"""Of the time between two writings of a file, how much may go into waiting for the disk."""

_waited: dict[Path, tuple[float, float]] = {}  # when a file was brought to the disk, in how long
_owed: set[Path] = set()


@contextmanager
def replace_atomically(path: Path, durable: bool = True) -> Iterator[Path]:
    """A hidden sibling to write to; it takes the place of ``path`` if nothing was raised.

    What cannot be made again is ``durable``: it has reached the disk before it gets its name, so
    that a power cut leaves the old or the new one. A file that is written again and again, as by
    every short epoch, waits for the disk (some 10 ms) for no more than `SHARE` of the time; what
    was not waited for is made up for when another file of the folder is written for the first
    time, as at the end of a training. Caches are not durable, as what they hold is
    verified and made again.

    Left-overs of processes that were killed are removed. An OSError names ``path``.
    """
    with blamed(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with passing(path) as hidden:
            yield hidden
            if durable and _due(path):
                began = time.monotonic()
                _make_up_for(path)
                _sync(hidden)
                hidden.replace(path)
                _sync(path.parent)
                _waited[path] = began, time.monotonic() - began
            else:
                hidden.replace(path)


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """An OSError within that names no file, as of a full disk, or a hidden one, names this one.

    One of a network does not: it comes from elsewhere.
    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        names = (error.filename, error.filename2)
        hidden = any(str(name).endswith(".tmp") for name in names)
        if error.errno is None:
            if type(error) is not OSError:
                raise
            # NumPy's, of a file that could not be written to its end
            raise OSError(f"{path} could not be written, is there room? ({error})") from error
        if error.filename is None or hidden:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def check_writable(folder: Path) -> None:
    """Raises OSError, naming the place, where a folder could not be made or written to."""
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))


def check_folder(path: Path) -> None:
    """Raises FileNotFoundError unless there is the folder for a file that is to be written."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}; make it")


def cache_root() -> Path:
    """The folder of ``CELLFORMER_CACHE``, or the user's cache folder of this system."""
    chosen = os.environ.get("CELLFORMER_CACHE")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("cellformer"))


def _due(path: Path) -> bool:
    """Whether a file is to be waited for now; if not, that is owed to it."""
    when, seconds = _waited.get(path, (0.0, 0.0))
    if time.monotonic() - when >= seconds / SHARE:
        _owed.discard(path)
        return True
    _owed.add(path)
    return False


def _make_up_for(path: Path) -> None:
    """Before the first file of a name, the others of its folder get what is owed to them."""
    if path in _waited:
        return
    for other in [each for each in _owed if each.parent == path.parent]:
        _owed.discard(other)
        if other.exists():
            _sync(other)


def _sync(path: Path) -> None:
    folder = path.is_dir()
    if folder and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(number)
    except OSError:
        if not folder:  # some file systems cannot do it with folders
            raise
    finally:
        os.close(number)
