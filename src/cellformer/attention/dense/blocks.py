"""How the complexes of a batch are laid out for dense attention."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from cellformer.complexes.batches.members import Members
from cellformer.complexes.batches.neighborhood import Neighborhood


@dataclass(frozen=True, eq=False)
class DenseBlock:
    """Complexes of like size, one per row; an empty slot names cell 0 and is masked."""

    receivers: Int64[Tensor, "complex receiver_slot"]
    has_receiver: Bool[Tensor, "complex receiver_slot"]
    senders: Int64[Tensor, "complex sender_slot"]
    has_sender: Bool[Tensor, "complex sender_slot"]
    weights: Float32[Tensor, "complex receiver_slot sender_slot"]  # N, zero where not stored

    @cached_property
    def filled(self) -> Int64[Tensor, " receiver"]:
        """The numbers of the slots that hold a receiver, all rows of the block in one run."""
        return self.has_receiver.flatten().nonzero().squeeze(1)


@dataclass(frozen=True, eq=False)
class DenseBlocks:
    """The pairs of dense attention: every sender of the receiver's own complex.

    ``neighborhood`` is N, which biases the scores.
    """

    receivers: Members
    senders: Members
    neighborhood: Neighborhood
    receiver_complex: Int64[Tensor, " receiver"]

    @classmethod
    def of(
        cls,
        receiver_complex: Int64[Tensor, " receiver"],
        sender_complex: Int64[Tensor, " sender"],
        num_complexes: int,
        neighborhood: Neighborhood,
    ) -> "DenseBlocks":
        """Groups the complexes of a batch, given the complex that each cell belongs to.

        Raises ValueError if a pair of the neighborhood joins cells of two complexes.
        """
        check_within_complexes(neighborhood, receiver_complex, sender_complex)
        return cls(
            Members.of(receiver_complex, num_complexes),
            Members.of(sender_complex, num_complexes),
            neighborhood,
            receiver_complex,
        )

    @property
    def num_receivers(self) -> int:
        """The number of cells that attend."""
        return len(self.receivers.order)

    @property
    def num_senders(self) -> int:
        """The number of cells that are attended to."""
        return len(self.senders.order)

    @cached_property
    def work(self) -> Int64[Tensor, " complex_plus_1"]:
        """The number of pairs of all complexes before each."""
        pairs = self.receivers.counts * self.senders.counts
        return torch.cat([pairs.new_zeros(1), pairs.cumsum(0)])

    @cached_property
    def blocks(self) -> tuple[DenseBlock, ...]:
        """The complexes in padded blocks.

        The padded size of a block depends on the one complex alone, so that what else is in the
        batch cannot change the order of a sum. Complexes that lack receivers or senders are in
        no block.
        """
        neighborhood = self.neighborhood
        pair_complex = self.receiver_complex[neighborhood.receivers]
        shapes = torch.stack([_slots(self.receivers.counts), _slots(self.senders.counts)], dim=1)
        distinct, kind = torch.unique(shapes, dim=0, return_inverse=True)
        blocks = []
        for number, (receiver_slots, sender_slots) in enumerate(distinct.tolist()):
            if not receiver_slots or not sender_slots:
                continue
            chosen = (kind == number).nonzero().squeeze(1)
            row_of = torch.full_like(kind, -1)
            row_of[chosen] = torch.arange(len(chosen), device=kind.device)
            pairs = (row_of[pair_complex] >= 0).nonzero().squeeze(1)
            weights = torch.zeros(
                len(chosen), receiver_slots, sender_slots, device=neighborhood.weights.device
            )
            weights[
                row_of[pair_complex[pairs]],
                self.receivers.places[neighborhood.receivers[pairs]],
                self.senders.places[neighborhood.senders[pairs]],
            ] = neighborhood.weights[pairs]
            blocks.append(
                DenseBlock(
                    *self.receivers.padded(chosen, receiver_slots),
                    *self.senders.padded(chosen, sender_slots),
                    weights,
                )
            )
        return tuple(blocks)


def check_within_complexes(
    neighborhood: Neighborhood,
    receiver_complex: Int64[Tensor, " receiver"],
    sender_complex: Int64[Tensor, " sender"],
) -> None:
    """Raises ValueError if a pair joins cells of two complexes of a batch."""
    here = receiver_complex[neighborhood.receivers]
    there = sender_complex[neighborhood.senders]
    crossing = (here != there).nonzero()
    if len(crossing):
        pair = int(crossing[0, 0])
        raise ValueError(
            f"a neighborhood joins a cell of complex {int(here[pair])} to one of complex "
            f"{int(there[pair])} of the batch; a neighborhood function gets a whole batch and "
            "must not join cells of different complexes"
        )


def _slots(counts: Int64[Tensor, " complex"]) -> Int64[Tensor, " complex"]:
    """Rounds up to a multiple of 8, from 64 on to one of four sizes per doubling."""
    log2 = torch.frexp(counts.double()).exponent.long() - 1
    step = torch.ones_like(counts) << (log2 - 2).clamp(min=3)
    return (counts + step - 1) // step * step
