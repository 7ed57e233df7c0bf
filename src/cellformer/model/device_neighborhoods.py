"""A collection as tensors, with the neighborhoods that a model reads."""

from dataclasses import replace

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.model.described import CellModel
from cellformer.model.patterns import patterns

Ranks = tuple[int, ...]


def resident_for(model: CellModel, complexes: RaggedComplexes) -> ResidentComplexes:
    """Copies a collection into memory, with every neighborhood that the model asks a batch for.

    They are made once, of all complexes together: a neighborhood function of the user's is given
    the whole collection in place of a batch. Raises ValueError if it joins cells of two complexes.
    """
    whole = CellBatch.from_ragged(complexes)
    binary = model.config.architecture.neighbor_weights == "binary"
    read: list[tuple[Ranks, Ranks, Neighborhood]] = []
    # Without squares, which would be those of all complexes at once.
    sparse = [replace(relation, dense=False) for relation in model.plan.relations(whole.dim)]
    for relation, pattern in zip(sparse, patterns(whole, sparse, binary), strict=True):
        if isinstance(pattern, Neighborhood):
            read.append((relation.receivers, relation.senders, pattern))
    for rank in model.embedding.ranks_from_vertices(whole):
        read.append(((rank,), (0,), model.embedding.corners(whole, rank)))
    keys = {id(neighborhood): key for key, neighborhood in whole.neighborhoods.items()}
    return ResidentComplexes.of(complexes, {keys[id(entry[-1])]: entry for entry in read})
