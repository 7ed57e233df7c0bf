"""All attentions of a layer on a CPU: forward and backward, each as one run of the kernels."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from cellformer.attention.arrows import Shape
from cellformer.attention.cpu.backward import attention_backward
from cellformer.attention.cpu.bundles import Gradients, Rows
from cellformer.attention.cpu.call import (
    Call,
    columns_of,
    rows_of,
    with_adjacent_columns,
)
from cellformer.attention.cpu.compiled import Work, run
from cellformer.attention.cpu.dense import dense_backward, dense_forward
from cellformer.attention.cpu.forward import attention_forward
from cellformer.attention.cpu.packing import Computed, Learned, Step
from cellformer.attention.cpu.pattern import DenseArrays


def forward_pass(call: Call, shapes: Sequence[Shape]) -> Computed:
    """What the arrows compute."""
    computed = empty_results(call.learned.matrices, call.steps, shapes)
    works, made = [], call.results(computed)
    for number, (step, pattern) in enumerate(zip(call.steps, call.patterns, strict=True)):
        if not step.heads:
            continue
        inputs, settings = call.inputs(step), call.settings(number)
        size, results = call.size(number), made[number]
        if isinstance(pattern, DenseArrays):
            dense = (inputs, pattern.squares, settings, results)
            works.append(Work(dense_forward, size, dense))
        else:
            tiles = pattern.tiles or pattern.receivers_alone
            sparse = (inputs, pattern.pairs, tiles, settings, results)
            works.append(Work(attention_forward, size, sparse))
    run(works)
    return computed


def empty_results(
    matrices: Sequence[Tensor], steps: Sequence[Step], shapes: Sequence[Shape]
) -> Computed:
    """Empty outputs, zero where not all columns will be filled, and room for the logarithms."""
    outputs = []
    for number, shape in enumerate(shapes):
        filled = sum(s.received_width * s.heads for s in steps if s.output == number)
        make = matrices[0].new_empty if filled == shape.columns else matrices[0].new_zeros
        outputs.append(make(shape.rows, shape.columns))
    # Not len(), which would fix a size that torch.compile leaves open.
    log_sum_exps = [matrices[s.query].new_empty(matrices[s.query].shape[0], s.heads) for s in steps]
    return Computed(outputs, log_sum_exps)


def backward_pass(call: Call, grad_outputs: Sequence[Tensor], computed: Computed) -> Learned:
    """The gradients, given what the forward made."""
    grads = empty_gradients(call.learned, call.steps)
    matrices = [rows_of(grad) for grad in grads.matrices]
    terms = [rows_of(grad) for grad in grads.terms]
    received = [rows_of(with_adjacent_columns(grad)) for grad in grad_outputs]
    works, afterwards, by_complex, made = [], [], {}, call.results(computed)
    for number, (step, pattern) in enumerate(zip(call.steps, call.patterns, strict=True)):
        if not step.heads:
            continue
        inputs, settings = call.inputs(step), call.settings(number)
        size, results = call.size(number), made[number]
        nothing = inputs.query.data[:0]
        gradients = Gradients(
            output=columns_of(received[step.output], step.output_start),
            query=columns_of(matrices[step.query], step.query_start),
            key=columns_of(matrices[step.key], step.key_start),
            value=columns_of(matrices[step.value], step.value_start),
            terms=terms[step.terms] if step.terms >= 0 else Rows(nothing, 0),
            theta=nothing,
            by_pair=nothing,
        )
        if isinstance(pattern, DenseArrays):
            complexes = len(pattern.squares.work) - 1
            theta = by_complex[step.theta] = np.empty((complexes, step.heads), nothing.dtype)
            gradients = gradients._replace(theta=theta.reshape(-1))
            dense = (inputs, pattern.squares, settings, results, gradients)
            works.append(Work(dense_backward, size, dense))
            continue
        pairs, tiles = pattern.both_ways, pattern.tiles
        if tiles is None:
            # Between two turns, what the receivers leave to their senders must lie somewhere.
            left = np.empty(2 * pattern.num_pairs * step.heads, nothing.dtype)
            gradients = gradients._replace(by_pair=left)
            then = (inputs, pairs, pattern.senders_alone, settings, results, gradients)
            afterwards.append(Work(attention_backward, size, then))
        first = tiles or pattern.receivers_alone
        sparse = (inputs, pairs, first, settings, results, gradients)
        works.append(Work(attention_backward, size, sparse))
    run(works)
    run(afterwards)
    for theta_number, grad_theta in by_complex.items():
        grads.thetas[theta_number].copy_(torch.from_numpy(grad_theta.sum(0)))
    return grads


def empty_gradients(learned: Learned, steps: Sequence[Step]) -> Learned:
    """Empty gradients, zero where not all columns were read."""
    read = [0] * len(learned.matrices)
    for step in steps:
        read[step.query] += step.head_width * step.heads
        read[step.key] += step.head_width * step.heads
        read[step.value] += step.value_width * step.heads
    matrices = [
        (matrix.new_empty if columns == matrix.shape[1] else matrix.new_zeros)(matrix.shape)
        for matrix, columns in zip(learned.matrices, read, strict=True)
    ]
    thetas, terms = (
        [tensor.new_empty(tensor.shape) for tensor in group]
        for group in (learned.thetas, learned.terms)
    )
    return Learned(matrices, thetas, terms)
