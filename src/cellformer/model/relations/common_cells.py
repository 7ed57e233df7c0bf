"""The cells that the two cells of a pair have in common."""

from typing import NamedTuple

import torch
from jaxtyping import Int64
from torch import Tensor

from cellformer.complexes.batches.batch import Faces
from cellformer.complexes.batches.by_sender import TransposedPairs
from cellformer.complexes.batches.neighborhood import Neighborhood


class CommonCells(NamedTuple):
    """The pair ``pairs[i]`` has the cell ``cells[i]`` in common."""

    pairs: Int64[Tensor, " common"]
    cells: Int64[Tensor, " common"]


def common_cofaces(
    pairs: Neighborhood, faces: Faces, first_receiver: int = 0, first_sender: int = 0
) -> CommonCells:
    """The cells of the rank above that both cells of a pair are faces of.

    ``faces`` are those of the rank above. The receivers and senders of the pairs may be cells of
    several ranks, of which the rank in question begins at ``first_receiver`` and ``first_sender``.
    Senders must be ascending within each receiver.
    """
    return _common(pairs, faces.offsets, faces.faces.long(), first_receiver, first_sender)


def common_faces(
    pairs: Neighborhood, faces: Faces, below: int, first_receiver: int = 0, first_sender: int = 0
) -> CommonCells:
    """The cells of the rank below that are faces of both cells of a pair.

    ``faces`` are those of the pairs' rank, ``below`` counts the cells of the rank below.
    """
    cofaces = TransposedPairs.of(below, faces.offsets, faces.faces.long())
    return _common(pairs, cofaces.offsets, cofaces.receivers, first_receiver, first_sender)


def _common(
    pairs: Neighborhood,
    offsets: Int64[Tensor, " cell_plus_1"],
    members: Int64[Tensor, " member"],
    first_receiver: int,
    first_sender: int,
) -> CommonCells:
    """The cells of which both are members; cell c has ``members[offsets[c]:offsets[c + 1]]``."""
    device, sizes = pairs.senders.device, offsets.diff()
    squares = sizes * sizes
    cell = torch.arange(len(sizes), device=device).repeat_interleave(squares)
    within = torch.arange(len(cell), device=device) - (squares.cumsum(0) - squares)[cell]
    size, first = sizes[cell], offsets[cell]
    receiver = members[first + within // size] + first_receiver
    sender = members[first + within % size] + first_sender
    wanted = receiver * pairs.num_senders + sender
    if not len(pairs.keys):
        return CommonCells(cell[:0], cell[:0])
    pair = torch.searchsorted(pairs.keys, wanted).clamp(max=len(pairs.keys) - 1)
    there = (pairs.keys[pair] == wanted).nonzero().squeeze(1)
    return CommonCells(pair[there], cell[there])
