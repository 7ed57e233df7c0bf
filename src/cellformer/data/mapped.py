"""Rows that lie in a file without a name, mapped into memory, for as long as they are used.

Arrow's arrays are the same on disk as in memory, so nothing is read before it is looked at, and the
system takes pages back when it needs them.
"""

import io
import mmap
import os
import tempfile
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from cellformer.basics.cache import cache_entry
from cellformer.basics.files import blamed

MAPPED_FROM = 1 << 23
"""Bytes of a file from which its rows are worth a file of their own."""


def is_large(stream: io.BufferedIOBase) -> bool:
    """Whether what it holds is worth a file of its own; the stream is at its beginning then."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    return size >= MAPPED_FROM


def mapped(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The batches, one at a time in memory, as one table whose cells are mapped.

    The file is in the folder of the cache, and is gone when nothing of the table is used any more,
    or its process has ended in whatever way. Raises OSError where there is no room for it.
    """
    folder = cache_entry("tables", "rows").parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        with pa.ipc.new_stream(pa.PythonFile(file, "w"), schema) as writer:
            for batch in batches:
                with blamed(folder):
                    writer.write_batch(batch)
                pa.default_memory_pool().release_unused()  # what Arrow would keep for itself
        file.flush()
        pages: Any = mmap.mmap(
            file.fileno(), os.fstat(file.fileno()).st_size, access=mmap.ACCESS_READ
        )
    with pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(pages))) as reader:
        return reader.read_all()
