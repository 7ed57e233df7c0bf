"""Encodings whose signs are arbitrary, read so that no sign makes a difference.

*Not in the paper*, whose models are given other signs in every step of training.
"""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from cellformer.attention.segments import gather_rows, segment_sum
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.batches.runs import is_exporting, numbers_of

INNER = 16
"""Columns for each eigenvector."""
Rows = Sequence[Float[Tensor, "_ column"]]
Corners = Mapping[int, Neighborhood]


class SignNetwork(nn.Module):
    """rho(phi(v) + phi(-v)) for the eigenvectors v of each complex, with one phi for all.

    Source: Lim et al., "Sign and Basis Invariant Networks for Spectral Graph Representation
    Learning" (2022), equation 2. The sum is the same bit for bit for v and -v. Columns ``shared``
    have one sign for all ranks of a complex; their phi also sees the vertices of a cell, and those
    that share an edge with a vertex, as signs say something only of cells against each other. The
    ``other`` columns have a sign for each rank or cell, and phi sees one cell at a time. The result
    has ``width`` columns; a linear map follows.
    """

    shared: Int64[Tensor, " shared"]
    other: Int64[Tensor, " other"]

    def __init__(self, shared: Sequence[int], other: Sequence[int], width: int):
        super().__init__()
        self.register_buffer("shared", torch.tensor(shared).long(), persistent=False)
        self.register_buffer("other", torch.tensor(other).long(), persistent=False)
        self.mixes = bool(shared)
        self.of_shared = Phi(mixes=True) if shared else None
        self.of_other = Phi(mixes=False) if other else None
        self.rho = nn.Sequential(nn.Linear(INNER * (len(shared) + len(other)), width), nn.ReLU())

    def forward(
        self, batch: CellBatch, encodings: Sequence[Float[Tensor, "_ encoding"]], corners: Corners
    ) -> list[Float[Tensor, "_ width"]]:
        """A row for each cell, for each rank; ``corners`` are the vertices of cells by rank.

        Eigenvectors are times the root of the number of cells of their complex.
        """
        weight = next(self.rho.parameters())
        counts = torch.stack([ends.diff() for ends in batch.offsets]).sum(0)
        root = counts.to(weight.dtype).sqrt().unsqueeze(1)
        scaled = [
            rows.to(weight.dtype) * gather_rows(root, batch.complex_of(rank))
            for rank, rows in enumerate(encodings)
        ]
        parts: list[list[Tensor]] = [[] for _ in scaled]
        for phi, columns in ((self.of_shared, self.shared), (self.of_other, self.other)):
            if phi is None:
                continue
            chosen = [rows[:, columns] for rows in scaled]
            ahead, behind = phi(chosen, corners), phi([-rows for rows in chosen], corners)
            for part, one, two in zip(parts, ahead, behind, strict=True):
                part.append((one + two).flatten(1))
        return [self.rho(torch.cat(part, dim=1)) for part in parts]


class Phi(nn.Module):
    """From a number of each cell to `INNER` of them, for each column by itself."""

    def __init__(self, mixes: bool):
        super().__init__()
        self.first = nn.Linear(1, INNER)
        self.own = nn.Linear(INNER, INNER)
        self.near = nn.Linear(INNER, INNER, bias=False) if mixes else None

    def forward(self, values: Rows, corners: Corners) -> list[Float[Tensor, "_ column inner"]]:
        """Those of every rank."""
        inner = [self.first(rows.unsqueeze(2)).relu() for rows in values]
        told = [self.own(rows) for rows in inner]
        if self.near is not None and len(inner) > 1:
            near = {rank: _of_corners(inner[0], corners[rank]) for rank in range(1, len(inner))}
            near[0] = _of_edges(near[1], corners[1])
            told = [own + self.near(near[rank]) for rank, own in enumerate(told)]
        return [rows.relu() for rows in told]


def _of_corners(
    vertices: Float[Tensor, "vertex *inner"], corners: Neighborhood
) -> Float[Tensor, "cell *inner"]:
    """The mean over the vertices of each cell."""
    return _mean(gather_rows(vertices, corners.senders), corners.offsets)


def _of_edges(
    edges: Float[Tensor, "edge *inner"], corners: Neighborhood
) -> Float[Tensor, "vertex *inner"]:
    """The mean over the edges of each vertex, zero where there is none."""
    if is_exporting():  # what is kept with a neighborhood cannot be traced
        ends, senders = corners.offsets, corners.senders
        ones = torch.ones_like(senders, dtype=edges.dtype)
        counts = ones.new_zeros(corners.num_senders).index_add(0, senders, ones)
        total = edges.new_zeros(corners.num_senders, *edges.shape[1:])
        total = total.index_add(0, senders, edges[numbers_of(ends, len(senders))])
        return total / counts.clamp(min=1).view(-1, 1, 1)
    turned = corners.transposed
    return _mean(gather_rows(edges, turned.receivers), turned.offsets)


def _mean(
    rows: Float[Tensor, "row *inner"], offsets: Int64[Tensor, " run_plus_1"]
) -> Float[Tensor, "run *inner"]:
    counts = offsets.diff().clamp(min=1).to(rows.dtype).view(-1, 1, 1)
    return segment_sum(rows, offsets) / counts
