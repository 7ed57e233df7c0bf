"""From relations and a batch to the patterns that attention reads, once per forward."""

from collections.abc import Sequence

import torch
from jaxtyping import Int64
from torch import Tensor

from cellformer.attention.arrows import Pattern
from cellformer.attention.dense.blocks import DenseBlocks, check_within_complexes
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.matrices import Bounded, Matrix
from cellformer.model.relation import Relation


def patterns(
    batch: CellBatch, relations: Sequence[Relation], binary: bool
) -> tuple[Pattern | None, ...]:
    """What is attended to in a batch, one for each relation; None where it lacks a rank.

    ``binary`` replaces counts by 1. The sparse matrices are kept with the batch. Raises ValueError
    if a matrix joins cells of two complexes.
    """
    complexes = tuple(batch.complex_of(rank) for rank in range(batch.dim + 1))
    return tuple(
        _pattern(batch, relation, complexes, binary) if relation.max_rank <= batch.dim else None
        for relation in relations
    )


def _pattern(
    batch: CellBatch,
    relation: Relation,
    complexes: tuple[Int64[Tensor, " _"], ...],
    binary: bool,
) -> Pattern:
    same = relation.senders == relation.receivers
    receivers = _of_ranks(complexes, relation.receivers)
    senders = receivers if same else _of_ranks(complexes, relation.senders)
    neighborhood = _kept(batch, relation, receivers, senders, binary)
    if not relation.dense:
        return neighborhood
    return DenseBlocks.of(receivers, senders, batch.num_complexes, neighborhood)


def _of_ranks(
    complexes: tuple[Int64[Tensor, " _"], ...], ranks: tuple[int, ...]
) -> Int64[Tensor, " cell"]:
    """The complex of each cell of these ranks, one after the other."""
    if len(ranks) == 1:
        return complexes[ranks[0]]
    return torch.cat([complexes[rank] for rank in ranks])


def _kept(
    batch: CellBatch,
    relation: Relation,
    receivers: Int64[Tensor, " receiver"],
    senders: Int64[Tensor, " sender"],
    binary: bool,
) -> Neighborhood:
    """The neighborhood of the relation's matrix, checked when it is first made."""

    def checked(cells: Bounded) -> Matrix:
        matrix = relation.matrix(cells)
        check_within_complexes(Neighborhood.from_matrix(matrix), receivers.cpu(), senders.cpu())
        if binary:
            matrix.data[:] = 1
        return matrix

    return batch.neighborhood((relation.key, binary), checked)
