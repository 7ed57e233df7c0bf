"""Sparse matrices over the cells of many complexes, from which those of any few are cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float16, Int8, Int32, Int64, Shaped
from torch import Tensor

from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.many.ragged import RaggedRank


@dataclass(frozen=True, eq=False)
class Chosen:
    """The cells of one rank of some complexes, in a collection and in the batch of them."""

    cells: Int64[Tensor, " cell"]  # their numbers in the collection
    complexes: Int64[Tensor, " cell"]  # which of the chosen complexes each belongs to
    offsets: Int64[Tensor, " chosen_plus_1"]  # where each complex begins in the batch

    @classmethod
    def of(
        cls,
        offsets: Int64[Tensor, " complex_plus_1"],
        numbers: Int64[Tensor, " chosen"],
        total: int,
    ) -> "Chosen":
        """Those of the complexes of these numbers, ``total`` in all."""
        starts = offsets[numbers]
        counts = offsets[numbers + 1] - starts
        begins = _running_total(counts)
        places = torch.arange(len(numbers), device=numbers.device)
        complexes = places.repeat_interleave(counts, output_size=total)
        shift = (starts - begins[:-1])[complexes]
        return cls(torch.arange(total, device=numbers.device) + shift, complexes, begins)


@dataclass(frozen=True, eq=False)
class LocalPairs:
    """A matrix in CSR form of which no entry joins two complexes.

    Its rows are the cells of some ranks, rank after rank and in each rank complex after complex;
    its columns are cells numbered from 0 within each rank of each complex.
    """

    row_ranks: tuple[int, ...]
    row_starts: tuple[int, ...]  # where the rows of each of these ranks begin
    column_ranks: tuple[int, ...]
    pairs_per_complex: Int64[np.ndarray, " complex"]
    offsets: Int64[Tensor, " row_plus_1"]
    columns: Int32[Tensor, " pair"]
    column_block: Int8[Tensor, " pair"]  # the place in column_ranks of each column's rank
    values: Shaped[Tensor, " pair"]
    features: Float16[Tensor, "pair feature"] | None = None  # as in `Neighborhood`
    signs: Int8[Tensor, " pair"] | None = None
    copies: int = 1

    def tensors(self) -> Iterator[Tensor]:
        """All that take up memory."""
        yield from (self.offsets, self.columns, self.column_block, self.values)
        yield from (each for each in (self.features, self.signs) if each is not None)

    def to(self, device: torch.device | str) -> "LocalPairs":
        """The same on another device."""
        return replace(
            self,
            offsets=self.offsets.to(device),
            columns=self.columns.to(device),
            column_block=self.column_block.to(device),
            values=self.values.to(device),
            features=None if self.features is None else self.features.to(device),
            signs=None if self.signs is None else self.signs.to(device),
        )

    def cut(self, chosen: Sequence[Chosen], complexes: Int64[np.ndarray, " chosen"]) -> "CutPairs":
        """The matrix of the union of some complexes; ``chosen`` has their cells of every rank."""
        total = int(self.pairs_per_complex[complexes].sum())
        starts = zip(self.row_ranks, self.row_starts, strict=True)
        rows = _joined([chosen[rank].cells + start for rank, start in starts])
        complex_of_row = _joined([chosen[rank].complexes for rank in self.row_ranks])
        firsts = self.offsets[rows]
        offsets = _running_total(self.offsets[rows + 1] - firsts)
        row_of_pair = torch.arange(len(rows), device=rows.device).repeat_interleave(
            offsets.diff(), output_size=total
        )
        pairs = torch.arange(total, device=rows.device) + (firsts - offsets[:-1])[row_of_pair]
        begins, before = [], 0
        for rank in self.column_ranks:
            begins.append(chosen[rank].offsets[:-1] + before)
            before += len(chosen[rank].cells)
        shift = complex_of_row[row_of_pair]
        if len(begins) > 1:
            shift = shift + self.column_block[pairs].long() * len(complexes)
        columns = self.columns[pairs] + _joined(begins)[shift]
        features = None if self.features is None else self.features[pairs]
        signs = None if self.signs is None else self.signs[pairs]
        return CutPairs(offsets, columns, self.values[pairs], features, signs, self.copies)

    @classmethod
    def of_faces(cls, rank: int, cells: RaggedRank) -> "LocalPairs":
        """The boundaries from the cells of a rank, of all complexes of a collection."""
        return cls(
            (rank,),
            (0,),
            (rank - 1,),
            np.diff(cells.face_offsets[cells.offsets]).astype(np.int64),
            torch.from_numpy(np.array(cells.face_offsets, np.int64)),
            torch.from_numpy(np.array(cells.faces, np.int32)),
            torch.zeros(len(cells.faces), dtype=torch.int8),
            torch.from_numpy(np.array(cells.signs)),
        )

    @classmethod
    def of_neighborhood(
        cls,
        whole: Neighborhood,
        offsets: Sequence[Int64[np.ndarray, " complex_plus_1"]],
        row_ranks: Sequence[int],
        column_ranks: Sequence[int],
    ) -> "LocalPairs":
        """A neighborhood of all complexes of a collection; ``offsets`` are those of its ranks.

        Raises ValueError if a pair joins cells of two complexes.
        """
        row_complex, _, _ = _places(offsets, row_ranks)
        column_complex, local, block = _places(offsets, column_ranks)
        columns = whole.senders.numpy()
        here = np.repeat(row_complex, np.diff(whole.offsets.numpy()))
        if (here != column_complex[columns]).any():
            raise ValueError("a neighborhood joins cells of two complexes")
        starts = np.cumsum([0, *(offsets[rank][-1] for rank in row_ranks)])
        return cls(
            tuple(row_ranks),
            tuple(starts[:-1].tolist()),
            tuple(column_ranks),
            np.bincount(here, minlength=len(offsets[0]) - 1),
            whole.offsets,
            torch.from_numpy(local[columns].astype(np.int32)),
            torch.from_numpy(block[columns].astype(np.int8)),
            whole.weights,
            whole.features,
            whole.signs,
            whole.copies,
        )


class CutPairs(NamedTuple):
    """A matrix in CSR form, with what is known of its entries."""

    offsets: Int64[Tensor, " row_plus_1"]
    columns: Int64[Tensor, " pair"]
    values: Shaped[Tensor, " pair"]
    features: Float16[Tensor, "pair feature"] | None
    signs: Int8[Tensor, " pair"] | None
    copies: int


def _places(
    offsets: Sequence[Int64[np.ndarray, " complex_plus_1"]], ranks: Sequence[int]
) -> tuple[Int64[np.ndarray, " cell"], Int64[np.ndarray, " cell"], Int64[np.ndarray, " cell"]]:
    """Of the cells of some ranks, rank after rank: complex, number in it, place of the rank."""
    counts = np.concatenate([np.diff(offsets[rank]) for rank in ranks])
    numbers = np.tile(np.arange(len(offsets[0]) - 1), len(ranks))
    firsts = np.concatenate([offsets[rank][:-1] for rank in ranks])
    totals = [int(offsets[rank][-1]) for rank in ranks]
    within = np.concatenate([np.arange(total) for total in totals])
    block = np.repeat(np.arange(len(ranks)), totals)
    return np.repeat(numbers, counts), within - np.repeat(firsts, counts), block


def _running_total(counts: Int64[Tensor, " item"]) -> Int64[Tensor, " item_plus_1"]:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _joined(parts: Sequence[Int64[Tensor, " _"]]) -> Int64[Tensor, " _"]:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))
