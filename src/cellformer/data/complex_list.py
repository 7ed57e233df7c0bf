"""Sources that consist of complexes, such as meshes and triangulations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from cellformer.basics.rounding import narrowed
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.data.dataset import GraphSet, Task, digest_of, rows_of


@dataclass(frozen=True, eq=False)
class ComplexList:
    """Complexes in memory; row i is the skeleton of complex i, which it remembers."""

    complexes: tuple[CellComplex, ...]

    def __len__(self) -> int:
        return len(self.complexes)

    def graph(self, row: int) -> Graph:
        """The vertices and edges of a complex, for `OwnCells` or any other lifting."""
        return Graph.of_complex(self.complexes[row])

    def part(self, start: int, stop: int) -> "ComplexList":
        """The rows ``start:stop``."""
        return ComplexList(self.complexes[start:stop])

    def digest(self) -> str:
        """Of everything that a lifting can see except names."""
        parts: list[str | np.ndarray] = []
        for cells in self.complexes:
            parts.append(f"{cells.num_cells}")
            for boundary in cells.boundaries:
                parts += [boundary.indptr, boundary.indices, boundary.data]
            for features in cells.features:
                parts += [features.discrete, features.continuous]
                parts += [features.signed] if features.signed.shape[1] else []
            parts.append(np.zeros(0) if cells.positions is None else cells.positions)
        return digest_of(parts)


def complex_set(
    complexes: Sequence[CellComplex],
    targets: ArrayLike | Sequence[ArrayLike] | None = None,
    task: Task | None = None,
    split: Mapping[str, ArrayLike] | None = None,
    name: str = "complexes",
) -> GraphSet:
    """A set of your own complexes, ready to be prepared with the lifting `OwnCells`.

    ``targets`` has one value or one row of values per complex, or, for a task with a ``rank``, an
    array of values or rows for each complex, in the order of its cells of that rank; NaN where one
    is missing. Raises ValueError where lengths do not fit.
    """
    if (targets is None) != (task is None):
        raise ValueError("targets and the task that they pose belong together")
    listed = ComplexList(tuple(complexes))
    offsets = None
    rows: Float[np.ndarray, "target_row target"] = np.zeros((len(complexes), 0), np.float32)
    if task is not None and task.rank is not None:
        per_complex = [np.asarray(one, np.float64) for one in targets]  # type: ignore[union-attr]
        _check_cells(complexes, per_complex, task.rank, name)
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in per_complex])])
        shaped = [one[:, None] if one.ndim == 1 else one for one in per_complex]
        rows = narrowed(np.concatenate([np.zeros((0, len(task.targets))), *shaped]))
    elif targets is not None:
        values = np.asarray(targets, np.float64)
        rows = narrowed(values[:, None] if values.ndim == 1 else values)
    return GraphSet(
        name,
        listed,
        rows,
        task,
        None if split is None else rows_of(split),
        listed.digest(),
        offsets,
    )


def _check_cells(
    complexes: Sequence[CellComplex], targets: Sequence[np.ndarray], rank: int, name: str
) -> None:
    if len(complexes) != len(targets):
        raise ValueError(f"{name}: targets of {len(targets)} complexes for {len(complexes)}")
    for row, (cells, own) in enumerate(zip(complexes, targets, strict=True)):
        count = cells.num_cells[rank] if rank <= cells.dim else 0
        if len(own) != count:
            raise ValueError(
                f"{name}: complex {row} ({cells.name!r}) has {count} cells of rank {rank}, but "
                f"{len(own)} targets"
            )
