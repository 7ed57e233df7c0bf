"""The one door to attention: it picks the implementation."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Pattern, Shape
from cellformer.attention.cpu.operator import fused_attention
from cellformer.attention.dense.all_pairs import ListedPairs
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.reference import dense_attention
from cellformer.attention.dense.sdpa import dense_sdpa_attention
from cellformer.attention.gpu.operator import fused_sparse_attention
from cellformer.attention.heads import merge_heads, split_heads
from cellformer.attention.recording import recording
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.attention.weights import AttentionWeights, attention_weights
from cellformer.basics.compiling import constant_when_compiled
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.batches.runs import is_exporting

NOT_DENSE = "a bias and pair values have no place in dense attention, which has theta * N"

Implementation: TypeAlias = Literal["fused", "reference"]

_chosen: ContextVar[Implementation] = ContextVar("attention", default="fused")


@constant_when_compiled
def implementation(device: torch.device | str) -> Implementation:
    """How attention is computed there: by fused kernels, or in plain PyTorch."""
    match torch.device(device).type:
        case "cpu":
            return _chosen.get()
        case "cuda" if find_spec("triton"):
            return _chosen.get()
    return "reference"


@contextmanager
def use_attention(which: Implementation) -> Iterator[None]:
    """Within this context, attention uses the reference, or (by default) fused kernels if any.

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
    pair_values: Float[Tensor, "pair pair_width head"] | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver received_width head"]:
    """Sparse attention over a `Neighborhood`, or dense attention over `DenseBlocks`.

    ``theta``, of one entry or one per head, belongs to dense attention alone, which adds
    ``theta * N`` to the scores. ``bias`` belongs to sparse attention alone, which adds it to the
    scores of the stored pairs, for all heads or for each. So do ``pair_values``: their averages, by
    the same weights as those of the values, are further columns of the result. ``dropout`` is the
    share of attention weights that is dropped; pass 0 when not training. The softmax runs in
    float32 at least, also under autocast.

    Raises ValueError if the rows do not fit the pattern, if theta is missing or too much, or if a
    bias or pair values have no place or the wrong shape.
    """
    _, width, heads = query.shape
    terms = None
    if bias is not None or pair_values is not None:
        terms = _terms(pattern, heads, bias, pair_values)
    arrow = ArrowAttention(
        query=ColumnBlock(matrix=0, start=0),
        key=ColumnBlock(matrix=1, start=0),
        value=ColumnBlock(matrix=2, start=0),
        output=ColumnBlock(matrix=0, start=0),
        head_width=width,
        value_width=value.shape[1],
        heads=heads,
        pattern=pattern,
        theta=theta,
        terms=terms,
    )
    shape = Shape(len(query), arrow.received_width * heads)
    matrices = [rows.flatten(1) for rows in (query, key, value)]
    (received,) = attend_arrows(matrices, [arrow], [shape], scale=scale, dropout=dropout)
    return received.view(len(query), arrow.received_width, heads)


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
    device = matrices[0].device
    fused = implementation(device) == "fused" and not is_exporting()
    # What leaves computes in the precision of its weights.
    with nullcontext() if is_exporting() else torch.autocast(device.type, enabled=False):
        if (record := recording()) is not None:
            record += [_weights(matrices, arrow, scale) for arrow in arrows]
        if fused and device.type == "cpu":
            return fused_attention(matrices, arrows, outputs, scale=scale, dropout=dropout)
        sparse = fused_sparse_attention if fused else sparse_attention
        dense = dense_sdpa_attention if fused else dense_attention
        return _one_by_one(
            matrices,
            arrows,
            outputs,
            partial(sparse, scale=scale, dropout=dropout),
            partial(dense, scale=scale, dropout=dropout),
        )


