"""MANTRA: triangulations of manifolds, in the JSON of its releases.

Source: Ballester et al., "MANTRA: The Manifold Triangulations Assemblage" (ICLR 2025). An entry
lists the vertices of the top simplices from 1; all faces of these are cells too.
"""

import gzip
import json
import zlib
from pathlib import Path

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, Task
from cellformer.lifting.simplices import simplicial_complex


def read_mantra(file: Path, name: str) -> GraphSet:
    """The triangulations of a file, to be classified by homeomorphism type.

    A surface without a name in the data ("" there) counts as a class of its own. Vertices carry
    no features. Raises ValueError, naming the file and the entry.
    """
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        entries = json.loads(content)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{file}: it cannot be read ({error}); fetch it again") from None
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{file}: a list of triangulations was expected")
    complexes, words = [], []
    for number, entry in enumerate(entries):
        where = f"{file}, entry {number}"
        try:
            complexes.append(_complex(entry["triangulation"], str(entry.get("id", number)), where))
            words.append(str(entry.get("name") or "unnamed"))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{where}: it is not as published ({error!r})") from None
    labels = tuple(sorted(set(words)))
    task = Task("multiclass", ("name",), "accuracy", labels)
    return complex_set(complexes, [labels.index(word) for word in words], task, name=name)


def _complex(top: list[list[int]], name: str, where: str) -> CellComplex:
    try:
        return simplicial_complex(np.asarray(top, np.int64) - 1, name)
    except ValueError as error:
        raise ValueError(f"{where}: {error}; they are numbered from 1 there") from None
