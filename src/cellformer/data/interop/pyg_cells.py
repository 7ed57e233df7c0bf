"""Complexes as PyTorch Geometric data, which its loaders batch like any other.

For every rank k the data hold ``pe_k``, the encodings of its cells, and as far as there are any
``x_k``, ``x_discrete_k`` and ``x_signed_k``, their features; for k of 1 and more also
``boundary_index_k`` (2, entries), the numbers of cells of rank k - 1 and of rank k, and
``boundary_sign_k``. ``pe_signs`` says which signs of encodings are ambiguous. So ``pe_0`` lies
beside ``x`` for a network of your own on the vertices, and `batch_from_pyg` gives what
`CellularTransformer` takes.
"""

import re
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.interop.pyg_data import to_pyg

try:
    from torch_geometric.data import Data
except ImportError as error:
    raise ImportError(
        'PyTorch Geometric is not installed; run: pip install "cellformer[pyg]"'
    ) from error

_BOUNDARY = re.compile(r"boundary_index_(\d+)")


class CellData(Data):  # type: ignore[misc]
    """PyG's data with a complex in it, see the module; knows how its numbers shift in a batch."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """By how much the numbers of the next item grow."""
        boundary = _BOUNDARY.fullmatch(key)
        if boundary is None:
            return super().__inc__(key, value, *args, **kwargs)
        rank = int(boundary.group(1))
        return torch.tensor([[len(self[f"pe_{rank - 1}"])], [len(self[f"pe_{rank}"])]])

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Along which dimension items are joined."""
        return 1 if _BOUNDARY.fullmatch(key) else super().__cat_dim__(key, value, *args, **kwargs)


def complex_to_pyg(
    cells: CellComplex, data: "Data | None" = None, max_rank: int | None = None
) -> CellData:
    """A complex, with its features and encodings, as `CellData`.

    Beside the cells it holds all that ``data``, which the complex was made of, held, or else the
    graph of vertices and edges as `to_pyg` writes it. All items of a batch need the same ranks:
    with ``max_rank`` those up to it are written, empty ones too. `complex_from_pyg` gives the
    complex back. Raises ValueError if the complex has cells of a higher rank.
    """
    top = cells.dim if max_rank is None else max_rank
    if any(cells.num_cells[top + 1 :]):
        raise ValueError(
            f"complex {cells.name!r} has cells of rank {cells.dim}, but max_rank is {top}"
        )
    made = CellData()
    for key, value in (to_pyg(Graph.of_complex(cells)) if data is None else data).to_dict().items():
        made[key] = value
    made.num_nodes = cells.num_vertices
    made.pe_signs = torch.from_numpy(cells.encoding_signs.astype(np.int64))[None]
    nothing = np.zeros((0, len(cells.encoding_signs)), np.float32)
    for rank in range(top + 1):
        known = rank <= cells.dim
        made[f"pe_{rank}"] = torch.tensor(cells.encodings[rank] if known else nothing)
        if known and cells.features[rank].continuous.shape[1]:
            made[f"x_{rank}"] = torch.tensor(cells.features[rank].continuous)
        if known and cells.features[rank].discrete.shape[1]:
            made[f"x_discrete_{rank}"] = torch.tensor(cells.features[rank].discrete)
        if known and cells.features[rank].signed.shape[1]:
            made[f"x_signed_{rank}"] = torch.tensor(cells.features[rank].signed)
        if rank:
            boundary = cells.boundary(rank).tocoo()
            pairs = np.stack([boundary.row, boundary.col]).astype(np.int64)
            made[f"boundary_index_{rank}"] = torch.from_numpy(pairs)
            made[f"boundary_sign_{rank}"] = torch.from_numpy(boundary.data.astype(np.int64))
    return made


def complex_from_pyg(data: Data, name: str = "") -> CellComplex:
    """The complex in one item of `CellData`; raises ValueError if it is damaged, or none is there.

    That the boundary of a boundary is empty is checked, as of all outside data.
    """
    if "pe_0" not in data:
        raise ValueError("the PyG data hold no complex; make it by complex_to_pyg or AddCells")
    counts: list[int] = []
    while f"pe_{len(counts)}" in data:
        counts.append(len(data[f"pe_{len(counts)}"]))
    boundaries = [
        sparse.csc_array(
            (
                _array(data[f"boundary_sign_{rank}"]).astype(np.int8),
                tuple(_array(data[f"boundary_index_{rank}"])),
            ),
            shape=(counts[rank - 1], counts[rank]),
        )
        for rank in range(1, len(counts))
    ]
    features = [
        Features(
            _columns(data, f"x_discrete_{rank}", count, np.int64),
            _columns(data, f"x_{rank}", count, np.float32),
            _columns(data, f"x_signed_{rank}", count, np.float32),
        )
        for rank, count in enumerate(counts)
    ]
    made = CellComplex.from_boundaries(
        boundaries, counts[0], features, _array(data.pos) if "pos" in data else None, name
    )
    return made.with_encodings(
        [_array(data[f"pe_{rank}"]) for rank in range(len(counts))],
        _array(data.pe_signs)[0].astype(np.int8),
    )


def batch_from_pyg(batch: Any) -> CellBatch:
    """The complexes of a batch of PyG's ``DataLoader``, as `CellularTransformer` takes them.

    ``y``, where there is one, becomes the targets, a row per complex. Raises ValueError if the
    items are no `CellData`.
    """
    items = batch.to_data_list() if "ptr" in batch else [batch]
    targets = _array(batch.y).astype(np.float32).reshape(len(items), -1) if "y" in batch else None
    listed = [complex_from_pyg(item) for item in items]
    made = CellBatch.from_ragged(RaggedComplexes.from_complexes(listed, targets))
    return made.to(batch.pe_0.device)


def _array(values: Tensor) -> Any:
    return values.detach().cpu().numpy()


def _columns(data: Data, key: str, rows: int, dtype: Any) -> Any:
    return _array(data[key]).astype(dtype) if key in data else np.zeros((rows, 0), dtype)
