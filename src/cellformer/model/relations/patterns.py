"""From relations and a batch to the patterns that attention reads, once per forward."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float16, Float32, Int64
from torch import Tensor

from cellformer.attention.arrows import Pattern
from cellformer.attention.dense.all_pairs import AllPairs, ListedPairs
from cellformer.attention.dense.blocks import DenseBlocks, check_within_complexes
from cellformer.attention.dense.memory import check_dense_memory
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.batches.runs import is_exporting
from cellformer.complexes.matrices import Bounded, Matrix
from cellformer.complexes.orientation import relative_orientations
from cellformer.encodings.pairs import CellPairs, pair_columns, pair_features
from cellformer.model.relations.pair_terms import Signed
from cellformer.model.relations.relation import Relation


def patterns(
    batch: CellBatch, relations: Sequence[Relation], binary: bool
) -> tuple[Pattern | None, ...]:
    """What is attended to in a batch, one for each relation; None where it lacks a rank.

    ``binary`` replaces counts by 1. The sparse matrices are kept with the batch. Raises ValueError
    if a matrix joins cells of two complexes.
    """
    cells = _Complexes.of(batch)
    return tuple(
        _pattern(batch, relation, cells, binary) if relation.max_rank <= batch.dim else None
        for relation in relations
    )


def signed_patterns(
    batch: CellBatch, relations: Sequence[Relation], binary: bool
) -> tuple[Signed | None, ...]:
    """`patterns` with the relative orientation of every pair of N.

    Raises ValueError as `patterns` does.
    """
    cells = _Complexes.of(batch)
    return tuple(
        _signed_pattern(batch, relation, cells, binary) if relation.max_rank <= batch.dim else None
        for relation in relations
    )


def signed_neighborhoods(
    batch: CellBatch, relations: Sequence[Relation], binary: bool
) -> list[Neighborhood | None]:
    """The stored entries of N with the relative orientation of each pair, kept with the batch.

    One for each relation, None where the batch lacks a rank. Raises ValueError as `patterns` does.
    """
    cells = _Complexes.of(batch)
    return [
        _signed(batch, relation, cells, binary) if relation.max_rank <= batch.dim else None
        for relation in relations
    ]


def described_patterns(
    batch: CellBatch, relations: Sequence[Relation], binary: bool, steps: int
) -> tuple[Neighborhood | None, ...]:
    """`patterns` with the features of every pair, of walks of up to so many steps.

    A dense relation becomes a neighborhood of all pairs, whose weights are 1. All are kept with
    the batch. Raises ValueError as `patterns` does, and `DenseMemoryError` where all pairs of a
    complex do not fit into memory.
    """
    keys = [described_key(relation, binary, steps) for relation in relations]
    lacking = [
        (key, relation)
        for key, relation in zip(keys, relations, strict=True)
        if relation.max_rank <= batch.dim and key not in batch.neighborhoods
    ]
    if lacking:
        _describe(batch, lacking, binary, steps)
    return tuple(batch.neighborhoods.get(key) for key in keys)


def _describe(
    batch: CellBatch, lacking: Sequence[tuple[Hashable, Relation]], binary: bool, steps: int
) -> None:
    """Has the batch keep what is described of these relations, under their keys."""
    cells = _Complexes.of(batch)
    listed = [_listed(_pattern(batch, relation, cells, binary), steps) for _, relation in lacking]
    groups = [
        CellPairs(
            relation.receivers,
            relation.senders,
            pairs.neighborhood.receivers.cpu().numpy(),
            pairs.neighborhood.senders.cpu().numpy(),
            pairs.weights.cpu().numpy().astype(np.float32),
        )
        for (_, relation), pairs in zip(lacking, listed, strict=True)
    ]
    features = pair_features(batch, groups, steps)
    for (key, _), pairs, known in zip(lacking, listed, features, strict=True):
        batch.keep(key, replace(pairs.neighborhood, features=_half(known)))


def _half(features: Float32[np.ndarray, "pair feature"]) -> Float16[Tensor, "pair feature"]:
    """In half precision, as they are kept: a collection has many pairs."""
    return torch.from_numpy(features).clamp(max=torch.finfo(torch.float16).max).half()


def pairs_key(relation: Relation, binary: bool) -> Hashable:
    """What a batch keeps the entries of N by."""
    return relation.key, binary


def signed_key(relation: Relation, binary: bool) -> Hashable:
    """What it keeps them by that know relative orientations."""
    return relation.key, binary, "signed"


def described_key(relation: Relation, binary: bool, steps: int) -> Hashable:
    """What it keeps the pairs by that have features."""
    return relation.key, relation.dense, binary, "described", steps


def listed_key(relation: Relation, binary: bool) -> Hashable:
    """What it keeps all pairs of dense attention by, with N as their weights, to leave with."""
    return relation.key, binary, "listed"


def keep_listed(batch: CellBatch, relations: Sequence[Relation], binary: bool) -> None:
    """Has a batch list all pairs of these relations, with N as their weights, see `listed_key`.

    Raises `DenseMemoryError` where they do not fit into memory.
    """
    for relation, pattern in zip(relations, patterns(batch, relations, binary), strict=True):
        if pattern is not None:
            listed = _listed(pattern, 0)
            pairs = replace(listed.neighborhood, weights=listed.weights)
            batch.keep(listed_key(relation, binary), pairs)


class _Complexes(NamedTuple):
    """The complex of each cell of a batch, one tensor per rank."""

    of_rank: tuple[Int64[Tensor, " _"], ...]

    @classmethod
    def of(cls, batch: CellBatch) -> "_Complexes":
        return cls(tuple(batch.complex_of(rank) for rank in range(batch.dim + 1)))

    def of_ranks(self, ranks: tuple[int, ...]) -> Int64[Tensor, " cell"]:
        """The complex of each cell of these ranks, one after the other."""
        if len(ranks) == 1:
            return self.of_rank[ranks[0]]
        return torch.cat([self.of_rank[rank] for rank in ranks])

    def both(
        self, relation: Relation
    ) -> tuple[Int64[Tensor, " receiver"], Int64[Tensor, " sender"]]:
        """The complex of each receiver and of each sender."""
        receivers = self.of_ranks(relation.receivers)
        same = relation.senders == relation.receivers
        return receivers, receivers if same else self.of_ranks(relation.senders)


def _pattern(batch: CellBatch, relation: Relation, cells: _Complexes, binary: bool) -> Pattern:
    if relation.dense and is_exporting():
        return _listed_before(batch, relation, binary)
    neighborhood = _kept(batch, relation, cells, binary)
    if not relation.dense:
        return neighborhood
    return DenseBlocks.of(*cells.both(relation), batch.num_complexes, neighborhood)


def _signed_pattern(
    batch: CellBatch, relation: Relation, cells: _Complexes, binary: bool
) -> Signed:
    neighborhood = _signed(batch, relation, cells, binary)
    sent = neighborhood if neighborhood.signs is None else neighborhood.in_copies
    if not relation.dense:
        return Signed(sent, sent)
    if is_exporting():
        return Signed(_listed_before(batch, relation, binary), sent)
    both = cells.both(relation)
    return Signed(DenseBlocks.of(*both, batch.num_complexes, neighborhood), sent)


def _listed_before(batch: CellBatch, relation: Relation, binary: bool) -> ListedPairs:
    """The pairs of dense attention that a batch was given, and the degrees where it knows N."""
    kept = batch.neighborhoods
    entries = kept.get(pairs_key(relation, binary))
    degrees = None if entries is None else entries.offsets.diff()
    return ListedPairs(kept[listed_key(relation, binary)], degrees)


def _listed(pattern: Pattern, steps: int) -> AllPairs:
    """The pairs of a pattern one by one, beside the entries of N."""
    if isinstance(pattern, Neighborhood):
        return AllPairs(pattern, pattern.weights)
    assert isinstance(pattern, DenseBlocks)
    # Numbers of 4 bytes a pair, without what layers keep: its sender twice, its weights, features.
    tables = 6 + pair_columns(steps)
    check_dense_memory(pattern.receivers.counts, pattern.senders.counts, tables)
    return AllPairs.of(pattern)


def _kept(
    batch: CellBatch, relation: Relation, complexes: _Complexes, binary: bool
) -> Neighborhood:
    """The neighborhood of the relation's matrix, checked when it is first made."""
    return batch.neighborhood(
        pairs_key(relation, binary), lambda cells: _checked(cells, relation, complexes, binary)
    )


def _signed(
    batch: CellBatch, relation: Relation, complexes: _Complexes, binary: bool
) -> Neighborhood:
    """`_kept`, with the signs of the pairs."""
    key = signed_key(relation, binary)
    if (known := batch.neighborhoods.get(key)) is not None:
        return known
    matrix = _checked(batch, relation, complexes, binary)
    signs = relative_orientations(batch, relation.receivers, relation.senders, matrix)
    return batch.keep(key, Neighborhood.from_matrix(matrix, signs))


def _checked(cells: Bounded, relation: Relation, complexes: _Complexes, binary: bool) -> Matrix:
    matrix = relation.matrix(cells)
    receivers, senders = complexes.both(relation)
    check_within_complexes(Neighborhood.from_matrix(matrix), receivers.cpu(), senders.cpu())
    if binary:
        matrix.data[:] = 1
    return matrix
