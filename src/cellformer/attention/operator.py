"""The one door to attention: every layer calls `attend`, which picks the implementation."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.attention.dense_blocks import DenseBlocks
from cellformer.attention.dense_reference import dense_attention
from cellformer.attention.dense_sdpa import dense_sdpa_attention
from cellformer.attention.sparse_operator import fused_sparse_attention
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.complexes.neighborhood import Neighborhood

Pattern: TypeAlias = Neighborhood | DenseBlocks
"""Who attends to whom: stored pairs (sparse) or all pairs within each complex (dense)."""

Implementation: TypeAlias = Literal["fused", "reference"]

_chosen: ContextVar[Implementation] = ContextVar("attention", default="fused")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def implementation(device: torch.device | str) -> Implementation:
    """How `attend` computes sparse attention there: by a fused kernel, or in plain PyTorch."""
    match torch.device(device).type:
        case "cpu":
            return _chosen.get()
        case "cuda" if find_spec("triton"):
            return _chosen.get()
    return "reference"


@contextmanager
def use_attention(which: Implementation) -> Iterator[None]:
    """Within this context, `attend` uses the reference, or (by default) a fused kernel if any.

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
    if (len(query), len(key)) != (pattern.num_receivers, pattern.num_senders):
        raise ValueError(
            f"{len(query)} queries and {len(key)} keys for a pattern of "
            f"{pattern.num_receivers} receivers and {pattern.num_senders} senders"
        )
    if (theta is not None) != isinstance(pattern, DenseBlocks):
        raise ValueError("theta is needed for dense attention and has no place in sparse attention")
    _check_bias(bias, pattern, query.shape[2])
    fused = implementation(query.device) == "fused"
    with torch.autocast(query.device.type, enabled=False):
        match pattern:
            case Neighborhood():
                sparse = fused_sparse_attention if fused else sparse_attention
                return sparse(query, key, value, pattern, bias=bias, scale=scale, dropout=dropout)
            case DenseBlocks():
                assert theta is not None
                dense = dense_sdpa_attention if fused and query.is_cuda else dense_attention
                return dense(query, key, value, pattern, theta, scale=scale, dropout=dropout)


def _check_bias(bias: Float[Tensor, "pair head_or_1"] | None, pattern: Pattern, heads: int) -> None:
    if bias is None:
        return
    if isinstance(pattern, DenseBlocks):
        raise ValueError("a bias has no place in dense attention, which has theta * N")
    pairs = len(pattern.senders)
    if len(bias) != pairs or bias.shape[1] not in (1, heads):
        raise ValueError(
            f"a bias of shape {tuple(bias.shape)} for {pairs} pairs and {heads} heads; "
            f"give ({pairs}, 1) or ({pairs}, {heads})"
        )
