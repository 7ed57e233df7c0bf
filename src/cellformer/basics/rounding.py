"""Numbers in 32 bits, unless what tells them apart would be lost."""

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

MOST_LOST = 1e-4
"""Part of a column's deviation that rounding may take."""
HALF_UNIT = 2.0**-24
"""Of a number in 32 bits, what rounding changes at most, relative to it."""


def narrowed(values: NDArray[np.number]) -> Float[np.ndarray, "*shape"]:
    """The values in 32 bits; in 64 where a column of (rows, columns) lies too far from zero.

    Values such as 1e8 + y, with a small y, would differ in nothing else. NaN counts as unknown.
    """
    wide = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    columns = (wide[:, None], narrow[:, None]) if wide.ndim == 1 else (wide, narrow)
    for exact, rounded in zip(columns[0].T, columns[1].T, strict=True):
        known = np.isfinite(rounded)
        if known.any():
            lost = np.abs(rounded[known] - exact[known]).max()
            if lost > MOST_LOST * (exact[known].std() or 1.0):
                return wide
    return narrow
