"""The random numbers of `lanes.dropout` on a GPU: the same function of (seed, pair, head)."""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def kept(seed, pairs, heads, THRESHOLD: tl.constexpr, FACTOR: tl.constexpr, PRECISE: tl.constexpr):
    """(pair, head): 0 with probability THRESHOLD / 2^32, else FACTOR."""
    key = _pair_key(tl.load(seed).to(tl.uint64), pairs.to(tl.uint64))
    low, high = key.to(tl.uint32), (key >> 32).to(tl.uint32)
    bits = low[:, None] + (heads.to(tl.uint32) * 0x9E3779B9)[None, :]
    bits = _mixed(_mixed(bits) ^ high[:, None])
    return (bits >= THRESHOLD).to(PRECISE) * FACTOR  # not where(): it would round to float32


@triton.jit
@no_type_check
def _pair_key(seed, pairs):
    """64 random bits for each pair: the splitmix64 generator's after ``pair + 1`` steps."""
    bits = seed + (pairs + 1) * 0x9E3779B97F4A7C15
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB
    return bits ^ (bits >> 31)


@triton.jit
@no_type_check
def _mixed(bits):
    """A bijection of 32 bits in which each bit depends on all (C. Wellons, "lowbias32")."""
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 15)) * 0x846CA68B
    return bits ^ (bits >> 16)
