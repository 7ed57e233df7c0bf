"""How the complexes of a batch are laid out for dense attention: padded blocks of like size."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from cellformer.complexes.neighborhood import Neighborhood


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

    The padded size of a block depends on the one complex alone, so that what else is in the
    batch cannot change the order of a sum. Complexes that lack receivers or senders are in no
    block.
    """

    num_receivers: int
    num_senders: int
    blocks: tuple[DenseBlock, ...]

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
        receivers = _Members.of(receiver_complex, num_complexes)
        senders = _Members.of(sender_complex, num_complexes)
        pair_complex = receiver_complex[neighborhood.receivers]
        shapes = torch.stack([_slots(receivers.counts), _slots(senders.counts)], dim=1)
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
                receivers.place[neighborhood.receivers[pairs]],
                senders.place[neighborhood.senders[pairs]],
            ] = neighborhood.weights[pairs]
            blocks.append(
                DenseBlock(
                    *receivers.padded(chosen, receiver_slots),
                    *senders.padded(chosen, sender_slots),
                    weights,
                )
            )
        return cls(len(receiver_complex), len(sender_complex), tuple(blocks))


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


@dataclass(frozen=True, eq=False)
class _Members:
    """The cells of each complex: ``order[starts[i]:starts[i] + counts[i]]`` for complex i."""

    order: Int64[Tensor, " cell"]
    starts: Int64[Tensor, " complex"]
    counts: Int64[Tensor, " complex"]
    place: Int64[Tensor, " cell"]  # of each cell within its complex

    @classmethod
    def of(cls, complex_of: Int64[Tensor, " cell"], num_complexes: int) -> "_Members":
        order = complex_of.argsort(stable=True)
        counts = complex_of.bincount(minlength=num_complexes)
        starts = counts.cumsum(0) - counts
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=order.device) - starts[complex_of[order]]
        return cls(order, starts, counts, place)

    def padded(
        self, complexes: Int64[Tensor, " chosen"], slots: int
    ) -> tuple[Int64[Tensor, "chosen slot"], Bool[Tensor, "chosen slot"]]:
        """The cells of some complexes, one complex per row, and which slots are filled."""
        slot = torch.arange(slots, device=complexes.device)
        filled = slot < self.counts[complexes, None]
        positions = (self.starts[complexes, None] + slot).where(filled, 0)
        return self.order[positions].where(filled, 0), filled


def _slots(counts: Int64[Tensor, " complex"]) -> Int64[Tensor, " complex"]:
    """Rounds up to a multiple of 8, from 64 on to one of four sizes per doubling."""
    log2 = torch.frexp(counts.double()).exponent.long() - 1
    step = torch.ones_like(counts) << (log2 - 2).clamp(min=3)
    return (counts + step - 1) // step * step
