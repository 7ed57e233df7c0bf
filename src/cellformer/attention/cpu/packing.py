"""Attentions as tensors and numbers, which is all that an operator of PyTorch's takes.

What lies where in a flat list is known here alone; all else reads fields by their names.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from cellformer.attention.arrows import ArrowAttention, Pattern, Shape
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches.neighborhood import Neighborhood

Groups = TypeVar("Groups", bound=tuple[list[Any], ...])
Numbers = TypeVar("Numbers", "Step", Shape)


class Operands(NamedTuple):
    """The arguments of the operator ``cellformer::attention``, in its order."""

    matrices: list[Tensor]
    thetas: list[Tensor]
    terms: list[Tensor]
    indices: list[Tensor]  # see `packed_patterns`
    seed: Tensor | None
    plan: list[int]  # the numbers of a `Step` per arrow
    shapes: list[int]  # the numbers of a `Shape` per output
    scale: float
    dropout: float


class Learned(NamedTuple):
    """What gradients are for, in the precision of the softmax; or these gradients themselves."""

    matrices: list[Tensor]
    thetas: list[Tensor]  # of the dense arrows, (head,)
    terms: list[Tensor]  # of the arrows that have any, (pair, bias and columns)


class Computed(NamedTuple):
    """What the forward makes: its outputs, and what the backward needs besides."""

    outputs: list[Tensor]
    log_sum_exps: list[Tensor]  # of each arrow: the softmax's denominators, (receiver, head)


class Saved(NamedTuple):
    """The tensors that the forward leaves to the backward."""

    outputs: list[Tensor]
    log_sum_exps: list[Tensor]
    matrices: list[Tensor]
    thetas: list[Tensor]
    terms: list[Tensor]
    indices: list[Tensor]
    seeds: list[Tensor | None]  # one or none

    @classmethod
    def of(
        cls,
        computed: Computed,
        learned: Learned,
        indices: Sequence[Tensor] = (),
        seeds: Sequence[Tensor | None] = (),
    ) -> "Saved":
        """Of one call; patterns and seed may be kept elsewhere."""
        return cls(*computed, *learned, list(indices), list(seeds))

    @property
    def computed(self) -> Computed:
        """What the forward made."""
        return Computed(self.outputs, self.log_sum_exps)

    @property
    def learned(self) -> Learned:
        """What gradients are for."""
        return Learned(self.matrices, self.thetas, self.terms)


class Step(NamedTuple):
    """An arrow in numbers; ``theta`` and ``terms`` number the tensors, -1 for none."""

    dense: int
    query: int
    query_start: int
    key: int
    key_start: int
    value: int
    value_start: int
    output: int
    output_start: int
    head_width: int
    value_width: int
    pair_width: int
    heads: int
    theta: int
    terms: int

    @property
    def received_width(self) -> int:
        """The columns of each head in the output."""
        return self.value_width + self.pair_width


class SparseTensors(NamedTuple):
    """A neighborhood and what follows from it; empty tensors where there is nothing to tell."""

    offsets: Tensor  # of each receiver's pairs
    senders: Tensor  # of each pair
    weights: Tensor  # of each pair
    tile_work: Tensor  # from here on the components, as `Tiles` has them
    tile_before: Tensor
    tile_receivers: Tensor
    tile_receiver_offsets: Tensor
    tile_senders: Tensor
    tile_sender_offsets: Tensor
    transposed_offsets: Tensor  # from here on the transposed pairs, as `PairsBySender` has them
    transposed_receivers: Tensor
    transposed_pairs: Tensor


class DenseTensors(NamedTuple):
    """The complexes of a batch and the stored entries of N, as `Squares` has them."""

    receivers: Tensor
    receiver_offsets: Tensor
    senders: Tensor
    sender_offsets: Tensor
    places: Tensor
    work: Tensor
    pair_offsets: Tensor
    pair_senders: Tensor
    pair_weights: Tensor


PER_PATTERN = max(len(kind._fields) for kind in (SparseTensors, DenseTensors))


def joined(groups: Iterable[Iterable[Any]]) -> list[Any]:
    """The members of all groups, one group after the other."""
    return list(itertools.chain(*groups))


def lengths_of(groups: Iterable[Sequence[Any]]) -> list[int]:
    """What `grouped` must know to undo `joined`."""
    return [len(group) for group in groups]


def grouped(kind: Callable[..., Groups], members: Iterable[Any], lengths: Iterable[int]) -> Groups:
    """The inverse of `joined`: lists of these lengths, each under its name."""
    rest = iter(members)
    return kind(*(list(itertools.islice(rest, length)) for length in lengths))


def tuples_of(kind: type[Numbers], numbers: Sequence[int]) -> list[Numbers]:
    """The inverse of `joined` for tuples of one kind, such as steps or shapes."""
    length = len(kind._fields)
    return [kind(*numbers[i : i + length]) for i in range(0, len(numbers), length)]


def plan_of(arrows: Sequence[ArrowAttention]) -> list[Step]:
    """The arrows in numbers."""
    thetas, terms = itertools.count(), itertools.count()
    return [
        Step(
            dense=int(isinstance(arrow.pattern, DenseBlocks)),
            query=arrow.query.matrix,
            query_start=arrow.query.start,
            key=arrow.key.matrix,
            key_start=arrow.key.start,
            value=arrow.value.matrix,
            value_start=arrow.value.start,
            output=arrow.output.matrix,
            output_start=arrow.output.start,
            head_width=arrow.head_width,
            value_width=arrow.value_width,
            pair_width=arrow.pair_width,
            heads=arrow.heads,
            theta=-1 if arrow.theta is None else next(thetas),
            terms=-1 if arrow.terms is None else next(terms),
        )
        for arrow in arrows
    ]


def tensors_of(pattern: Pattern, backward: bool) -> SparseTensors | DenseTensors:
    """The tensors that describe a pattern; the transposed pairs only if there is a backward."""
    if isinstance(pattern, DenseBlocks):
        return DenseTensors(
            receivers=pattern.receivers.order,
            receiver_offsets=pattern.receivers.offsets,
            senders=pattern.senders.order,
            sender_offsets=pattern.senders.offsets,
            places=pattern.senders.places,
            work=pattern.work,
            pair_offsets=pattern.neighborhood.offsets,
            pair_senders=pattern.neighborhood.senders,
            pair_weights=pattern.neighborhood.weights,
        )
    assert isinstance(pattern, Neighborhood)
    given = {"offsets": pattern.offsets, "senders": pattern.senders, "weights": pattern.weights}
    # While compiling, the operator does without: cached properties cannot be traced.
    if not torch.compiler.is_compiling():
        components = pattern.components
        given |= {
            "tile_work": components.pairs,
            "tile_before": components.before,
            "tile_receivers": components.receivers.order,
            "tile_receiver_offsets": components.receivers.offsets,
            "tile_senders": components.senders.order,
            "tile_sender_offsets": components.senders.offsets,
        }
        if backward:
            given |= {
                "transposed_offsets": pattern.transposed.offsets,
                "transposed_receivers": pattern.transposed.receivers,
                "transposed_pairs": pattern.transposed.pairs,
            }
    return SparseTensors(**dict.fromkeys(SparseTensors._fields, _nothing(pattern.offsets)) | given)


def packed_patterns(patterns: Iterable[Pattern], backward: bool) -> list[Tensor]:
    """`PER_PATTERN` tensors for each pattern, the last ones empty if it has fewer."""
    packed: list[Tensor] = []
    for pattern in patterns:
        tensors = tensors_of(pattern, backward)
        packed += [*tensors, *[_nothing(tensors.senders)] * (PER_PATTERN - len(tensors))]
    return packed


def unpacked_patterns(
    indices: Sequence[Tensor], steps: Sequence[Step]
) -> list[SparseTensors | DenseTensors]:
    """The inverse of `packed_patterns`, given the step of each pattern."""
    kinds = [DenseTensors if step.dense else SparseTensors for step in steps]
    return [
        kind(*indices[first : first + len(kind._fields)])
        for kind, first in zip(kinds, itertools.count(0, PER_PATTERN))
    ]


def _nothing(like: Tensor) -> Tensor:
    return like.new_empty(0)
