"""Sparse attention on a GPU as an operator of PyTorch's: autograd and torch.compile know it.

Its kernels, in `launch`, are imported when they first run, because they need Triton. Not
differentiable twice.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.complexes.batches.neighborhood import Neighborhood


def fused_sparse_attention(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    neighborhood: Neighborhood,
    *,
    bias: Float[Tensor, "pair head_or_1"] | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver value_width head"]:
    """What `sparse_attention` computes, in one pass over the pairs, with the same precision.

    Dropout follows ``torch.manual_seed``, but draws other numbers than the reference. Memory
    beyond the results: 1 number per receiver and head, in the backward as much again. Half
    precision is read as it is.

    Raises ValueError if ``dropout`` is not between 0 and 1.
    """
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout must be between 0 and 1, got {dropout}")
    precise = torch.promote_types(query.dtype, torch.float32)
    if bias is not None:
        bias = bias.to(precise).expand(-1, query.shape[2])
    differentiable = [t for t in (query, key, value, bias) if t is not None]
    backward = torch.is_grad_enabled() and any(t.requires_grad for t in differentiable)
    # While compiling, the backward transposes: torch.compile cannot trace cached properties.
    cached = backward and not torch.compiler.is_compiling()
    transposed = neighborhood.transposed if cached else None
    output: Tensor
    output, _ = sparse_attention_op(
        query,
        key,
        value,
        neighborhood.offsets,
        neighborhood.senders,
        neighborhood.weights,
        transposed and transposed.offsets,
        transposed and transposed.receivers,
        transposed and transposed.pairs,
        bias,
        torch.randint(2**63 - 1, (1,), device=query.device) if dropout > 0 else None,
        scale,
        dropout,
    )
    return output


@torch.library.custom_op("cellformer::sparse_attention", mutates_args=(), device_types="cuda")
def sparse_attention_op(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """The output, and the logarithm of each softmax's denominator."""
    from cellformer.attention.gpu import launch

    return launch.forward(
        query, key, value, offsets, senders, weights, sender_offsets, receivers, pairs, bias, seed,
        scale, dropout,
    )  # fmt: skip


@torch.library.custom_op(
    "cellformer::sparse_attention_backward", mutates_args=(), device_types="cuda"
)
def sparse_attention_backward_op(
    grad_output: Tensor,
    output: Tensor,
    log_sum_exp: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value and, where there is a bias, of the scores."""
    from cellformer.attention.gpu import launch

    return launch.backward(
        grad_output, output, log_sum_exp, query, key, value, offsets, senders, weights,
        sender_offsets, receivers, pairs, bias, seed, scale, dropout,
    )  # fmt: skip


@sparse_attention_op.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    precise = torch.promote_types(query.dtype, torch.float32)
    output = value.new_empty(query.shape[0], *value.shape[1:])
    return output, query.new_empty(query.shape[0], query.shape[2], dtype=precise)


@sparse_attention_backward_op.register_fake
def _(
    grad_output: Tensor,
    output: Tensor,
    log_sum_exp: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    *others: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad_query, grad_key, grad_value = (
        tensor.new_empty(tensor.shape) for tensor in (query, key, value)
    )
    num_pairs = senders.shape[0] if bias is not None else 0
    return grad_query, grad_key, grad_value, log_sum_exp.new_empty(num_pairs, query.shape[2])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, scale, dropout = inputs
    ctx.save_for_backward(*output, *tensors)
    ctx.mark_non_differentiable(output[1])
    ctx.scale, ctx.dropout, ctx.has_bias = scale, dropout, tensors[-2] is not None


def _differentiate(ctx: Any, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    *grads, grad_score = sparse_attention_backward_op(
        grad_output, *ctx.saved_tensors, ctx.scale, ctx.dropout
    )
    no_grads = (None,) * 6
    return *grads, *no_grads, grad_score if ctx.has_bias else None, None, None, None


sparse_attention_op.register_autograd(_differentiate, setup_context=_save)
