"""Arrays that grow in compiled code, and copies between them.

Copies are loops: `array[start:stop] = values` would compile, into every function that does so, what
Numba writes into the message of its error, which takes longer than all the rest.
"""

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
    copy_to(longer.reshape(-1), 0, array.reshape(-1))
    return longer


@njit(cache=True)
@no_type_check
def copy_to(array, start, values):
    """Sets ``array[start:]``, as far as there are values; both have one axis."""
    for i in range(len(values)):
        array[start + i] = values[i]
