"""The fused attention of the CPU as an operator of PyTorch's: autograd and torch.compile know it.

One call computes all attentions of a layer, each reading columns of the projections and writing
columns of the results, so that nothing is copied or put together between them and the matrix
products. Not differentiable twice.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import _get_current_dispatch_mode

from cellformer.attention.arrows import ArrowAttention, Shape
from cellformer.attention.cpu.call import Call
from cellformer.attention.cpu.packing import indices_of, plan_of, steps_of
from cellformer.attention.cpu.passes import (
    backward_pass,
    empty_gradients,
    empty_results,
    forward_pass,
)
from cellformer.attention.cpu.pattern import arrays_of, patterns_of


def fused_attention(
    matrices: Sequence[Tensor],
    arrows: Sequence[ArrowAttention],
    outputs: Sequence[Shape],
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> list[Tensor]:
    """What the arrows compute one by one in plain PyTorch, with the same precision.

    Columns of an output that no arrow fills are zero. Dropout follows ``torch.manual_seed``, but
    draws other numbers than the reference. Memory beyond the results: 1 number per receiver and
    head, in the backward of sparse attention 2 per pair and head.

    Raises ValueError if ``dropout`` is not between 0 and 1.
    """
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout must be between 0 and 1, got {dropout}")
    seed = torch.randint(2**63 - 1, (1,)) if dropout > 0 else None
    if _is_eager(matrices):
        results = _directly(matrices, arrows, outputs, seed, scale, dropout)
    else:
        results = _forward(*operands(matrices, arrows, outputs, seed, scale, dropout))
    return [result.to(matrices[0].dtype) for result in results[: len(outputs)]]


def operands(
    matrices: Sequence[Tensor],
    arrows: Sequence[ArrowAttention],
    outputs: Sequence[Shape],
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Any, ...]:
    """The arguments of the operator ``cellformer::attention``: tensors and numbers alone."""
    precise, thetas, biases = _numbers(matrices, arrows)
    backward = _is_learned(precise, thetas, biases)
    return (
        precise,
        thetas,
        biases,
        [tensor for arrow in arrows for tensor in indices_of(arrow.pattern, backward)],
        seed,
        [number for step in plan_of(arrows) for number in step],
        [number for shape in outputs for number in shape],
        scale,
        dropout,
    )


def _numbers(
    matrices: Sequence[Tensor], arrows: Sequence[ArrowAttention]
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Matrices, thetas and biases in the precision of the softmax, for each head."""
    precise = torch.promote_types(matrices[0].dtype, torch.float32)
    return (
        [matrix.to(precise) for matrix in matrices],
        [a.theta.to(precise).expand(a.heads) for a in arrows if a.theta is not None],
        [a.bias.to(precise).expand(-1, a.heads) for a in arrows if a.bias is not None],
    )


def _is_learned(*groups: Sequence[Tensor]) -> bool:
    """Whether a backward may follow."""
    tensors = itertools.chain(*groups)
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _attention(
    matrices: list[Tensor],
    thetas: list[Tensor],
    biases: list[Tensor],
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    shapes: list[int],
    scale: float,
    dropout: float,
) -> list[Tensor]:
    steps = steps_of(plan)
    patterns = patterns_of(indices, steps, matrices)
    call = Call(matrices, thetas, biases, patterns, seed, steps, scale, dropout)
    return forward_pass(call, shapes)


_forward = torch.library.custom_op(
    "cellformer::attention", _attention, mutates_args=(), device_types="cpu"
)


@_forward.register_fake
def _(
    matrices: list[Tensor],
    thetas: list[Tensor],
    biases: list[Tensor],
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    shapes: list[int],
    scale: float,
    dropout: float,
) -> list[Tensor]:
    return empty_results(matrices, steps_of(plan), shapes)


def _attention_gradients(
    grad_outputs: list[Tensor],
    results: list[Tensor],
    matrices: list[Tensor],
    thetas: list[Tensor],
    biases: list[Tensor],
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    scale: float,
    dropout: float,
) -> list[Tensor]:
    steps = steps_of(plan)
    patterns = patterns_of(indices, steps, matrices)
    call = Call(matrices, thetas, biases, patterns, seed, steps, scale, dropout)
    return backward_pass(call, grad_outputs, results)


