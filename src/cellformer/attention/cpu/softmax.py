"""The softmax of one receiver's scores, for the kernels on a CPU."""

from typing import no_type_check

import numpy as np

from cellformer.attention.cpu.compiled import part_of_kernel
from cellformer.attention.cpu.lanes.exp import exp
from cellformer.attention.cpu.lanes.log import log
from cellformer.attention.cpu.lanes.vectors import (
    add,
    count,
    divide,
    larger,
    load,
    multiply,
    splat,
    store,
    subtract,
)


@part_of_kernel
@no_type_check
def soften(weights, pairs, log_sum_exp, heads, zero):
    """Turns the scores of so many pairs, (pair, head), into weights.

    Stores the logarithm of each head's denominator.
    """
    one = splat(1.0, zero)
    for head in range(0, heads, count(zero)):
        top, total = splat(-np.inf, zero), zero
        at = head
        for _ in range(pairs):  # a range of steps would begin with a division
            top = larger(load(weights, at, zero), top)
            at += heads
        at = head
        for _ in range(pairs):
            weight = exp(subtract(load(weights, at, zero), top))
            store(weights, at, weight)
            total = add(total, weight)
            at += heads
        store(log_sum_exp, head, add(top, log(total)))
        reciprocal = divide(one, total)
        at = head
        for _ in range(pairs):
            store(weights, at, multiply(load(weights, at, zero), reciprocal))
            at += heads
