"""From what is known of pairs of cells to a vector for each.

*Not in the paper.* As in GRIT (Ma et al., "Graph Inductive Biases in Transformers without Message
Passing", 2023) walks between the two cells tell how they lie to each other; here the walk goes
through the cells of all ranks, and a pair also knows the cells that the two have in common.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from cellformer.attention.segments import gather_rows, segment_sum
from cellformer.complexes.batches.batch import CellBatch, Faces
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.model.common_cells import CommonCells, common_cofaces, common_faces
from cellformer.model.pair_terms import Paired
from cellformer.model.relation import Relation


class PairEncoder(nn.Module):
    """A network of two layers on the features of the pairs of one relation.

    It is also given the ranks of the two cells, where there are several, and the sums of the hidden
    vectors of the cells that they have in common, of the rank above and below. ``features`` is the
    number of a pair's features, ``width`` that of the columns of hidden vectors.
    """

    def __init__(self, relation: Relation, features: int, width: int, pair_width: int):
        super().__init__()
        self.receivers, self.senders = relation.receivers, relation.senders
        self.inner = nn.Linear(features, pair_width)
        kinds = len(self.receivers) * len(self.senders)
        self.kinds = nn.Embedding(kinds, pair_width) if kinds > 1 else None
        self.common = nn.ModuleDict(
            {
                f"{where} {rank}": nn.Linear(width, pair_width, bias=False)
                for rank in self._shared_ranks()
                for where in ("above", "below")[: 1 + (rank > 0)]
            }
        )
        self.norm = nn.LayerNorm(pair_width)
        self.outer = nn.Linear(pair_width, pair_width)

    def forward(
        self,
        neighborhood: Neighborhood,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
    ) -> Paired:
        """The neighborhood with a vector for each pair; ``cells`` are hidden vectors per rank."""
        features = neighborhood.features
        assert features is not None
        inner = self.inner(features.to(self.inner.weight.dtype))
        if self.kinds is not None:
            inner = inner + self.kinds(self._kinds(neighborhood, batch))
        for rank in self._shared_ranks():
            if rank <= batch.dim:
                inner = self._with_common(inner, rank, neighborhood, cells, batch)
        vectors: Tensor = self.outer(self.norm(inner).relu())
        return Paired(neighborhood, vectors)

    def _shared_ranks(self) -> tuple[int, ...]:
        """Those on both sides, of which cells may have others in common."""
        return tuple(rank for rank in self.receivers if rank in self.senders)

    def _kinds(self, neighborhood: Neighborhood, batch: CellBatch) -> Int64[Tensor, " pair"]:
        """A number for the ranks of each pair."""

        def places(ranks: Sequence[int]) -> Int64[Tensor, " cell"]:
            counts = batch.num_cells[: batch.dim + 1]
            sizes = torch.tensor([counts[rank] if rank <= batch.dim else 0 for rank in ranks])
            return torch.arange(len(ranks)).repeat_interleave(sizes).to(batch.device)

        receiver = places(self.receivers)[neighborhood.receivers]
        return receiver * len(self.senders) + places(self.senders)[neighborhood.senders]

    def _with_common(
        self,
        inner: Float[Tensor, "pair pair_width"],
        rank: int,
        neighborhood: Neighborhood,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
    ) -> Float[Tensor, "pair pair_width"]:
        """With what the common cells of pairs of a rank add."""
        firsts = (
            sum(batch.num_cells[other] for other in ranks if other < rank)
            for ranks in (self.receivers, self.senders)
        )
        receiver, sender = firsts
        if rank < batch.dim:
            above = common_cofaces(neighborhood, _here(batch, rank + 1), receiver, sender)
            inner = inner + self._summed("above", rank, cells[rank + 1], above)
        if rank > 0:
            number = batch.num_cells[rank - 1]
            below = common_faces(neighborhood, _here(batch, rank), number, receiver, sender)
            inner = inner + self._summed("below", rank, cells[rank - 1], below)
        return inner

    def _summed(
        self, where: str, rank: int, cells: Float[Tensor, "cell width"], common: CommonCells
    ) -> Float[Tensor, "pair pair_width"]:
        told = self.common[f"{where} {rank}"](cells)
        return segment_sum(gather_rows(told, common.cells), common.offsets)


def _here(batch: CellBatch, rank: int) -> Faces:
    """The faces of a rank on the batch's device."""
    faces, device = batch.faces[rank - 1], batch.device
    return Faces(faces.offsets.to(device), faces.faces.to(device), faces.signs.to(device))
