"""From a plan and a batch to the patterns that attention reads, once per forward."""

from collections.abc import Callable, Hashable

import torch
from jaxtyping import Int64
from torch import Tensor

from cellformer.attention.arrows import Pattern
from cellformer.attention.dense.blocks import DenseBlocks, check_within_complexes
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.matrices import Bounded, Matrix
from cellformer.model.diagram import Arrow, TensorDiagram
from cellformer.model.plan import AttentionPlan, General, Pairwise


def patterns(batch: CellBatch, plan: AttentionPlan, binary: bool) -> tuple[Pattern | None, ...]:
    """One pattern per arrow of a pairwise plan, exactly one for a general plan.

    An arrow of a rank that the batch lacks has none. ``binary`` replaces counts by 1. The sparse
    matrices are kept with the batch.
    """
    complexes = tuple(batch.complex_of(rank) for rank in range(batch.dim + 1))
    match plan:
        case Pairwise(diagram):
            return tuple(
                _arrow_pattern(batch, arrow, complexes, binary)
                if max(arrow.sender, arrow.receiver) <= batch.dim
                else None
                for arrow in diagram.arrows
            )
        case General(diagram, dense):
            cells = torch.cat(complexes)
            return (_general_pattern(batch, diagram, dense, cells, binary),)


def _arrow_pattern(
    batch: CellBatch,
    arrow: Arrow,
    complexes: tuple[Int64[Tensor, " _"], ...],
    binary: bool,
) -> Pattern:
    receivers, senders = complexes[arrow.receiver], complexes[arrow.sender]
    key = ("arrow", arrow.sender, arrow.receiver, arrow.neighborhood)
    neighborhood = _kept(batch, key, arrow.matrix, receivers, senders, binary)
    if not arrow.dense:
        return neighborhood
    return DenseBlocks.of(receivers, senders, batch.num_complexes, neighborhood)


def _general_pattern(
    batch: CellBatch,
    diagram: TensorDiagram,
    dense: bool,
    complexes: Int64[Tensor, " cell"],
    binary: bool,
) -> Pattern:
    key = ("general", diagram)
    neighborhood = _kept(batch, key, diagram.block_matrix, complexes, complexes, binary)
    if not dense:
        return neighborhood
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
