"""What stores are made of, and what is in one."""

import numpy as np

from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.encodings.encode import encode
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.lifting.skeleton import Skeleton


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
