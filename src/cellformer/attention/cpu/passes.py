"""All attentions of a layer on a CPU: forward and backward, each as one run of the kernels."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from cellformer.attention.cpu.backward import attention_backward
from cellformer.attention.cpu.call import (
    Call,
    columns_of,
    flat,
    lanes_of,
    rows_of,
    with_adjacent_columns,
)
from cellformer.attention.cpu.compiled import Work, run
from cellformer.attention.cpu.dense import dense_backward, dense_forward
from cellformer.attention.cpu.forward import attention_forward
from cellformer.attention.cpu.packing import Step
from cellformer.attention.cpu.rows import Sizes


def forward_pass(call: Call, shapes: Sequence[int]) -> list[Tensor]:
    """The outputs, and for each arrow the logarithm of each softmax's denominator."""
    made = empty_results(call.tensors, call.steps, shapes)
    outputs = [rows_of(output) for output in made[: len(shapes) // 2]]
    works = []
    for number, (step, pattern) in enumerate(zip(call.steps, call.patterns, strict=True)):
        if not step.heads:
            continue
        lanes = lanes_of(step.heads)
        sizes = Sizes(step.head_width, step.value_width, step.heads)
        results = (
            columns_of(outputs[step.output], step.output_start),
            flat(made[len(outputs) + number]),
        )
        drawn = call.drawn(number)
        size, inputs = call.size(number), call.inputs(step)
        common = (sizes, call.scale, drawn, lanes, *results)
        if step.dense:
            dense = (*inputs, pattern.squares, call.thetas[step.theta], *common)
            works.append(Work(dense_forward, size, dense))
        else:
            tiles = pattern.tiles or pattern.receivers_alone
            sparse = (*inputs, call.pairs(number), tiles, *common)
            works.append(Work(attention_forward, size, sparse))
    run(works)
    return made


def empty_results(
    matrices: list[Tensor], steps: Sequence[Step], shapes: Sequence[int]
) -> list[Tensor]:
    """Empty outputs, zero where not all columns will be filled, and room for the logarithms."""
    outputs = []
    for number, (rows, columns) in enumerate(zip(shapes[::2], shapes[1::2], strict=True)):
        filled = sum(s.value_width * s.heads for s in steps if s.output == number)
        make = matrices[0].new_empty if filled == columns else matrices[0].new_zeros
        outputs.append(make(rows, columns))
    # Not len(), which would fix a size that torch.compile leaves open.
    return outputs + [
        matrices[s.query].new_empty(matrices[s.query].shape[0], s.heads) for s in steps
    ]


def backward_pass(
    call: Call, grad_outputs: Sequence[Tensor], results: Sequence[Tensor]
) -> list[Tensor]:
    """The gradients of matrices, thetas and biases, given the results of the forward."""
    grads = empty_gradients(call.tensors, call.theta_tensors, call.bias_tensors, call.steps)
    thetas_at, biases_at = len(call.tensors), len(call.tensors) + len(call.thetas)
    grad_matrices = [rows_of(grad) for grad in grads[:thetas_at]]
    grad_thetas = grads[thetas_at:biases_at]
    grad_biases = grads[biases_at:]
    outputs = [rows_of(output) for output in results[: len(grad_outputs)]]
    received = [rows_of(with_adjacent_columns(grad)) for grad in grad_outputs]
    works, afterwards, by_complex = [], [], {}
    for number, (step, pattern) in enumerate(zip(call.steps, call.patterns, strict=True)):
        if not step.heads:
            continue
        lanes = lanes_of(step.heads)
        sizes = Sizes(step.head_width, step.value_width, step.heads)
        query, key, value = call.inputs(step)
        output = columns_of(outputs[step.output], step.output_start)
        log_sum_exp = flat(results[len(grad_outputs) + number])
        grad_output = columns_of(received[step.output], step.output_start)
        gradients = (
            columns_of(grad_matrices[step.query], step.query_start),
            columns_of(grad_matrices[step.key], step.key_start),
            columns_of(grad_matrices[step.value], step.value_start),
        )
        size, drawn = call.size(number), call.drawn(number)
        common = (sizes, call.scale, drawn, lanes, output, log_sum_exp, grad_output, *gradients)
        if step.dense:
            squares, theta = pattern.squares, call.thetas[step.theta]
            grad_theta = np.empty((len(squares.work) - 1, step.heads), query.data.dtype)
            by_complex[step.theta] = grad_theta
            arguments = (query, key, value, squares, theta, *common, grad_theta.reshape(-1))
            works.append(Work(dense_backward, size, arguments))
            continue
        pairs, tiles = call.pairs(number), pattern.tiles
        # Between two turns, what the receivers leave to their senders must lie somewhere.
        left = 2 * len(pairs.senders) * step.heads if tiles is None else 0
        by_pair = np.empty(left, query.data.dtype)
        grad_bias = query.data[:0] if step.bias < 0 else flat(grad_biases[step.bias])
        inputs, rest = (query, key, value, pairs, pattern.transposed), (*common, grad_bias, by_pair)
        first = tiles or pattern.receivers_alone
        works.append(Work(attention_backward, size, (*inputs, first, *rest)))
        if tiles is None:
            then = (*inputs, pattern.senders_alone, *rest)
            afterwards.append(Work(attention_backward, size, then))
    run(works)
    run(afterwards)
    for theta_number, grad_theta in by_complex.items():
        grad_thetas[theta_number].copy_(torch.from_numpy(grad_theta.sum(0)))
    return grads


def empty_gradients(
    matrices: list[Tensor], thetas: list[Tensor], biases: list[Tensor], steps: Sequence[Step]
) -> list[Tensor]:
    """Empty gradients, zero where not all columns were read."""
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
