"""Random numbers that are a function of (seed, pair, head), so that nothing need be stored.

A counter-based generator: the forward and the backward ask for the same number and get it, in any
order and on any number of threads.
"""

from typing import no_type_check

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from cellformer.attention.cpu.compiled import part_of_kernel
from cellformer.attention.cpu.lanes.vectors import INTEGER, broadcast

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


@part_of_kernel
@no_type_check
def pair_key(seed, pair):
    """64 random bits for a pair: the splitmix64 generator's after ``pair + 1`` steps.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
    """
    bits = np.uint64(seed) + (np.uint64(pair) + np.uint64(1)) * GOLDEN
    bits = (bits ^ (bits >> SHIFTS[0])) * MIX[0]
    bits = (bits ^ (bits >> SHIFTS[1])) * MIX[1]
    return bits ^ (bits >> SHIFTS[2])


@intrinsic
@no_type_check
def kept(typing, key, head, threshold, factor, like):
    """For the heads from ``head`` on, 0 with probability threshold / 2^32, else ``factor``."""

    def emit(context, builder, signature, values):
        key, head, threshold, factor, _ = values
        low = broadcast(builder, builder.trunc(key, INTEGER), like.integers)
        high = builder.trunc(builder.lshr(key, ir.Constant(key.type, 32)), INTEGER)
        first = broadcast(builder, builder.trunc(head, INTEGER), like.integers)
        lane = ir.Constant(like.integers, [ir.Constant(INTEGER, i) for i in range(like.count)])
        heads = builder.add(first, lane)
        bits = builder.add(low, builder.mul(heads, like.integer_constant(0x9E3779B9)))
        bits = builder.xor(_mixed(builder, like, bits), broadcast(builder, high, like.integers))
        bits = _mixed(builder, like, bits)
        dropped = builder.icmp_unsigned("<", bits, broadcast(builder, threshold, like.integers))
        return builder.select(dropped, like.constant(0.0), broadcast(builder, factor, like.vector))

    return like(types.uint64, types.intp, types.uint32, like.dtype, like), emit


@no_type_check
def _mixed(builder, lanes, bits):
    """A bijection of 32 bits in which each bit depends on all (C. Wellons, "lowbias32")."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits = builder.xor(bits, builder.lshr(bits, lanes.integer_constant(shift)))
        bits = builder.mul(bits, lanes.integer_constant(factor))
    return builder.xor(bits, builder.lshr(bits, lanes.integer_constant(16)))
