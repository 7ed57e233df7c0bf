"""Sparse attention on a GPU as an operator of PyTorch's: autograd and torch.compile know it.

Its kernels, in `launch`, are imported when they first run, because they need Triton. Not
differentiable twice.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.attention.gpu.operands import SparseOperands
from cellformer.complexes.batches.neighborhood import Neighborhood


def fused_sparse_attention(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    neighborhood: Neighborhood,
    *,
    bias: Float[Tensor, "pair head_or_1"] | None = None,
    pair_values: Float[Tensor, "pair pair_width head"] | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver received_width head"]:
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
    if pair_values is not None:
        pair_values = pair_values.to(precise)
    differentiable = [t for t in (query, key, value, bias, pair_values) if t is not None]
    backward = torch.is_grad_enabled() and any(t.requires_grad for t in differentiable)
    # While compiling, the backward transposes: torch.compile cannot trace cached properties.
    cached = backward and not torch.compiler.is_compiling()
    transposed = neighborhood.transposed if cached else None
    operands = SparseOperands(
        query=query,
        key=key,
        value=value,
        offsets=neighborhood.offsets,
        senders=neighborhood.senders,
        weights=neighborhood.weights,
        transposed_offsets=None if transposed is None else transposed.offsets,
        transposed_receivers=None if transposed is None else transposed.receivers,
        transposed_pairs=None if transposed is None else transposed.pairs,
        bias=bias,
        pair_value=pair_values,
        seed=torch.randint(2**63 - 1, (1,), device=query.device) if dropout > 0 else None,
        scale=scale,
        dropout=dropout,
    )
    output: Tensor
    output, _ = sparse_attention_op(*operands)
    return output


# PyTorch reads the arguments of an operator off the signature of its function.
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    transposed_offsets: Tensor | None,
    transposed_receivers: Tensor | None,
    transposed_pairs: Tensor | None,
    bias: Tensor | None,
    pair_value: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """The output, and the logarithm of each softmax's denominator."""
    from cellformer.attention.gpu import launch

    operands = SparseOperands(
        query, key, value, offsets, senders, weights, transposed_offsets, transposed_receivers,
        transposed_pairs, bias, pair_value, seed, scale, dropout,
    )  # fmt: skip
    return launch.forward(operands)


sparse_attention_op = torch.library.custom_op(
    "cellformer::sparse_attention", _attention, mutates_args=(), device_types="cuda"
)


def _attention_gradients(
    grad_output: Tensor,
    output: Tensor,
    log_sum_exp: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    transposed_offsets: Tensor | None,
    transposed_receivers: Tensor | None,
    transposed_pairs: Tensor | None,
    bias: Tensor | None,
    pair_value: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value and, where they are given, of bias and pair values."""
    from cellformer.attention.gpu import launch

    operands = SparseOperands(
        query, key, value, offsets, senders, weights, transposed_offsets, transposed_receivers,
        transposed_pairs, bias, pair_value, seed, scale, dropout,
    )  # fmt: skip
    return launch.backward(grad_output, output, log_sum_exp, operands)


_backward = torch.library.custom_op(
    "cellformer::sparse_attention_backward",
    _attention_gradients,
    mutates_args=(),
    device_types="cuda",
)


@sparse_attention_op.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor]:
    given = SparseOperands(*arguments)
    query, value = given.query, given.value
    precise = torch.promote_types(query.dtype, torch.float32)
    columns = value.shape[1] + (0 if given.pair_value is None else given.pair_value.shape[1])
    output = value.new_empty(query.shape[0], columns, value.shape[2])
    return output, query.new_empty(query.shape[0], query.shape[2], dtype=precise)


@_backward.register_fake
def _(
    grad_output: Tensor, output: Tensor, log_sum_exp: Tensor, *arguments: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    given = SparseOperands(*arguments)
    grad_query, grad_key, grad_value = (
        tensor.new_empty(tensor.shape) for tensor in (given.query, given.key, given.value)
    )
    num_pairs = given.senders.shape[0] if given.bias is not None else 0
    grad_score = log_sum_exp.new_empty(num_pairs, given.query.shape[2])
    pair_value = given.query.new_empty(0) if given.pair_value is None else given.pair_value
    grad_pair = log_sum_exp.new_empty(pair_value.shape)
    return grad_query, grad_key, grad_value, grad_score, grad_pair


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    given = SparseOperands(*inputs)
    ctx.scale, ctx.dropout = given.scale, given.dropout
    tensors = given._asdict() | {"scale": None, "dropout": None}
    ctx.save_for_backward(*output, *tensors.values())
    _, log_sum_exp = output
    ctx.mark_non_differentiable(log_sum_exp)


def _differentiate(ctx: Any, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    output, log_sum_exp, *tensors = ctx.saved_tensors
    given = SparseOperands(*tensors)._replace(scale=ctx.scale, dropout=ctx.dropout)
    query, key, value, score, pair_value = _backward(grad_output, output, log_sum_exp, *given)
    grads: dict[str, Tensor | None] = dict.fromkeys(SparseOperands._fields)
    grads |= {"query": query, "key": key, "value": value}
    grads["bias"] = None if given.bias is None else score
    grads["pair_value"] = None if given.pair_value is None else pair_value
    return tuple(grads.values())


sparse_attention_op.register_autograd(_differentiate, setup_context=_save)


def interpret_on_cpu() -> None:
    """Has the operator take tensors on a CPU too, where Triton's interpreter runs its kernels.

    Needs Triton, and TRITON_INTERPRET=1 before it is imported.
    """
    sparse_attention_op.register_kernel("cpu")(_attention)
    _backward.register_kernel("cpu")(_attention_gradients)
