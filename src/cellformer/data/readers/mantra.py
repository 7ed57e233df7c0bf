"""MANTRA: triangulations of manifolds, in the JSON of its releases.

Source: Ballester et al., "MANTRA: The Manifold Triangulations Assemblage" (ICLR 2025). An entry
lists the vertices of the top simplices from 1; all faces of these are cells too.
"""

import gzip
import itertools
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, Task


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
    """All faces of the top simplices, each rank in lexicographic order."""
    given: NDArray[np.int64] = np.sort(np.asarray(top, np.int64), axis=1) - 1
    if given.ndim != 2 or given.min() < 0 or (np.diff(given, axis=1) == 0).any():
        raise ValueError(f"{where}: simplices list different vertices, from 1")
    vertices = int(given.max()) + 1
    ranks = [np.arange(vertices)[:, None]]
    for size in range(2, given.shape[1] + 1):
        corners = list(itertools.combinations(range(given.shape[1]), size))
        ranks.append(np.unique(given[:, corners].reshape(-1, size), axis=0))
    boundaries = [_boundary(below, above, vertices) for below, above in itertools.pairwise(ranks)]
    return CellComplex.from_boundaries(boundaries, vertices, name=name)


def _boundary(below: NDArray[np.int64], above: NDArray[np.int64], vertices: int) -> Any:
    """The alternating sum of the faces that lack one vertex each."""
    weights = vertices ** np.arange(below.shape[1])[::-1]
    keys = below @ weights  # ascending, as the rows are in lexicographic order
    size = above.shape[1]
    rows = [np.searchsorted(keys, np.delete(above, left_out, 1) @ weights) for left_out in
            range(size)]  # fmt: skip
    signs = np.repeat((-1) ** np.arange(size), len(above))
    columns = np.tile(np.arange(len(above)), size)
    return sparse.csc_array(
        (signs.astype(np.int8), (np.concatenate(rows), columns)), shape=(len(below), len(above))
    )
