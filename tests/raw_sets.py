"""Tiny sets in the raw formats of their publishers, and a malicious one."""

import gzip
import io
import os
import pickle
import zipfile

import numpy as np
import torch
from scipy import sparse

from cellformer.data.readers.zinc_pickles import TARGET


class Evil:
    """Unpickled by the pickle module, this makes a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def write_ogb(folder, **changed):
    """A triangle, a single vertex and a path, as OGB stores them."""
    files = {
        "raw/num-node-list": "3\n1\n3\n",
        "raw/num-edge-list": "3\n0\n2\n",
        "raw/edge": "0,1\n1,2\n0,2\n1,0\n1,2\n",
        "raw/node-feat": "".join(f"{row},0\n" for row in range(7)),
        "raw/edge-feat": "1\n2\n3\n4\n5\n",
        "raw/graph-label": "0\n1\n1\n",
        "split/scaffold/train": "0\n",
        "split/scaffold/valid": "2\n",
        "split/scaffold/test": "1\n",
        **changed,
    }
    for name, text in files.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_bytes(gzip.compress(text.encode()))
    return folder


def zipped(folder, archive):
    with zipfile.ZipFile(archive, "w") as stream:
        for file in folder.rglob("*"):
            if file.is_file():
                stream.write(file, f"{folder.name}/{file.relative_to(folder)}")
    return archive


def write_tu(folder, **changed):
    files = {
        "A": "1, 2\n2, 1\n2, 3\n3, 2\n5, 4\n4, 5\n",
        "graph_indicator": "1\n1\n1\n2\n2\n",
        "graph_labels": "1\n-1\n",
        "node_labels": "1\n2\n1\n3\n3\n",
        "edge_labels": "0\n0\n1\n1\n2\n2\n",
        "node_attributes": "0.5, 1\n1, 1\n1.5, 1\n2, 1\n2.5, 1\n",
        **changed,
    }
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"SET_{name}.txt").write_text(text)
    return folder


def zinc_archive(path, poison=None):
    def molecule(atoms, bonds, y):
        matrix = torch.zeros(len(atoms), len(atoms), dtype=torch.int8)
        for a, b, kind in bonds:
            matrix[a, b] = matrix[b, a] = kind
        return {"num_atom": len(atoms), "atom_type": torch.tensor(atoms, dtype=torch.int8),
                "bond_type": matrix, TARGET: torch.tensor([y])}  # fmt: skip

    molecules = [molecule([0, 5, 1], [(0, 1, 2), (1, 2, 1)], 0.5), molecule([3], [], -1.5)]
    with zipfile.ZipFile(path, "w") as archive:
        for part in ("train", "val", "test"):
            listed = [*molecules, poison] if poison is not None and part == "test" else molecules
            archive.writestr(f"molecules/{part}.pickle", pickle.dumps(listed))
    return path


def gcb_file(path, poison=None):
    """A tiny set in the original layout, written as numpy writes arrays of objects."""
    ring = sparse.csr_matrix(np.roll(np.eye(4), 1, 0) + np.roll(np.eye(4), -1, 0))
    colors = np.eye(5, dtype=np.float32)[[0, 1, 2, 4]]
    with zipfile.ZipFile(path, "w") as archive:
        for prefix, count in (("tr", 3), ("val", 2), ("te", 1)):
            adjacency = np.empty(count, object)
            features = np.empty(count, object)
            for graph in range(count):
                adjacency[graph], features[graph] = ring, colors
            if poison is not None and prefix == "val":
                adjacency[1] = poison
            classes = np.eye(3, dtype=np.float32)[np.arange(count) % 3]
            for name, array in (("adj", adjacency), ("feat", features), ("class", classes)):
                stream = io.BytesIO()
                np.lib.format.write_array(stream, array, allow_pickle=True)
                archive.writestr(f"{prefix}_{name}.npy", stream.getvalue())
    return path
