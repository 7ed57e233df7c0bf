"""From a plan and a batch to the patterns that attention reads, once per forward."""

from collections.abc import Callable, Hashable

import torch
from jaxtyping import Int64
from torch import Tensor

from cellformer.attention.dense_blocks import DenseBlocks, check_within_complexes
from cellformer.attention.operator import Pattern
from cellformer.complexes.batch import CellBatch
from cellformer.complexes.neighborhood import Neighborhood
from cellformer.complexes.neighborhoods import Bounded, Matrix
from cellformer.model.dense_memory import check_dense_memory
from cellformer.model.diagram import Arrow, TensorDiagram
from cellformer.model.plan import AttentionPlan, General, Pairwise


def patterns(
    batch: CellBatch, plan: AttentionPlan, binary: bool, heads: int = 1
) -> tuple[Pattern | None, ...]:
    """One pattern per arrow of a pairwise plan, exactly one for a general plan.

    An arrow of a rank that the batch lacks has none. ``binary`` replaces counts by 1. The sparse
    matrices are kept with the batch. Raises `DenseMemoryError` where N and the scores of
    ``heads`` heads do not fit into memory for dense attention.
    """
    complexes = tuple(batch.complex_of(rank) for rank in range(batch.dim + 1))
    match plan:
        case Pairwise(diagram):
            return tuple(
                _arrow_pattern(batch, arrow, complexes, binary, heads)
                if max(arrow.sender, arrow.receiver) <= batch.dim
                else None
                for arrow in diagram.arrows
            )
        case General(diagram, dense):
            cells = torch.cat(complexes)
            return (_general_pattern(batch, diagram, dense, cells, binary, heads),)


def _arrow_pattern(
    batch: CellBatch,
    arrow: Arrow,
    complexes: tuple[Int64[Tensor, " _"], ...],
    binary: bool,
    heads: int,
) -> Pattern:
    receivers, senders = complexes[arrow.receiver], complexes[arrow.sender]
    key = ("arrow", arrow.sender, arrow.receiver, arrow.neighborhood)
    neighborhood = _kept(batch, key, arrow.matrix, receivers, senders, binary)
    if not arrow.dense:
        return neighborhood
    receiving, sending = (batch.offsets[rank].diff() for rank in (arrow.receiver, arrow.sender))
    check_dense_memory(receiving, sending, 1 + heads, f"along the arrow {arrow}")
    return DenseBlocks.of(receivers, senders, batch.num_complexes, neighborhood)


def _general_pattern(
    batch: CellBatch,
    diagram: TensorDiagram,
    dense: bool,
    complexes: Int64[Tensor, " cell"],
    binary: bool,
    heads: int,
) -> Pattern:
    key = ("general", diagram)
    neighborhood = _kept(batch, key, diagram.block_matrix, complexes, complexes, binary)
    if not dense:
        return neighborhood
    counts = torch.stack([offsets.diff() for offsets in batch.offsets]).sum(0)
    check_dense_memory(counts, counts, 1 + heads, "over the cells of all ranks")
    return DenseBlocks.of(complexes, complexes, batch.num_complexes, neighborhood)


def _kept(
    batch: CellBatch,
    key: Hashable,
    make: Callable[[Bounded], Matrix],
    receivers: Int64[Tensor, " receiver"],
    senders: Int64[Tensor, " sender"],
    binary: bool,
) -> Neighborhood:
    """The neighborhood made by ``make``, checked when it is first made."""

    def checked(cells: Bounded) -> Matrix:
        matrix = make(cells)
        check_within_complexes(Neighborhood.from_matrix(matrix), receivers.cpu(), senders.cpu())
        if binary:
            matrix.data[:] = 1
        return matrix

    return batch.neighborhood((key, binary), checked)
