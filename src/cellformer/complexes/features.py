"""The features of an ordered set of cells."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32, Float64, Int64
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of each of ``cell`` cells, row i belonging to cell i.

    A discrete column holds category numbers (0, 1, ...), to be embedded; a continuous column
    holds measured values; a signed column is a cochain: potentials of vertices, flows along edges,
    fluxes through faces. Its values are meant along the orientation of each cell, so they change
    their signs where the cell is reversed. Any kind may have no columns.
    """

    discrete: Int64[np.ndarray, "cell discrete"]
    continuous: Float32[np.ndarray, "cell continuous"]
    signed: Float32[np.ndarray, "cell signed"] = None  # type: ignore[assignment]  # no columns

    def __post_init__(self) -> None:
        if self.signed is None:
            object.__setattr__(self, "signed", np.zeros((len(self.discrete), 0), np.float32))

    def __len__(self) -> int:
        return len(self.discrete)

    @property
    def columns(self) -> tuple[int, int, int]:
        """The numbers of discrete, continuous and signed columns."""
        return self.discrete.shape[1], self.continuous.shape[1], self.signed.shape[1]

    def take(self, rows: NDArray[np.integer] | slice) -> "Features":
        """Those of some cells, in this order."""
        return Features(self.discrete[rows], self.continuous[rows], self.signed[rows])

    def turned(self, signs: NDArray[np.integer]) -> "Features":
        """Those of the same cells, reversed where ``signs``, one for each cell, is -1."""
        turned = self.signed * signs[:, None].astype(np.float32)
        return replace(self, signed=turned + np.float32(0))  # the sum makes -0 to 0

    def with_signed(self, values: ArrayLike, what: str = "signed features") -> "Features":
        """The same with these signed columns instead, of shape (cell,) or (cell, columns).

        Whole numbers are values here, not categories. Raises ValueError if rows are missing or a
        value is not finite as a float32; ``what`` names the values in errors.
        """
        signed = Features.of(np.asarray(values, np.float64), len(self), what).continuous
        return replace(self, signed=signed)

    @classmethod
    def empty(cls, num_cells: int) -> "Features":
        """Features without columns."""
        return cls(np.zeros((num_cells, 0), np.int64), np.zeros((num_cells, 0), np.float32))

    @classmethod
    def of(cls, values: "ArrayLike | Features | None", num_cells: int, what: str) -> "Features":
        """Integers and booleans become discrete columns, floating-point numbers continuous ones.

        ``values`` has shape (num_cells,) or (num_cells, columns); ``what`` names it in errors.
        Signed columns are given by `with_signed`.
        Raises ValueError if rows are missing, a category is outside 0 ... 2^31 - 1 (the ragged
        store keeps 32 bits), or a value is not finite as a float32.
        """
        if values is None:
            return cls.empty(num_cells)
        if isinstance(values, Features):
            features = values
        else:
            array = np.asarray(values)
            if array.ndim == 1:
                array = array[:, None]
            if array.ndim != 2:
                raise ValueError(f"{what} must have one row per cell, got shape {array.shape}")
            features = cls._of_array(array, what)
        for rows in (features.discrete, features.continuous, features.signed):
            if len(rows) != num_cells:
                raise ValueError(f"{what} has {len(rows)} rows for {num_cells} cells")
        _check_finite(features.signed, f"{what}: signed")
        return features

    @classmethod
    def _of_array(cls, array: NDArray[np.generic], what: str) -> "Features":
        none = cls.empty(len(array))
        if array.dtype.kind in "bui":
            if array.size and array.min() < 0:
                raise ValueError(f"{what} has a negative category ({array.min()})")
            if array.size and array.max() > np.iinfo(np.int32).max:
                raise ValueError(
                    f"{what} has a category too large for 32 bits ({array.max()}); "
                    "number the categories 0, 1, ..."
                )
            return cls(array.astype(np.int64), none.continuous)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                values = array.astype(np.float32)
            _check_finite(values, what)
            return cls(none.discrete, values)
        raise ValueError(f"{what} must be numbers, got {array.dtype}")


def _check_finite(values: Float32[np.ndarray, "cell column"], what: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(f"{what} has a value that is not finite in row {bad.nonzero()[0][0]}")


def positions_of(
    values: ArrayLike | None, num_vertices: int, where: str
) -> Float64[np.ndarray, "vertex space"] | None:
    """Positions as rows of coordinates; ValueError if rows are missing or a value is not finite."""
    if values is None:
        return None
    positions = np.asarray(values, np.float64)
    if positions.ndim != 2 or len(positions) != num_vertices:
        raise ValueError(
            f"{where}: positions must have one row for each of the {num_vertices} vertices, "
            f"got shape {positions.shape}"
        )
    if not np.isfinite(positions).all():
        row = int((~np.isfinite(positions)).any(axis=1).argmax())
        raise ValueError(f"{where}: the position of vertex {row} is not finite")
    return positions