def _one_by_one(
    matrices: Sequence[Float[Tensor, "_ _"]],
    arrows: Sequence[ArrowAttention],
    outputs: Sequence[Shape],
    sparse: Callable[..., Tensor],
    dense: Callable[..., Tensor],
) -> list[Float[Tensor, "_ _"]]:
    """Each arrow by a function for its pattern."""
    columns = _columns(matrices, arrows)
    parts: list[dict[int, Tensor]] = [{} for _ in outputs]
    for arrow in arrows:
        query, key, value = (
            split_heads(columns[at][:, : width * arrow.heads], arrow.heads)
            for at, width in (
                (arrow.query, arrow.head_width),
                (arrow.key, arrow.head_width),
                (arrow.value, arrow.value_width),
            )
        )
        match arrow.pattern:
            case Neighborhood() as pattern:
                own = None
                if arrow.terms is not None and arrow.pair_width:
                    own = split_heads(arrow.terms[:, arrow.heads :], arrow.heads)
                received = sparse(query, key, value, pattern, bias=arrow.bias, pair_values=own)
            case DenseBlocks() as pattern:
                received = dense(query, key, value, pattern, arrow.theta)
            case ListedPairs(pairs=pairs):
                assert arrow.theta is not None
                bias = pairs.weights.unsqueeze(1) * arrow.theta
                received = sparse(query, key, value, pairs.binary(), bias=bias)
        parts[arrow.output.matrix][arrow.output.start] = merge_heads(received)
    return [
        _side_by_side(filled, shape, matrices[0])
        for filled, shape in zip(parts, outputs, strict=True)
    ]


def _weights(
    matrices: Sequence[Float[Tensor, "_ _"]], arrow: ArrowAttention, scale: float
) -> AttentionWeights:
    """The weights of an arrow, for those who want to look at them."""
    assert not isinstance(arrow.pattern, ListedPairs)
    columns = _columns(matrices, [arrow])
    query, key = (
        split_heads(columns[at][:, : arrow.head_width * arrow.heads], arrow.heads)
        for at in (arrow.query, arrow.key)
    )
    found = attention_weights(
        query, key, arrow.pattern, theta=arrow.theta, bias=arrow.bias, scale=scale
    )
    copies = arrow.pattern.copies if isinstance(arrow.pattern, Neighborhood) else 1
    return replace(found, senders=found.senders // copies)


def _columns(
    matrices: Sequence[Float[Tensor, "_ _"]], arrows: Sequence[ArrowAttention]
) -> dict[ColumnBlock, Float[Tensor, "_ _"]]:
    """The columns from each place where an arrow starts to read to the next such place.

    A matrix is split once, so that its gradient is put together once, not added up from slices.
    """
    columns = {}
    read = {at for arrow in arrows for at in (arrow.query, arrow.key, arrow.value)}
    for number, matrix in enumerate(matrices):
        starts = sorted({0} | {at.start for at in read if at.matrix == number})
        sizes = [end - start for start, end in pairwise([*starts, matrix.shape[1]])]
        for start, part in zip(starts, matrix.split_with_sizes(sizes, dim=1), strict=True):
            columns[ColumnBlock(number, start)] = part
    return columns


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
    if (arrow.theta is not None) != isinstance(pattern, DenseBlocks | ListedPairs):
        raise ValueError("theta is needed for dense attention and has no place in sparse attention")
    if arrow.terms is None:
        return
    if not isinstance(pattern, Neighborhood):
        raise ValueError(NOT_DENSE)
    pairs, columns = len(pattern.senders), arrow.terms.shape[1]
    if len(arrow.terms) != pairs or columns != (1 + arrow.pair_width) * arrow.heads:
        raise ValueError(
            f"terms of shape {tuple(arrow.terms.shape)} for {pairs} pairs and {arrow.heads} heads; "
            f"give ({pairs}, a multiple of {arrow.heads}), the bias first"
        )


def _terms(
    pattern: Pattern,
    heads: int,
    bias: Float[Tensor, "_ _"] | None,
    pair_values: Float[Tensor, "_ _ _"] | None,
) -> Float[Tensor, "pair term"]:
    """Both side by side, where any is given."""
    if not isinstance(pattern, Neighborhood):
        raise ValueError(NOT_DENSE)
    pairs, parts = len(pattern.senders), []
    if bias is not None:
        if len(bias) != pairs or bias.shape[1] not in (1, heads):
            raise ValueError(
                f"a bias of shape {tuple(bias.shape)} for {pairs} pairs and {heads} heads; "
                f"give ({pairs}, 1) or ({pairs}, {heads})"
            )
        parts.append(bias.expand(-1, heads))
    if pair_values is not None:
        if len(pair_values) != pairs or pair_values.shape[2] != heads:
            raise ValueError(
                f"pair values of shape {tuple(pair_values.shape)} for {pairs} pairs and {heads} "
                f"heads; give ({pairs}, columns, {heads})"
            )
        if bias is None:
            parts.append(pair_values.new_zeros(pairs, heads))
        parts.append(merge_heads(pair_values))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
