"""The one door to attention: it picks the implementation."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.attention.arrows import ArrowAttention, Columns, Pattern, Shape
from cellformer.attention.cpu_operator import fused_attention
from cellformer.attention.dense_blocks import DenseBlocks
from cellformer.attention.dense_reference import dense_attention
from cellformer.attention.heads import merge_heads, split_heads
from cellformer.attention.recording import recording
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.attention.weights import AttentionWeights, attention_weights
from cellformer.complexes.neighborhood import Neighborhood

Implementation: TypeAlias = Literal["fused", "reference"]

_chosen: ContextVar[Implementation] = ContextVar("attention", default="fused")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def implementation(device: torch.device | str) -> Implementation:
    """How attention is computed there: by a fused kernel, or in plain PyTorch."""
    return "reference" if torch.device(device).type != "cpu" else _chosen.get()


@contextmanager
def use_attention(which: Implementation) -> Iterator[None]:
    """Within this context, attention uses the reference, or (by default) a fused kernel if any.

    What torch.compile has compiled keeps the choice that it found.
    """
    before = _chosen.set(which)
    try:
        yield
    finally:
        _chosen.reset(before)


def attend(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    pattern: Pattern,
    *,
    theta: Float[Tensor, " theta"] | None = None,
    bias: Float[Tensor, "pair head_or_1"] | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver value_width head"]:
    """Sparse attention over a `Neighborhood`, or dense attention over `DenseBlocks`.

    ``theta``, of one entry or one per head, belongs to dense attention alone, which adds
    ``theta * N`` to the scores. ``bias`` belongs to sparse attention alone, which adds it to the
    scores of the stored pairs, for all heads or for each. ``dropout`` is the share of attention
    weights that is dropped; pass 0 when not training. The softmax runs in float32 at least, also
    under autocast.

    Raises ValueError if the rows do not fit the pattern, if theta is missing or too much, or if a
    bias has no place or the wrong shape.
    """
    _, width, heads = query.shape
    shape = Shape(len(query), value.shape[1] * heads)
    arrow = ArrowAttention(
        Columns(0, 0),
        Columns(1, 0),
        Columns(2, 0),
        Columns(0, 0),
        width,
        value.shape[1],
        heads,
        pattern,
        theta,
        bias,
    )
    matrices = [rows.flatten(1) for rows in (query, key, value)]
    (received,) = attend_arrows(matrices, [arrow], [shape], scale=scale, dropout=dropout)
    return received.view(len(query), value.shape[1], heads)


def attend_arrows(
    matrices: Sequence[Float[Tensor, "_ _"]],
    arrows: Sequence[ArrowAttention],
    outputs: Sequence[Shape],
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> list[Float[Tensor, "_ _"]]:
    """Several attentions, each from columns of the matrices to columns of its own of the outputs.

    Columns of an output that no arrow fills are zero. No columns of the matrices are read twice.
    Raises ValueError as `attend` does.
    """
    for arrow in arrows:
        _check(arrow, matrices)
    with torch.autocast(matrices[0].device.type, enabled=False):
        if (record := recording()) is not None:
            record += [_weights(matrices, arrow, scale) for arrow in arrows]
        if implementation(matrices[0].device) == "fused":
            return fused_attention(matrices, arrows, outputs, scale=scale, dropout=dropout)
        return _one_by_one(matrices, arrows, outputs, scale, dropout)


def _one_by_one(
    matrices: Sequence[Float[Tensor, "_ _"]],
    arrows: Sequence[ArrowAttention],
    outputs: Sequence[Shape],
    scale: float,
    dropout: float,
) -> list[Float[Tensor, "_ _"]]:
    """In plain PyTorch."""
    parts: list[dict[int, Tensor]] = [{} for _ in outputs]
    for arrow in arrows:
        query, key, value = (
            _heads_of(matrices, at, width, arrow.heads)
            for at, width in (
                (arrow.query, arrow.head_width),
                (arrow.key, arrow.head_width),
                (arrow.value, arrow.value_width),
            )
        )
        match arrow.pattern:
            case Neighborhood() as pattern:
                received = sparse_attention(
                    query, key, value, pattern, bias=arrow.bias, scale=scale, dropout=dropout
                )
            case DenseBlocks() as pattern:
                assert arrow.theta is not None
                received = dense_attention(
                    query, key, value, pattern, arrow.theta, scale=scale, dropout=dropout
                )
        parts[arrow.output.matrix][arrow.output.start] = merge_heads(received)
    return [
        _side_by_side(columns, shape, matrices[0])
        for columns, shape in zip(parts, outputs, strict=True)
    ]


def _heads_of(
    matrices: Sequence[Float[Tensor, "_ _"]], at: Columns, width: int, heads: int
) -> Float[Tensor, "cell head_width head"]:
    return split_heads(matrices[at.matrix][:, at.start : at.start + width * heads], heads)


def _weights(
    matrices: Sequence[Float[Tensor, "_ _"]], arrow: ArrowAttention, scale: float
) -> AttentionWeights:
    """The weights of an arrow, for those who want to look at them."""
    query, key = (
        _heads_of(matrices, at, arrow.head_width, arrow.heads) for at in (arrow.query, arrow.key)
    )
    return attention_weights(
        query, key, arrow.pattern, theta=arrow.theta, bias=arrow.bias, scale=scale
    )


def _side_by_side(
    parts: dict[int, Float[Tensor, "row _"]], shape: Shape, like: Tensor
) -> Float[Tensor, "row column"]:
    """The parts in their columns, zeros where there is none."""
    joined, end = [], 0
    for start in sorted(parts):
        joined += [like.new_zeros(shape.rows, start - end), parts[start]]
        end = start + parts[start].shape[1]
    return torch.cat([*joined, like.new_zeros(shape.rows, shape.columns - end)], dim=1)


def _check(arrow: ArrowAttention, matrices: Sequence[Float[Tensor, "_ _"]]) -> None:
    pattern = arrow.pattern
    queries, keys = len(matrices[arrow.query.matrix]), len(matrices[arrow.key.matrix])
    if (queries, keys) != (pattern.num_receivers, pattern.num_senders):
        raise ValueError(
            f"{queries} queries and {keys} keys for a pattern of "
            f"{pattern.num_receivers} receivers and {pattern.num_senders} senders"
        )
    if (arrow.theta is not None) != isinstance(pattern, DenseBlocks):
        raise ValueError("theta is needed for dense attention and has no place in sparse attention")
    if arrow.bias is None:
        return
    if isinstance(pattern, DenseBlocks):
        raise ValueError("a bias has no place in dense attention, which has theta * N")
    pairs = len(pattern.senders)
    if len(arrow.bias) != pairs or arrow.bias.shape[1] not in (1, arrow.heads):
        raise ValueError(
            f"a bias of shape {tuple(arrow.bias.shape)} for {pairs} pairs and {arrow.heads} heads; "
            f"give ({pairs}, 1) or ({pairs}, {arrow.heads})"
        )
