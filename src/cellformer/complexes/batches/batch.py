"""Complexes side by side as one complex of torch tensors."""

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
import torch
from jaxtyping import Float, Float32, Int8, Int32, Int64
from scipy import sparse
from torch import Tensor

from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.batches.runs import numbers_of
from cellformer.complexes.cell_complex import Boundary, CellComplex, boundary_at
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank, united_faces
from cellformer.complexes.matrices import Bounded, Matrix
from cellformer.complexes.words import cells_told


@dataclass(frozen=True, eq=False)
class Faces:
    """A boundary matrix as tensors: cell c has the faces ``faces[offsets[c]:offsets[c + 1]]``."""

    offsets: Int64[Tensor, " cell_plus_1"]
    faces: Int32[Tensor, " face"]  # cells of the rank below
    signs: Int8[Tensor, " face"]  # their incidence numbers

    def matrix(self, cells_below: int) -> Boundary:
        """The same as a scipy matrix, on the CPU."""
        signs, faces, offsets = (
            tensor.cpu().numpy() for tensor in (self.signs, self.faces, self.offsets.int())
        )
        return sparse.csc_array((signs, faces, offsets), shape=(cells_below, len(offsets) - 1))


@dataclass(frozen=True, eq=False)
class Part:
    """Where the complexes of a batch stand in a larger one, which several processes share.

    What is random per complex is drawn from ``seed`` for the whole batch, by every process alike.
    """

    places: Int64[Tensor, " complex"]
    total: int
    seed: int = 0