_backward = torch.library.custom_op(
    "cellformer::attention_backward", _attention_gradients, mutates_args=(), device_types="cpu"
)


@_backward.register_fake
def _(
    grad_outputs: list[Tensor],
    results: list[Tensor],
    matrices: list[Tensor],
    thetas: list[Tensor],
    biases: list[Tensor],
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    scale: float,
    dropout: float,
) -> list[Tensor]:
    return empty_gradients(matrices, thetas, biases, steps_of(plan))


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    matrices, thetas, biases, indices, seed, plan, shapes, scale, dropout = inputs
    ctx.save_for_backward(*output, *matrices, *thetas, *biases, *indices, seed)
    ctx.lengths = [len(part) for part in (output, matrices, thetas, biases, indices)]
    ctx.outputs = len(shapes) // 2
    ctx.mark_non_differentiable(*output[ctx.outputs :])
    ctx.plan, ctx.scale, ctx.dropout = plan, scale, dropout


def _differentiate(ctx: Any, grad_results: Sequence[Tensor]) -> tuple[Any, ...]:
    *saved, seed = ctx.saved_tensors
    output, matrices, thetas, biases, indices = _grouped(saved, ctx.lengths)
    grads = _backward(
        list(grad_results[: ctx.outputs]), output, matrices, thetas, biases, indices, seed,
        ctx.plan, ctx.scale, ctx.dropout,
    )  # fmt: skip
    matrices, thetas, biases = _grouped(grads, ctx.lengths[1:4])
    return matrices, thetas, biases, [None] * len(indices), *(None,) * 5


_forward.register_autograd(_differentiate, setup_context=_save)


class _Direct(torch.autograd.Function):
    """The operator without PyTorch's dispatch of it, which takes longer than a small batch.

    Patterns are not taken apart into tensors, so that every layer finds the same arrays.
    """

    @staticmethod
    def forward(
        ctx: Any, lengths: list[int], shapes: list[int], others: tuple[Any, ...], *learned: Tensor
    ) -> tuple[Tensor, ...]:
        matrices, thetas, biases = _grouped(learned, lengths)
        results = forward_pass(Call(matrices, thetas, biases, *others), shapes)
        ctx.save_for_backward(*results, *learned)
        ctx.lengths, ctx.outputs = [len(results), *lengths], len(shapes) // 2
        ctx.mark_non_differentiable(*results[ctx.outputs :])
        ctx.others = others
        return tuple(results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_results: Tensor) -> tuple[Any, ...]:
        results, matrices, thetas, biases = _grouped(ctx.saved_tensors, ctx.lengths)
        call = Call(matrices, thetas, biases, *ctx.others)
        return None, None, None, *backward_pass(call, grad_results[: ctx.outputs], results)


def _grouped(tensors: Sequence[Tensor], lengths: Sequence[int]) -> Iterator[list[Tensor]]:
    """Lists of these lengths, one after the other."""
    rest = iter(tensors)
    return (list(itertools.islice(rest, length)) for length in lengths)


def _directly(
    matrices: Sequence[Tensor],
    arrows: Sequence[ArrowAttention],
    outputs: Sequence[Shape],
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, ...]:
    learned = _numbers(matrices, arrows)
    patterns = [arrays_of(arrow.pattern, _is_learned(*learned)) for arrow in arrows]
    shapes = [number for shape in outputs for number in shape]
    others = (patterns, seed, plan_of(arrows), scale, dropout)
    results: tuple[Tensor, ...] = _Direct.apply(  # type: ignore[no-untyped-call]
        [len(group) for group in learned], shapes, others, *itertools.chain(*learned)
    )
    return results


def _is_eager(matrices: Sequence[Tensor]) -> bool:
    """Whether nobody traces, counts or fakes what is computed."""
    plain = all(type(matrix) in (Tensor, torch.nn.Parameter) for matrix in matrices)
    watched = torch.compiler.is_compiling() or _get_current_dispatch_mode() is not None
    return plain and not watched
