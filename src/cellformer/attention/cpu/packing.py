"""Attentions as tensors and numbers, which is all that an operator of PyTorch's takes."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from cellformer.attention.arrows import ArrowAttention
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches.neighborhood import Neighborhood

INDICES = 12  # tensors that describe a pattern


class Step(NamedTuple):
    """An arrow in numbers; ``theta`` and ``bias`` number the tensors, -1 for none."""

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
    heads: int
    theta: int
    bias: int


def plan_of(arrows: Sequence[ArrowAttention]) -> list[Step]:
    """The arrows in numbers."""
    thetas, biases = itertools.count(), itertools.count()
    return [
        Step(
            int(isinstance(arrow.pattern, DenseBlocks)),
            *arrow.query,
            *arrow.key,
            *arrow.value,
            *arrow.output,
            arrow.head_width,
            arrow.value_width,
            arrow.heads,
            -1 if arrow.theta is None else next(thetas),
            -1 if arrow.bias is None else next(biases),
        )
        for arrow in arrows
    ]


def steps_of(plan: list[int]) -> list[Step]:
    """The inverse of writing the steps one after the other."""
    length = len(Step._fields)
    return [Step(*plan[i : i + length]) for i in range(0, len(plan), length)]


def indices_of(pattern: Neighborhood | DenseBlocks, backward: bool) -> list[Tensor]:
    """`INDICES` tensors; empty ones where there is nothing to tell."""
    match pattern:
        case DenseBlocks():
            neighborhood = pattern.neighborhood
            given = [
                pattern.receivers.order,
                pattern.receivers.offsets,
                pattern.senders.order,
                pattern.senders.offsets,
                pattern.senders.places,
                pattern.work,
                neighborhood.offsets,
                neighborhood.senders,
                neighborhood.weights,
            ]
        case Neighborhood():
            given = [pattern.offsets, pattern.senders, pattern.weights]
            # While compiling, the operator does without: cached properties cannot be traced.
            if not torch.compiler.is_compiling():
                components = pattern.components
                given += [
                    components.pairs,
                    components.before,
                    components.receivers.order,
                    components.receivers.offsets,
                    components.senders.order,
                    components.senders.offsets,
                ]
                if backward:
                    transposed = pattern.transposed
                    given += [transposed.offsets, transposed.receivers, transposed.pairs]
    return given + [given[0].new_empty(0)] * (INDICES - len(given))
