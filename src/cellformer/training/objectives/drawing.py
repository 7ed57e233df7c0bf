"""Numbers that look random, for each cell of a batch, however the batch is divided."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch

_GOLDEN = -7_046_029_254_386_353_131
_MIXERS = (-4_658_895_280_553_007_687, -7_723_592_293_110_705_685)
_BITS = 53
_POSITIVE = 2**63 - 1


def drawn(batch: CellBatch, rank: int, seed: int) -> Float[Tensor, " cell"]:
    """A number from 0 to below 1 for each cell of a rank, in float64.

    It depends on the seed, the place of the complex in the whole batch, the rank and the number of
    the cell in its complex alone, so that processes that share a batch draw what one would. Source
    of the mixing: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
    """
    complex_of = batch.complex_of(rank)
    places = complex_of if batch.part is None else batch.part.places.to(batch.device)[complex_of]
    within = torch.arange(len(complex_of), device=batch.device) - batch.offsets[rank][complex_of]
    mixed = _mixed(torch.full_like(within, seed & _POSITIVE))
    for value in (places, within, torch.full_like(within, rank)):
        mixed = _mixed(mixed + value + 1)
    numbers: Float[Tensor, " cell"] = _logical_shift(mixed, 64 - _BITS).double() / 2**_BITS
    return numbers


def _mixed(numbers: Int64[Tensor, " cell"]) -> Int64[Tensor, " cell"]:
    """Neighboring numbers become far ones; products overflow, as they are meant to."""
    numbers = numbers * _GOLDEN
    for shift, mixer in zip((30, 27), _MIXERS, strict=True):
        numbers = (numbers ^ _logical_shift(numbers, shift)) * mixer
    return numbers ^ _logical_shift(numbers, 31)


def _logical_shift(numbers: Int64[Tensor, " cell"], bits: int) -> Int64[Tensor, " cell"]:
    """To the right, with zeros from the left."""
    return (numbers >> bits) & ((1 << (64 - bits)) - 1)
