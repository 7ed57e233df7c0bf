"""The neighborhood of every receiving cell, as attention reads it."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float16, Float32, Int64
from torch import Tensor

from cellformer.complexes.batches.by_sender import TransposedPairs
from cellformer.complexes.batches.components import Components
from cellformer.complexes.matrices import Matrix


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """A sparse matrix N with one row per receiver and one column per sender, in CSR form.

    Receiver r has the neighbors ``senders[offsets[r]:offsets[r + 1]]`` with these ``weights``.
    ``features`` is what else is known of each pair, if anything is.
    """

    num_senders: int
    offsets: Int64[Tensor, " receiver_plus_1"]
    senders: Int64[Tensor, " pair"]
    weights: Float32[Tensor, " pair"]
    features: Float16[Tensor, "pair feature"] | None = None

    @property
    def num_receivers(self) -> int:
        """The number of rows."""
        return len(self.offsets) - 1

    @cached_property
    def receivers(self) -> Int64[Tensor, " pair"]:
        """The receiver of every pair, ascending."""
        rows = torch.arange(self.num_receivers, device=self.offsets.device)
        return rows.repeat_interleave(self.offsets.diff(), output_size=len(self.senders))

    @cached_property
    def keys(self) -> Int64[Tensor, " pair"]:
        """A number for every pair by its two cells, ascending where senders are."""
        return self.receivers * self.num_senders + self.senders

    @cached_property
    def transposed(self) -> TransposedPairs:
        """The pairs sorted by sender, as the gradients of what senders send read them."""
        return TransposedPairs.of(self.num_senders, self.offsets, self.senders)

    @cached_property
    def components(self) -> Components:
        """The groups of receivers and senders between which nothing is sent; on a CPU."""
        return Components.of(self.num_senders, self.offsets, self.senders)

    def binary(self) -> "Neighborhood":
        """The same neighbors, every weight 1."""
        return replace(self, weights=torch.ones_like(self.weights))

    def to(self, device: torch.device | str) -> "Neighborhood":
        """The same on another device."""
        return Neighborhood(
            self.num_senders,
            self.offsets.to(device),
            self.senders.to(device),
            self.weights.to(device),
            None if self.features is None else self.features.to(device),
        )

    @classmethod
    def from_matrix(cls, matrix: Matrix) -> "Neighborhood":
        """Takes the stored entries of a scipy CSR matrix."""
        return cls(
            int(matrix.shape[1]),
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
        )
