"""Guessing how two vertices of a complex lie to each other."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.embedding.embedding import CellEmbedding
from cellformer.training.objectives.drawing import drawn

FARTHEST = 8
"""Edges between two vertices from which on all distances count alike."""


class VertexPairs(nn.Module):
    """Guesses of pairs of vertices how far apart they are, and whether they share a 2-cell.

    In every step one vertex of each complex is drawn, and paired with all others that it is joined
    to by edges. What both vectors say enters symmetrically.
    """

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.guess = nn.Sequential(
            nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, FARTHEST + 1)
        )

    def forward(
        self,
        embedding: CellEmbedding,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
        seed: int,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The sum of the losses of all pairs, and their number.

        The loss of a pair is the cross-entropy of its distance, 1 ... `FARTHEST` edges, plus that
        of sharing a 2-cell.
        """
        first = first_vertices(batch, seed)
        distance = distances(embedding, batch, first)
        paired = distance > 0
        rows = self.norm(cells[0])
        others = rows[paired]
        own = rows[first[_place_among_filled(batch)[batch.complex_of(0)[paired]]]]
        told = self.guess(torch.cat([own * others, (own - others).abs()], dim=1))
        far = functional.cross_entropy(told[:, :FARTHEST], distance[paired] - 1, reduction="sum")
        shared = sharing(embedding, batch, first)[paired].to(told.dtype)
        near = functional.binary_cross_entropy_with_logits(told[:, -1], shared, reduction="sum")
        return far + near, far.new_tensor(len(told))


def first_vertices(batch: CellBatch, seed: int) -> Int64[Tensor, " filled"]:
    """A vertex of each complex that has some; the same ones for a seed."""
    sizes = batch.offsets[0].diff()
    starts, sizes = batch.offsets[0][:-1][sizes > 0], sizes[sizes > 0]
    return starts + (drawn(batch, 0, seed)[starts] * sizes).long()


def distances(
    embedding: CellEmbedding, batch: CellBatch, first: Int64[Tensor, " filled"]
) -> Int64[Tensor, " vertex"]:
    """Edges between each vertex and the drawn one of its complex, at most `FARTHEST`.

    0 for the drawn one itself, -1 where no path joins them.
    """
    found = torch.full((batch.num_cells[0],), -1, device=batch.device)
    found[first] = 0
    if batch.dim < 1:
        return found
    ends = embedding.corners(batch, 1).senders.reshape(-1, 2)  # every edge has two
    distance = 0
    while True:
        known = found >= 0
        fresh = known[ends[:, 0]] != known[ends[:, 1]]
        if not fresh.any():
            return found
        distance = min(distance + 1, FARTHEST)
        reached = ends[fresh].flatten()
        found[reached[~known[reached]]] = distance


def sharing(
    embedding: CellEmbedding, batch: CellBatch, first: Int64[Tensor, " filled"]
) -> Bool[Tensor, " vertex"]:
    """Which vertices are corners of a 2-cell that the drawn one of their complex is a corner of."""
    shared = torch.zeros(batch.num_cells[0], dtype=torch.bool, device=batch.device)
    if batch.dim < 2:
        return shared
    chosen = shared.clone()
    chosen[first] = True
    corners = embedding.corners(batch, 2)
    near = torch.zeros(corners.num_receivers, dtype=torch.bool, device=batch.device)
    near[corners.receivers[chosen[corners.senders]]] = True
    shared[corners.senders[near[corners.receivers]]] = True
    return shared


def _place_among_filled(batch: CellBatch) -> Int64[Tensor, " complex"]:
    """Of each complex that has vertices, its place among them."""
    place: Int64[Tensor, " complex"] = (batch.offsets[0].diff() > 0).cumsum(0) - 1
    return place
