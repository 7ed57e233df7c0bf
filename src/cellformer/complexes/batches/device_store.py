"""A whole collection as tensors on one device, where batches are cut from it."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Float32, Int8, Int32, Int64, UInt8
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch, Faces
from cellformer.complexes.batches.local_pairs import Chosen, LocalPairs
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank


@dataclass(frozen=True, eq=False)
class ResidentRank:
    """The cells of one rank of all complexes; the fields are those of `RaggedRank`."""

    offsets: Int64[Tensor, " complex_plus_1"]
    discrete: Int32[Tensor, "cell discrete"]
    continuous: Float32[Tensor, "cell continuous"]
    encodings: Float32[Tensor, "cell encoding"]
    signed: Float32[Tensor, "cell signed"]

    @classmethod
    def of(cls, rank: RaggedRank) -> "ResidentRank":
        """A copy in memory."""
        discrete = rank.discrete.astype(np.int32)
        arrays = (rank.offsets, discrete, rank.continuous, rank.encodings, rank.signed)
        return cls(*(torch.from_numpy(np.array(array)) for array in arrays))

    def to(self, device: torch.device | str) -> "ResidentRank":
        """The same on another device."""
        return ResidentRank(*(tensor.to(device) for tensor in self.tensors()))

    def tensors(self) -> Iterator[Tensor]:
        """All that take up memory."""
        yield from (self.offsets, self.discrete, self.continuous, self.encodings, self.signed)


@dataclass(frozen=True, eq=False)
class ResidentDescriptors:
    """The fields are those of `Descriptors`."""

    counts: UInt8[Tensor, "complex count"]
    values: Float32[Tensor, "complex value"]

    @classmethod
    def of(cls, descriptors: Descriptors) -> "ResidentDescriptors":
        """A copy in memory."""
        arrays = (descriptors.counts, descriptors.values)
        return cls(*(torch.from_numpy(np.array(array)) for array in arrays))

    def to(self, device: torch.device | str) -> "ResidentDescriptors":
        """The same on another device."""
        return ResidentDescriptors(self.counts.to(device), self.values.to(device))

    def joined(self, rows: Int64[Tensor, " chosen"]) -> Float32[Tensor, "chosen descriptor"]:
        """Counts and values of some complexes side by side."""
        return torch.cat([self.counts[rows].float(), self.values[rows]], dim=1)


@dataclass(frozen=True, eq=False)
class ResidentComplexes:
    """What `RaggedComplexes` holds, and some of its neighborhoods, as tensors on one device.

    A batch is put together there by indexing: what travels to the device are the numbers of the
    complexes, and nothing comes back, since all sizes are known on the CPU. It equals the batch
    of `CellBatch.from_ragged` bit for bit. Neighborhoods that were not kept are made by the batch
    when they are asked for, on the CPU.
    """

    num_cells: Int64[np.ndarray, "complex rank"]
    ranks: tuple[ResidentRank, ...]
    faces: tuple[LocalPairs, ...]  # B_1 ... B_n, one row per cell
    neighborhoods: Mapping[Hashable, LocalPairs]
    encoding_signs: Int8[Tensor, " encoding"]
    targets: Float[Tensor, "target_row target"] | None
    target_rank: int | None = None  # as in `RaggedComplexes`
    descriptors: ResidentDescriptors | None = None
    bounds: Float[Tensor, "complex side"] | None = None

    def __len__(self) -> int:
        return len(self.num_cells)

    @property
    def nbytes(self) -> int:
        """The memory that the tensors take up, apart from the targets."""
        pairs = (*self.faces, *self.neighborhoods.values())
        tensors = [tensor for each in self.ranks for tensor in each.tensors()]
        tensors += [tensor for each in pairs for tensor in each.tensors()]
        if self.descriptors is not None:
            tensors += [self.descriptors.counts, self.descriptors.values]
        return sum(tensor.nbytes for tensor in tensors)

    def to(self, device: torch.device | str) -> "ResidentComplexes":
        """The same on another device."""
        return replace(
            self,
            ranks=tuple(rank.to(device) for rank in self.ranks),
            faces=tuple(faces.to(device) for faces in self.faces),
            neighborhoods={key: pairs.to(device) for key, pairs in self.neighborhoods.items()},
            encoding_signs=self.encoding_signs.to(device),
            targets=None if self.targets is None else self.targets.to(device),
            descriptors=None if self.descriptors is None else self.descriptors.to(device),
            bounds=None if self.bounds is None else self.bounds.to(device),
        )

    def batch(self, complexes: Int64[np.ndarray, " chosen"]) -> CellBatch:
        """Some of the complexes as one batch, in the given order."""
        numbers = torch.from_numpy(complexes).to(self.encoding_signs.device)
        chosen = [
            Chosen.of(rank.offsets, numbers, int(self.num_cells[complexes, number].sum()))
            for number, rank in enumerate(self.ranks)
        ]
        cells = [placed.cells for placed in chosen]
        targeted = numbers if self.target_rank is None else cells[self.target_rank]
        faces = (pairs.cut(chosen, complexes) for pairs in self.faces)
        return CellBatch(
            tuple(placed.offsets for placed in chosen),
            tuple(Faces(cut.offsets, cut.columns.int(), cut.values) for cut in faces),
            tuple(rank.discrete[rows].long() for rank, rows in zip(self.ranks, cells, strict=True)),
            tuple(rank.continuous[rows] for rank, rows in zip(self.ranks, cells, strict=True)),
            tuple(rank.encodings[rows] for rank, rows in zip(self.ranks, cells, strict=True)),
            self.encoding_signs,
            None if self.targets is None else self.targets[targeted],
            {
                key: Neighborhood(
                    sum(len(cells[rank]) for rank in pairs.column_ranks),
                    *pairs.cut(chosen, complexes),
                )
                for key, pairs in self.neighborhoods.items()
            },
            descriptors=None if self.descriptors is None else self.descriptors.joined(numbers),
            bounds=None if self.bounds is None else self.bounds[numbers],
            signed=tuple(rank.signed[rows] for rank, rows in zip(self.ranks, cells, strict=True)),
        )

    @classmethod
    def of(
        cls,
        complexes: RaggedComplexes,
        neighborhoods: Mapping[Hashable, tuple[Sequence[int], Sequence[int], Neighborhood]],
    ) -> "ResidentComplexes":
        """Copies a collection into memory, from where `to` brings it to another device.

        ``neighborhoods`` are those of all complexes together, each after the ranks of its
        receivers and of its senders. Raises ValueError if one joins cells of two complexes.
        """
        offsets = [rank.offsets for rank in complexes.ranks]
        return cls(
            complexes.num_cells,
            tuple(ResidentRank.of(rank) for rank in complexes.ranks),
            tuple(
                LocalPairs.of_faces(number, rank)
                for number, rank in enumerate(complexes.ranks)
                if number
            ),
            {
                key: LocalPairs.of_neighborhood(whole, offsets, receivers, senders)
                for key, (receivers, senders, whole) in neighborhoods.items()
            },
            torch.from_numpy(np.array(complexes.encoding_signs)),
            None if complexes.targets is None else torch.from_numpy(np.array(complexes.targets)),
            complexes.target_rank,
            None if (given := complexes.descriptors) is None else ResidentDescriptors.of(given),
            None if complexes.bounds is None else torch.from_numpy(np.array(complexes.bounds)),
        )
