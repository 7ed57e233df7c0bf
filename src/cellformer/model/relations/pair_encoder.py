"""From what is known of pairs of cells to a vector for each.

*Not in the paper.* As in GRIT (Ma et al., "Graph Inductive Biases in Transformers without Message
Passing", 2023) walks between the two cells tell how they lie to each other; here the walk goes
through the cells of all ranks, and a pair also knows the cells that the two have in common.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from cellformer.attention.segments import gather_rows, segment_sum
from cellformer.complexes.batches.batch import CellBatch, Faces
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.batches.runs import is_exporting, numbers_of
from cellformer.model.relations.common_cells import CommonCells, common_cofaces, common_faces
from cellformer.model.relations.pair_terms import Paired
from cellformer.model.relations.relation import Relation


class PairEncoder(nn.Module):
    """A layer on the features of the pairs of one relation; `PairTerms` is the one after it.

    It is also given the ranks of the two cells, where there are several, and the sums of the hidden
    vectors of the cells that they have in common, of the rank above and below. ``features`` is the
    number of a pair's features, ``width`` that of the columns of hidden vectors.
    """

    def __init__(self, relation: Relation, features: int, width: int, pair_width: int):
        super().__init__()
        self.receivers, self.senders = relation.receivers, relation.senders
        self.inner = nn.Linear(features, pair_width)
        kinds = len(self.receivers) * len(self.senders)
        self.kinds = nn.Linear(kinds, pair_width, bias=False) if kinds > 1 else None
        self.common = nn.ModuleDict(
            {
                f"{where} {rank}": nn.Linear(width, pair_width, bias=False)
                for rank in self._shared_ranks()
                for where in ("above", "below")[: 1 + (rank > 0)]
            }
        )
        self.norm = nn.LayerNorm(pair_width)

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
            kinds = functional.one_hot(self._kinds(neighborhood, batch), self.kinds.in_features)
            inner = inner + self.kinds(kinds.to(inner.dtype))
        told, pairs = self._common(neighborhood, cells, batch)
        if is_exporting():
            inner = inner.index_add(0, pairs, told)
        elif len(pairs):
            order = pairs.argsort(stable=True)
            which, counts = torch.unique_consecutive(pairs[order], return_counts=True)
            offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
            inner = inner.index_add(0, which, segment_sum(told[order], offsets))
        return Paired(neighborhood, self.norm(inner).relu_())

    def _shared_ranks(self) -> tuple[int, ...]:
        """Those on both sides, of which cells may have others in common."""
        return tuple(rank for rank in self.receivers if rank in self.senders)

    def _kinds(self, neighborhood: Neighborhood, batch: CellBatch) -> Int64[Tensor, " pair"]:
        """A number for the ranks of each pair."""

        def places(ranks: Sequence[int]) -> Int64[Tensor, " cell"]:
            here = [rank for rank in ranks if rank <= batch.dim]
            sizes = [batch.num_cells[rank] for rank in here]
            like = batch.offsets[0]
            return torch.cat([like.new_full((size,), place) for place, size in enumerate(sizes)])

        rows = numbers_of(neighborhood.offsets, len(neighborhood.senders))
        receiver = places(self.receivers)[rows]
        return receiver * len(self.senders) + places(self.senders)[neighborhood.senders]

    def _common(
        self,
        neighborhood: Neighborhood,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
    ) -> tuple[Float[Tensor, "common pair_width"], Int64[Tensor, " common"]]:
        """What common cells tell, and the pairs that they tell it to."""
        weight = self.inner.weight
        told = [weight.new_zeros(0, len(weight))]
        pairs = [neighborhood.senders[:0]]
        found = neighborhood.common
        if found is None:
            found = self.shared(neighborhood, batch)
        for name, (numbers, tellers) in found.items():
            where, rank = name.split()
            teller = int(rank) + (1 if where == "above" else -1)
            told.append(gather_rows(self.common[name](cells[teller]), tellers))
            pairs.append(numbers)
        return torch.cat(told), torch.cat(pairs)

    def shared(self, neighborhood: Neighborhood, batch: CellBatch) -> dict[str, CommonCells]:
        """The cells that pairs have in common, above and below each rank on both sides."""
        found, counts = {}, batch.num_cells
        for rank in self._shared_ranks():
            if rank > batch.dim:
                continue
            firsts = [
                sum(counts[other] for other in ranks if other < rank)
                for ranks in (self.receivers, self.senders)
            ]
            if rank < batch.dim:
                above = common_cofaces(neighborhood, _here(batch, rank + 1), *firsts)
                found[f"above {rank}"] = above
            if rank > 0:
                below = common_faces(neighborhood, _here(batch, rank), counts[rank - 1], *firsts)
                found[f"below {rank}"] = below
        return found


def _here(batch: CellBatch, rank: int) -> Faces:
    """The faces of a rank on the batch's device."""
    faces, device = batch.faces[rank - 1], batch.device
    return Faces(faces.offsets.to(device), faces.faces.to(device), faces.signs.to(device))
