"""A collection as tensors, with the neighborhoods that a model reads."""

from collections.abc import Sequence
from dataclasses import replace

from cellformer.attention.arrows import Pattern
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.model.described import CellModel
from cellformer.model.relations.patterns import described_patterns, patterns, signed_neighborhoods

Ranks = tuple[int, ...]


def resident_for(model: CellModel, complexes: RaggedComplexes) -> ResidentComplexes:
    """Copies a collection into memory, with every neighborhood that the model asks a batch for.

    They are made once, of all complexes together: a neighborhood function of the user's is given
    the whole collection in place of a batch. Raises ValueError if it joins cells of two complexes.
    """
    whole = CellBatch.from_ragged(complexes)
    architecture, relations = model.config.architecture, model.plan.relations(whole.dim)
    binary = architecture.neighbor_weights == "binary"
    found: Sequence[Pattern | None]
    if architecture.pair_width:
        found = described_patterns(whole, relations, binary, architecture.pair_steps)
    elif architecture.signed_width:
        found = signed_neighborhoods(whole, relations, binary)
    else:  # without squares, which would be those of all complexes at once
        sparse = [replace(relation, dense=False) for relation in relations]
        found = patterns(whole, sparse, binary)
    read: list[tuple[Ranks, Ranks, Neighborhood]] = []
    for relation, pattern in zip(relations, found, strict=True):
        if isinstance(pattern, Neighborhood):
            read.append((relation.receivers, relation.senders, pattern))
    for rank in model.embedding.ranks_with_corners(whole):
        read.append(((rank,), (0,), model.embedding.corners(whole, rank)))
    keys = {id(neighborhood): key for key, neighborhood in whole.neighborhoods.items()}
    return ResidentComplexes.of(complexes, {keys[id(entry[-1])]: entry for entry in read})
