"""What stores are made of, and what is in one."""

from dataclasses import replace

import numpy as np

from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.writing import arrays_of
from cellformer.encodings.encode import encode
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton
from tiny import SMILES


def flip(file, place):
    """One bit of a file."""
    data = bytearray(file.read_bytes())
    data[place] ^= 4
    file.write_bytes(data)


def collection(lifting, texts, targets=True):
    complexes = [encode(lifting(Graph.from_smiles(text)), RWBSPe(3)) for text in texts]
    return RaggedComplexes.from_complexes(
        complexes, np.arange(len(texts), dtype=float) if targets else None
    )


def path(vertices):
    """A path whose vertices have categories as large as their numbers."""
    graph = Graph.from_edges(
        [(i, i + 1) for i in range(vertices - 1)], vertex_features=np.arange(vertices)
    )
    return RaggedComplexes.from_complexes([Skeleton()(graph)])


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def described(ragged):
    """The same with descriptors."""
    rng = np.random.default_rng(len(ragged))
    counts = rng.integers(0, 5, (len(ragged), 6)).astype(np.uint8)
    values = rng.random((len(ragged), 2), np.float32)
    return replace(ragged, descriptors=Descriptors(counts, values))


def assert_same(left, right):
    """Whether two collections have the same arrays."""
    ours, theirs = arrays_of(left), arrays_of(right)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


UNEQUAL = [
    described(collection(lifting, texts))
    for lifting, texts in [
        (Skeleton(), ["C"]),
        (Rings(), SMILES[:7]),
        (Skeleton(), SMILES[7:9]),
        (Rings(), SMILES[9:]),
    ]
]
"""Parts of which some have no faces and one no edges."""