@dataclass(frozen=True, eq=False)
class CellBatch:
    """The disjoint union of some complexes: rank after rank, in each rank complex after complex.

    Each rank has its own offsets; a complex that lacks a rank owns no rows there.
    """

    offsets: tuple[Int64[Tensor, " complex_plus_1"], ...]  # one per rank
    faces: tuple[Faces, ...]  # B_1 ... B_n of the union, where they were put together
    discrete: tuple[Int64[Tensor, "_ _"], ...]  # one per rank, (cells_k, discrete_k)
    continuous: tuple[Float[Tensor, "_ _"], ...]  # one per rank, (cells_k, continuous_k)
    encodings: tuple[Float[Tensor, "_ encoding"], ...]  # one per rank, (cells_k, encoding)
    encoding_signs: Int8[Tensor, " encoding"]
    targets: Float[Tensor, "target_row target"] | None = None  # of complexes, or of cells
    _neighborhoods: dict[Hashable, Neighborhood] = field(default_factory=dict, repr=False)
    part: Part | None = None  # of what it is a part, if it is
    descriptors: Float32[Tensor, "complex descriptor"] | None = None  # counts, then values
    bounds: Float[Tensor, "complex side"] | None = None  # as in `RaggedComplexes`
    signed: tuple[Float[Tensor, "_ _"], ...] = ()  # one per rank, (cells_k, signed_k)

    def __post_init__(self) -> None:
        if not self.signed:  # left out: no rank has any
            none = tuple(rows.new_zeros((len(rows), 0)) for rows in self.continuous)
            object.__setattr__(self, "signed", none)

    def __repr__(self) -> str:
        many = f"{self.num_complexes:,} complex{'' if self.num_complexes == 1 else 'es'}"
        return f"CellBatch({many}: {cells_told(self.num_cells)}, on {self.device})"

    @property
    def num_complexes(self) -> int:
        """The number of complexes."""
        return len(self.offsets[0]) - 1

    @property
    def dim(self) -> int:
        """The highest rank of any complex."""
        return len(self.faces)

    @property
    def num_cells(self) -> tuple[int, ...]:
        """The number of cells of each rank, all complexes together."""
        return tuple(len(rows) for rows in self.encodings)

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.encoding_signs.device

    @cached_property
    def boundaries(self) -> tuple[Boundary, ...]:
        """``B_1 ... B_n`` of the union, on the CPU."""
        return tuple(
            faces.matrix(below) for faces, below in zip(self.faces, self.num_cells, strict=False)
        )

    def boundary(self, rank: int) -> Boundary:
        """``B_rank`` of the union, without entries outside 1 ... dim."""
        return boundary_at(self.boundaries, self.num_cells, rank)

    def complex_of(self, rank: int) -> Int64[Tensor, " cell"]:
        """The number of the complex that each cell of a rank belongs to."""
        return numbers_of(self.offsets[rank], self.num_cells[rank])

    def neighborhood(self, key: Hashable, make: Callable[[Bounded], Matrix]) -> Neighborhood:
        """``make(self)`` on this batch's device, made once and kept under ``key``."""
        if key not in self._neighborhoods:
            self.keep(key, Neighborhood.from_matrix(make(self)))
        return self._neighborhoods[key]

    def keep(self, key: Hashable, neighborhood: Neighborhood) -> Neighborhood:
        """Has the batch keep a neighborhood on its device, for all who ask for this key."""
        kept = self._neighborhoods[key] = neighborhood.to(self.device)
        return kept

    @property
    def neighborhoods(self) -> Mapping[Hashable, Neighborhood]:
        """The neighborhoods made so far, by their keys."""
        return MappingProxyType(self._neighborhoods)

    def to(self, device: torch.device | str) -> "CellBatch":
        """The same batch on another device.

        The faces stay, because neighborhoods are made from them on the CPU.
        """
        if torch.device(device) == self.device:
            return self
        return replace(
            self,
            offsets=tuple(t.to(device) for t in self.offsets),
            discrete=tuple(t.to(device) for t in self.discrete),
            continuous=tuple(t.to(device) for t in self.continuous),
            encodings=tuple(t.to(device) for t in self.encodings),
            encoding_signs=self.encoding_signs.to(device),
            targets=None if self.targets is None else self.targets.to(device),
            _neighborhoods={k: n.to(device) for k, n in self._neighborhoods.items()},
            descriptors=None if self.descriptors is None else self.descriptors.to(device),
            bounds=None if self.bounds is None else self.bounds.to(device),
            signed=tuple(t.to(device) for t in self.signed),
        )

    @classmethod
    def from_ragged(cls, ragged: RaggedComplexes) -> "CellBatch":
        """All complexes of a collection as one batch (choose some with `RaggedComplexes.take`)."""
        ranks = ragged.ranks
        return cls(
            tuple(torch.from_numpy(np.array(rank.offsets)) for rank in ranks),
            tuple(_faces(below, above) for below, above in itertools.pairwise(ranks)),
            tuple(torch.from_numpy(rank.discrete.astype(np.int64)) for rank in ranks),
            tuple(torch.from_numpy(np.array(rank.continuous)) for rank in ranks),
            tuple(torch.from_numpy(np.array(rank.encodings)) for rank in ranks),
            torch.from_numpy(np.array(ragged.encoding_signs)),
            None if ragged.targets is None else torch.from_numpy(np.array(ragged.targets)),
            descriptors=None
            if ragged.descriptors is None
            else torch.from_numpy(ragged.descriptors.joined()),
            bounds=None if ragged.bounds is None else torch.from_numpy(np.array(ragged.bounds)),
            signed=tuple(torch.from_numpy(np.array(rank.signed)) for rank in ranks),
        )


def collate(complexes: Sequence[CellComplex]) -> CellBatch:
    """One batch of complexes that carry the same kinds of features and encodings."""
    return CellBatch.from_ragged(RaggedComplexes.from_complexes(complexes))


def _faces(below: RaggedRank, above: RaggedRank) -> Faces:
    """The block-diagonal boundary from the cells of one rank to the rank below."""
    return Faces(
        torch.from_numpy(np.array(above.face_offsets, np.int64)),
        torch.from_numpy(united_faces(below, above)),
        torch.from_numpy(np.array(above.signs)),
    )
