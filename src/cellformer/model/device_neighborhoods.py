"""A collection as tensors, with the neighborhoods that a model reads."""

from dataclasses import replace

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.model.diagram import TensorDiagram
from cellformer.model.patterns import patterns
from cellformer.model.plan import AttentionPlan, General, Pairwise
from cellformer.model.transformer import CellularTransformer

Ranks = tuple[int, ...]


def resident_for(model: CellularTransformer, complexes: RaggedComplexes) -> ResidentComplexes:
    """Copies a collection into memory, with every neighborhood that the model asks a batch for.

    They are made once, of all complexes together: a neighborhood function of the user's is given
    the whole collection in place of a batch. Raises ValueError if it joins cells of two complexes.
    """
    whole = CellBatch.from_ragged(complexes)
    binary = model.config.architecture.neighbor_weights == "binary"
    read: list[tuple[Ranks, Ranks, Neighborhood]] = []
    for (receivers, senders), pattern in zip(
        _ranks(model.plan, whole.dim), patterns(whole, _sparse(model.plan), binary), strict=True
    ):
        if isinstance(pattern, Neighborhood):
            read.append((receivers, senders, pattern))
    for rank in model.embedding.ranks_from_vertices(whole):
        read.append(((rank,), (0,), model.embedding.corners(whole, rank)))
    keys = {id(neighborhood): key for key, neighborhood in whole.neighborhoods.items()}
    return ResidentComplexes.of(complexes, {keys[id(entry[-1])]: entry for entry in read})


def _ranks(plan: AttentionPlan, dim: int) -> list[tuple[Ranks, Ranks]]:
    """The ranks of the receivers and of the senders of each pattern."""
    match plan:
        case Pairwise(diagram):
            return [((arrow.receiver,), (arrow.sender,)) for arrow in diagram.arrows]
        case General():
            every = tuple(range(dim + 1))
            return [(every, every)]


def _sparse(plan: AttentionPlan) -> AttentionPlan:
    """The same plan without squares, which would be those of all complexes at once."""
    match plan:
        case Pairwise(diagram):
            arrows = tuple(replace(arrow, dense=False) for arrow in diagram.arrows)
            return Pairwise(TensorDiagram(arrows))
        case General(diagram):
            return General(diagram, dense=False)
