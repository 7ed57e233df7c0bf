"""Arrays that grow in compiled code."""

from typing import no_type_check

import numpy as np
from numba import njit


@njit(cache=True)
@no_type_check
def grown(array, needed):
    """The array, with unset rows added if it has fewer than ``needed`` (at least doubled)."""
    if len(array) >= needed:
        return array
    longer = np.empty((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
