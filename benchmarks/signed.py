"""A training step with columns that flip with orientation against one without, as wide in all.

A step is that of `benchmarks.pairs`, batch and neighborhoods and all. ZINC-12k with the paper's
preset, of whose 96 columns a quarter flips; the ratio is the step with signs over the one without,
so smaller is better.
"""

import dataclasses

from benchmarks.pairs import compare
from cellformer.model.config import ArchitectureConfig


def signed(plain: ArchitectureConfig) -> ArchitectureConfig:
    """With a quarter of the columns that flips."""
    flipping = plain.width // 4
    return dataclasses.replace(plain, width=plain.width - flipping, signed_width=flipping)


if __name__ == "__main__":
    compare(__doc__, "without signs", signed)
