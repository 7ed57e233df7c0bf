"""Files that appear whole or not at all, and where prepared data are kept."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """A hidden sibling to write to; it takes the place of ``path`` if nothing was raised."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def cache_root() -> Path:
    """The folder of ``CELLFORMER_CACHE``, or the user's cache folder of this system."""
    chosen = os.environ.get("CELLFORMER_CACHE")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("cellformer"))
