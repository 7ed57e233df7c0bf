"""The fused attention of the CPU as an operator of PyTorch's: autograd and torch.compile know it.

One call computes all attentions of a layer, each reading columns of the projections and writing
columns of the results, so that nothing is copied or put together between them and the matrix
products. Not differentiable twice.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import _get_current_dispatch_mode

from cellformer.attention.arrows import ArrowAttention, Shape
from cellformer.attention.compiled import Work, run
from cellformer.attention.cpu_backward import attention_backward
from cellformer.attention.cpu_call import Call, flat, lanes_of, rows_of, with_adjacent_columns
from cellformer.attention.cpu_dense import dense_backward, dense_forward
from cellformer.attention.cpu_forward import attention_forward
from cellformer.attention.cpu_plan import indices_of, plan_of, steps_of
from cellformer.attention.cpu_rows import Sizes
from cellformer.attention.cpu_tiles import receivers_alone, senders_alone


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
    given = operands(matrices, arrows, outputs, seed, scale, dropout)
    results = _directly(*given) if _is_eager(given[0]) else _forward(*given)
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
    precise = torch.promote_types(matrices[0].dtype, torch.float32)
    thetas = [a.theta.to(precise).expand(a.heads) for a in arrows if a.theta is not None]
    biases = [a.bias.to(precise).expand(-1, a.heads) for a in arrows if a.bias is not None]
    learned = [*matrices, *thetas, *biases]
    backward = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in learned)
    return (
        [matrix.to(precise) for matrix in matrices],
        thetas,
        biases,
        [tensor for arrow in arrows for tensor in indices_of(arrow.pattern, backward)],
        seed,
        [number for step in plan_of(arrows) for number in step],
        [number for shape in outputs for number in (shape.rows, shape.columns)],
        scale,
        dropout,
    )


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
    """The outputs, and for each arrow the logarithm of each softmax's denominator."""
    call = Call(matrices, thetas, biases, indices, seed, plan, scale, dropout)
    made = _results(matrices, plan, shapes)
    outputs = made[: len(shapes) // 2]
    works = []
    for number, step in enumerate(call.steps):
        if not step.heads:
            continue
        lanes = lanes_of(step.heads)
        sizes = Sizes(step.head_width, step.value_width, step.heads)
        results = (
            rows_of(outputs[step.output], step.output_start),
            flat(made[len(outputs) + number]),
        )
        drawn = call.drawn(number)
        size, inputs = call.size(number), call.inputs(step)
        common = (sizes, scale, drawn, lanes, *results)
        if step.dense:
            arguments = (*inputs, *call.squares(number), *common)
            works.append(Work(dense_forward, size, arguments))
        else:
            pairs = call.pairs(number)
            tiles = call.tiles(number) or receivers_alone(pairs.offsets)
            works.append(Work(attention_forward, size, (*inputs, pairs, tiles, *common)))
    run(works)
    return made


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
    return _results(matrices, plan, shapes)


def _results(matrices: list[Tensor], plan: list[int], shapes: list[int]) -> list[Tensor]:
    """Empty outputs, zero where not all columns will be filled, and room for the logarithms."""
    steps = steps_of(plan)
    outputs = []
    for number, (rows, columns) in enumerate(zip(shapes[::2], shapes[1::2], strict=True)):
        filled = sum(s.value_width * s.heads for s in steps if s.output == number)
        make = matrices[0].new_empty if filled == columns else matrices[0].new_zeros
        outputs.append(make(rows, columns))
    # Not len(), which would fix a size that torch.compile leaves open.
    return outputs + [
        matrices[s.query].new_empty(matrices[s.query].shape[0], s.heads) for s in steps
    ]


def _gradients_of(
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
    """The gradients of matrices, thetas and biases."""
    call = Call(matrices, thetas, biases, indices, seed, plan, scale, dropout)
    grads = _gradients(matrices, thetas, biases, plan)
    grad_matrices = grads[: len(matrices)]
    grad_thetas = grads[len(matrices) : len(matrices) + len(thetas)]
    grad_biases = grads[len(matrices) + len(thetas) :]
    grad_outputs = [with_adjacent_columns(grad) for grad in grad_outputs]
    works, afterwards, by_complex = [], [], {}
    for number, step in enumerate(call.steps):
        if not step.heads:
            continue
        lanes = lanes_of(step.heads)
        sizes = Sizes(step.head_width, step.value_width, step.heads)
        query, key, value = call.inputs(step)
        output = rows_of(results[step.output], step.output_start)
        log_sum_exp = flat(results[len(grad_outputs) + number])
        grad_output = rows_of(grad_outputs[step.output], step.output_start)
        gradients = (
            rows_of(grad_matrices[step.query], step.query_start),
            rows_of(grad_matrices[step.key], step.key_start),
            rows_of(grad_matrices[step.value], step.value_start),
        )
        size, drawn = call.size(number), call.drawn(number)
        common = (sizes, scale, drawn, lanes, output, log_sum_exp, grad_output, *gradients)
        if step.dense:
            squares, theta = call.squares(number)
            grad_theta = np.empty((len(squares.work) - 1, step.heads), query.data.dtype)
            by_complex[step.theta] = grad_theta
            arguments = (query, key, value, squares, theta, *common, grad_theta.reshape(-1))
            works.append(Work(dense_backward, size, arguments))
            continue
        pairs = call.pairs(number)
        transposed, tiles = call.transposed(number, len(matrices[step.key])), call.tiles(number)
        # Between two turns, what the receivers leave to their senders must lie somewhere.
        left = 2 * len(pairs.senders) * step.heads if tiles is None else 0
        by_pair = np.empty(left, query.data.dtype)
        grad_bias = query.data[:0] if step.bias < 0 else flat(grad_biases[step.bias])
        inputs, rest = (query, key, value, pairs, transposed), (*common, grad_bias, by_pair)
        first = receivers_alone(pairs.offsets) if tiles is None else tiles
        works.append(Work(attention_backward, size, (*inputs, first, *rest)))
        if tiles is None:
            then = senders_alone(transposed.offsets, pairs.offsets)
            afterwards.append(Work(attention_backward, size, (*inputs, then, *rest)))
    run(works)
    run(afterwards)
    for theta_number, grad_theta in by_complex.items():
        grad_thetas[theta_number].copy_(torch.from_numpy(grad_theta.sum(0)))
    return grads


_backward = torch.library.custom_op(
    "cellformer::attention_backward", _gradients_of, mutates_args=(), device_types="cpu"
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
    return _gradients(matrices, thetas, biases, plan)


def _gradients(
    matrices: list[Tensor], thetas: list[Tensor], biases: list[Tensor], plan: list[int]
) -> list[Tensor]:
    """Empty gradients, zero where not all columns were read."""
    steps = steps_of(plan)
    read = [0] * len(matrices)
    for step in steps:
        read[step.query] += step.head_width * step.heads
        read[step.key] += step.head_width * step.heads
        read[step.value] += step.value_width * step.heads
    grads = [
        (matrix.new_empty if columns == matrix.shape[1] else matrix.new_zeros)(matrix.shape)
        for matrix, columns in zip(matrices, read, strict=True)
    ]
    return grads + [tensor.new_empty(tensor.shape) for tensor in (*thetas, *biases)]


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    matrices, thetas, biases, indices, seed, plan, shapes, scale, dropout = inputs
    ctx.save_for_backward(*output, *matrices, *thetas, *biases, *indices, seed)
    ctx.lengths = [len(part) for part in (output, matrices, thetas, biases, indices)]
    ctx.outputs = len(shapes) // 2
    ctx.mark_non_differentiable(*output[ctx.outputs :])
    ctx.plan, ctx.scale, ctx.dropout = plan, scale, dropout


def _differentiate(
    ctx: Any, grad_results: Sequence[Tensor], gradients: Callable[..., list[Tensor]] = _backward
) -> tuple[Any, ...]:
    *saved, seed = ctx.saved_tensors
    ends = list(itertools.accumulate(ctx.lengths, initial=0))
    output, matrices, thetas, biases, indices = (
        list(saved[start:end]) for start, end in itertools.pairwise(ends)
    )
    grads = gradients(
        list(grad_results[: ctx.outputs]), output, matrices, thetas, biases, indices, seed,
        ctx.plan, ctx.scale, ctx.dropout,
    )  # fmt: skip
    first, second = len(matrices), len(matrices) + len(thetas)
    no_grads = [None] * len(indices)
    return grads[:first], grads[first:second], grads[second:], no_grads, *(None,) * 5


_forward.register_autograd(_differentiate, setup_context=_save)


class _Direct(torch.autograd.Function):
    """The operator without PyTorch's dispatch of it, which takes longer than a small batch."""

    @staticmethod
    def forward(ctx: Any, lengths: list[int], *arguments: Any) -> tuple[Tensor, ...]:
        given = _grouped(arguments, lengths)
        output = _attention(*given)
        _save(ctx, given, output)
        return tuple(output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_results: Tensor) -> tuple[Any, ...]:
        matrices, thetas, biases, _, *others = _differentiate(ctx, grad_results, _gradients_of)
        return (None, *matrices, *thetas, *biases, None, *others)


def _grouped(arguments: Sequence[Any], lengths: Sequence[int]) -> tuple[Any, ...]:
    """The arguments of the operator: matrices, thetas and biases as lists, then the others."""
    ends = list(itertools.accumulate(lengths, initial=0))
    lists = [list(arguments[start:end]) for start, end in itertools.pairwise(ends)]
    return (*lists, *arguments[ends[-1] :])


def _directly(
    matrices: list[Tensor], thetas: list[Tensor], biases: list[Tensor], *others: Any
) -> tuple[Tensor, ...]:
    lengths = [len(matrices), len(thetas), len(biases)]
    results: tuple[Tensor, ...] = _Direct.apply(  # type: ignore[no-untyped-call]
        lengths, *matrices, *thetas, *biases, *others
    )
    return results


def _is_eager(matrices: list[Tensor]) -> bool:
    """Whether nobody traces, counts or fakes what is computed."""
    plain = all(type(matrix) in (Tensor, torch.nn.Parameter) for matrix in matrices)
    watched = torch.compiler.is_compiling() or _get_current_dispatch_mode() is not None
    return plain and not watched
