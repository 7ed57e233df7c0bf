"""The softmax of one receiver's scores, for the kernels on a CPU."""

from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.attention.lanes import (
    add,
    divide,
    larger,
    load,
    log,
    multiply,
    splat,
    store,
    subtract,
)
from cellformer.attention.lanes_exp import exp


@njit(error_model="numpy")
@no_type_check
def soften(weights, count, log_sum_exp, to, heads, zero, lanes):
    """Turns ``count`` scores per head into weights.

    Stores the logarithm of each denominator from ``to`` on.
    """
    one = splat(1.0, zero)
    for head in range(0, heads, len(lanes)):
        top, total = splat(-np.inf, zero), zero
        for at in range(head, count * heads, heads):
            top = larger(load(weights, at, zero), top)
        for at in range(head, count * heads, heads):
            weight = exp(subtract(load(weights, at, zero), top))
            store(weights, at, weight)
            total = add(total, weight)
        store(log_sum_exp, to + head, add(top, log(total)))
        reciprocal = divide(one, total)
        for at in range(head, count * heads, heads):
            store(weights, at, multiply(load(weights, at, zero), reciprocal))
