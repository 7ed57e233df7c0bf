"""The fused attention of the CPU as an operator of PyTorch's: autograd and torch.compile know it.

One call computes all attentions of a layer, each reading columns of the projections and writing
columns of the results, so that nothing is copied or put together between them and the matrix
products. Not differentiable twice.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import _get_current_dispatch_mode

from cellformer.attention.arrows import ArrowAttention, Shape
from cellformer.attention.cpu.call import Call, Fixed
from cellformer.attention.cpu.packing import (
    Computed,
    Learned,
    Operands,
    Saved,
    Step,
    grouped,
    joined,
    lengths_of,
    packed_patterns,
    plan_of,
    tuples_of,
)
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
        learned = _learned(matrices, arrows)
        backward = _has_backward(learned)
        patterns = [arrays_of(arrow.pattern, backward) for arrow in arrows]
        fixed = Fixed(patterns, seed, plan_of(arrows), scale, dropout)
        results = _Direct.apply(  # type: ignore[no-untyped-call]
            lengths_of(learned), outputs, fixed, *joined(learned)
        )
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
) -> Operands:
    """The arguments of the operator ``cellformer::attention``: tensors and numbers alone."""
    learned = _learned(matrices, arrows)
    return Operands(
        matrices=learned.matrices,
        thetas=learned.thetas,
        terms=learned.terms,
        indices=packed_patterns([arrow.pattern for arrow in arrows], _has_backward(learned)),
        seed=seed,
        plan=joined(plan_of(arrows)),
        shapes=joined(outputs),
        scale=scale,
        dropout=dropout,
    )


def _learned(matrices: Sequence[Tensor], arrows: Sequence[ArrowAttention]) -> Learned:
    """In the precision of the softmax, thetas for each head."""
    precise = torch.promote_types(matrices[0].dtype, torch.float32)
    return Learned(
        matrices=[matrix.to(precise) for matrix in matrices],
        thetas=[a.theta.to(precise).expand(a.heads) for a in arrows if a.theta is not None],
        terms=[a.terms.to(precise) for a in arrows if a.terms is not None],
    )


def _has_backward(learned: Learned) -> bool:
    """Whether a backward may follow."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in joined(learned))


def _call(
    learned: Learned,
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    scale: float,
    dropout: float,
) -> Call:
    """What an operator is called for."""
    steps = tuples_of(Step, plan)
    patterns = patterns_of(indices, steps, learned.matrices)
    return Call(learned, Fixed(patterns, seed, steps, scale, dropout))


# PyTorch reads the arguments of an operator off the signature of its function.
def _attention(
    matrices: list[Tensor],
    thetas: list[Tensor],
    terms: list[Tensor],
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    shapes: list[int],
    scale: float,
    dropout: float,
) -> list[Tensor]:
    call = _call(Learned(matrices, thetas, terms), indices, seed, plan, scale, dropout)
    return joined(forward_pass(call, tuples_of(Shape, shapes)))


_forward = torch.library.custom_op(
    "cellformer::attention", _attention, mutates_args=(), device_types="cpu"
)


@_forward.register_fake
def _(*arguments: Any) -> list[Tensor]:
    given = Operands(*arguments)
    steps, shapes = tuples_of(Step, given.plan), tuples_of(Shape, given.shapes)
    return joined(empty_results(given.matrices, steps, shapes))


def _attention_gradients(
    grad_outputs: list[Tensor],
    outputs: list[Tensor],
    log_sum_exps: list[Tensor],
    matrices: list[Tensor],
    thetas: list[Tensor],
    terms: list[Tensor],
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    scale: float,
    dropout: float,
) -> list[Tensor]:
    call = _call(Learned(matrices, thetas, terms), indices, seed, plan, scale, dropout)
    return joined(backward_pass(call, grad_outputs, Computed(outputs, log_sum_exps)))


_backward = torch.library.custom_op(
    "cellformer::attention_backward", _attention_gradients, mutates_args=(), device_types="cpu"
)


@_backward.register_fake
def _(
    grad_outputs: list[Tensor],
    outputs: list[Tensor],
    log_sum_exps: list[Tensor],
    matrices: list[Tensor],
    thetas: list[Tensor],
    terms: list[Tensor],
    indices: list[Tensor],
    seed: Tensor | None,
    plan: list[int],
    *others: Any,
) -> list[Tensor]:
    return joined(empty_gradients(Learned(matrices, thetas, terms), tuples_of(Step, plan)))


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    given = Operands(*inputs)
    learned = Learned(given.matrices, given.thetas, given.terms)
    outputs = len(tuples_of(Shape, given.shapes))
    computed = grouped(Computed, output, (outputs, len(output) - outputs))
    _remember(ctx, Saved.of(computed, learned, given.indices, [given.seed]))
    ctx.plan, ctx.scale, ctx.dropout = given.plan, given.scale, given.dropout


def _remember(ctx: Any, saved: Saved) -> None:
    ctx.save_for_backward(*joined(saved))
    ctx.lengths = lengths_of(saved)
    ctx.mark_non_differentiable(*saved.log_sum_exps)


def _remembered(ctx: Any) -> Saved:
    return grouped(Saved, ctx.saved_tensors, ctx.lengths)


def _differentiate(ctx: Any, grad_results: Sequence[Tensor]) -> Operands:
    saved = _remembered(ctx)
    grad_outputs = list(grad_results[: len(saved.outputs)])
    grads = _backward(
        grad_outputs, *saved.computed, *saved.learned, saved.indices, *saved.seeds, ctx.plan,
        ctx.scale, ctx.dropout,
    )  # fmt: skip
    learned = grouped(Learned, grads, lengths_of(saved.learned))
    none: dict[str, Any] = dict.fromkeys(Operands._fields)
    none["indices"] = [None] * len(saved.indices)
    return Operands(**none | learned._asdict())


_forward.register_autograd(_differentiate, setup_context=_save)


class _Direct(torch.autograd.Function):
    """The operator without PyTorch's dispatch of it, which takes longer than a small batch.

    Patterns are not taken apart into tensors, so that every layer finds the same arrays.
    """

    @staticmethod
    def forward(
        ctx: Any, lengths: list[int], shapes: Sequence[Shape], fixed: Fixed, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        learned = grouped(Learned, tensors, lengths)
        computed = forward_pass(Call(learned, fixed), shapes)
        _remember(ctx, Saved.of(computed, learned))
        ctx.fixed = fixed
        return tuple(joined(computed))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_results: Tensor) -> tuple[Any, ...]:
        saved = _remembered(ctx)
        grad_outputs = grad_results[: len(saved.outputs)]
        grads = backward_pass(Call(saved.learned, ctx.fixed), grad_outputs, saved.computed)
        return None, None, None, *joined(grads)


def _is_eager(matrices: Sequence[Tensor]) -> bool:
    """Whether nobody traces, counts or fakes what is computed."""
    plain = all(type(matrix) in (Tensor, torch.nn.Parameter) for matrix in matrices)
    watched = torch.compiler.is_compiling() or _get_current_dispatch_mode() is not None
    return plain and not watched
