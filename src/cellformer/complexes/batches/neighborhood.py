"""The neighborhood of every receiving cell, as attention reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float16, Float32, Int8, Int64
from torch import Tensor

from cellformer.complexes.batches.by_sender import TransposedPairs
from cellformer.complexes.batches.components import Components
from cellformer.complexes.batches.runs import numbers_of
from cellformer.complexes.matrices import Matrix


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """A sparse matrix N with one row per receiver and one column per sender, in CSR form.

    Receiver r has the neighbors ``senders[offsets[r]:offsets[r + 1]]`` with these ``weights``.
    ``features`` is what else is known of each pair, if anything is. ``signs`` say, where they are
    known, whether the two are oriented alike (`relative_orientations`), and ``copies`` how many
    rows a sender then needs: one if all are 1, two if some are -1, three if some are 0.
    ``common`` are the cells that pairs have in common, by a name of where these are, if they were
    found already: numbers of pairs, and of the cell of each.
    """

    num_senders: int
    offsets: Int64[Tensor, " receiver_plus_1"]
    senders: Int64[Tensor, " pair"]
    weights: Float32[Tensor, " pair"]
    features: Float16[Tensor, "pair feature"] | None = None
    signs: Int8[Tensor, " pair"] | None = None
    copies: int = 1
    common: Mapping[str, tuple[Int64[Tensor, " _"], Int64[Tensor, " _"]]] | None = None

    @property
    def num_receivers(self) -> int:
        """The number of rows."""
        return len(self.offsets) - 1

    @cached_property
    def receivers(self) -> Int64[Tensor, " pair"]:
        """The receiver of every pair, ascending."""
        return numbers_of(self.offsets, len(self.senders))

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

    @cached_property
    def in_copies(self) -> "Neighborhood":
        """The same pairs, whose senders have as many rows in succession as there are copies.

        The first is for the sign 1, the second for -1, the third for 0.
        """
        if self.copies == 1 or self.signs is None:
            return self
        place = torch.where(self.signs > 0, 0, torch.where(self.signs < 0, 1, 2))
        senders = self.senders * self.copies + place
        return replace(
            self, num_senders=self.num_senders * self.copies, senders=senders, signs=None
        )

    def binary(self) -> "Neighborhood":
        """The same neighbors, every weight 1."""
        return replace(self, weights=torch.ones_like(self.weights))

    def to(self, device: torch.device | str) -> "Neighborhood":
        """The same on another device."""
        common = None
        if self.common is not None:
            common = {
                name: (pairs.to(device), cells.to(device))
                for name, (pairs, cells) in self.common.items()
            }
        return Neighborhood(
            self.num_senders,
            self.offsets.to(device),
            self.senders.to(device),
            self.weights.to(device),
            None if self.features is None else self.features.to(device),
            None if self.signs is None else self.signs.to(device),
            self.copies,
            common,
        )

    @classmethod
    def from_matrix(
        cls, matrix: Matrix, signs: Int8[np.ndarray, " pair"] | None = None
    ) -> "Neighborhood":
        """Takes the stored entries of a scipy CSR matrix, and their signs where these are given."""
        return cls(
            int(matrix.shape[1]),
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            signs=None if signs is None else torch.from_numpy(signs),
            copies=1 if signs is None else _copies(signs),
        )


def _copies(signs: Int8[np.ndarray, " pair"]) -> int:
    """How many rows a sender needs for these signs."""
    if (signs > 0).all():
        return 1
    return 2 if signs.all() else 3
