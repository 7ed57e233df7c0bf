"""The kernels on the device against the reference in float64, and twice the same bits."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

from benchmarks.gpu_common import Part
from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Shape
from cellformer.attention.cpu.operator import operands
from cellformer.attention.dense.all_pairs import AllPairs
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.reference import dense_attention
from cellformer.attention.dense.sdpa import dense_sdpa_attention
from cellformer.attention.gpu.dense_pairs import dense_pairs_attention
from cellformer.attention.gpu.operands import SparseOperands
from cellformer.attention.gpu.operator import fused_sparse_attention, sparse_attention_op
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.complexes.batches.neighborhood import Neighborhood

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}
Results = list[Tensor]


def neighborhood_of(receivers: int, senders: int, most: int, seed: int) -> Neighborhood:
    """Rows of 0 ... most neighbors with weights 1, 2 and 3."""
    generator = torch.Generator().manual_seed(seed)
    counts = torch.randint(0, min(most, senders) + 1, (receivers,), generator=generator)
    order = torch.rand(receivers, senders, generator=generator).argsort(dim=1)
    chosen = torch.arange(senders) < counts[:, None]
    pairs = int(counts.sum())
    return Neighborhood(
        senders,
        torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]),
        order[chosen],
        torch.randint(1, 4, (pairs,), generator=generator).float(),
    )


def inputs_of(receivers: int, senders: int, widths: tuple[int, int], heads: int) -> Results:
    """Queries, keys and values in float64."""
    generator = torch.Generator().manual_seed(1)
    shapes = ((receivers, widths[0]), (senders, widths[0]), (senders, widths[1]))
    return [
        torch.randn(*shape, heads, generator=generator, dtype=torch.float64) for shape in shapes
    ]


def differentiated(
    attention: Callable[..., Tensor], inputs: Results, dtype: torch.dtype, device: torch.device
) -> Results:
    """The output and the gradients of all inputs."""
    leaves = [each.to(device, dtype).requires_grad_() for each in inputs]
    output = attention(*leaves)
    slope = torch.linspace(-1, 1, output.numel(), dtype=torch.float64).cos().view(output.shape)
    return [output, *torch.autograd.grad(output, leaves, slope.to(device, dtype))]


def compared(got: Results, again: Results, expected: Results, dtype: torch.dtype) -> dict[str, Any]:
    """The largest error relative to the largest result, of each tensor."""
    errors = [
        float(
            (one.detach().cpu().double() - other.detach()).abs().max() / other.detach().abs().max()
        )
        for one, other in zip(got, expected, strict=True)
    ]
    same = all(torch.equal(one, other) for one, other in zip(got, again, strict=True))
    right = max(errors) <= TOLERANCE[dtype]
    return {"errors": errors, "same_bits_twice": same, "right": right}


def sparse(
    part: Part, shape: tuple[int, ...], dtype: torch.dtype, with_bias: bool
) -> dict[str, Any]:
    """Sparse attention, forward and backward."""
    receivers, senders, most, width, value_width, heads = shape
    neighborhood = neighborhood_of(receivers, senders, most, 0)
    inputs = inputs_of(receivers, senders, (width, value_width), heads)
    inputs = [each.to(dtype).double() for each in inputs]  # what a low precision can hold
    if with_bias:
        inputs.append(torch.randn(len(neighborhood.senders), heads, dtype=torch.float64))
    there = neighborhood.to(part.device)

    def run(operator: Callable[..., Tensor], pairs: Neighborhood) -> Callable[..., Tensor]:
        return lambda q, k, v, b=None: operator(q, k, v, pairs, bias=b, scale=width**-0.5)

    once, again = (
        differentiated(run(fused_sparse_attention, there), inputs, dtype, part.device)
        for _ in range(2)
    )
    expected = differentiated(
        run(sparse_attention, neighborhood), inputs, torch.float64, torch.device("cpu")
    )
    return compared(once, again, expected, dtype)


def dropout(part: Part) -> dict[str, Any]:
    """Whether the GPU drops the weights that the CPU drops, in both directions."""
    cells, width, heads = 9 if part.small else 60, 12, 8
    neighborhood = neighborhood_of(cells, cells, 20, 0)
    inputs = inputs_of(cells, cells, (width, width), heads)
    seed = torch.tensor([2**62 + 12345])
    arrow = ArrowAttention(
        *(ColumnBlock(0, 0), ColumnBlock(1, 0), ColumnBlock(2, 0), ColumnBlock(0, 0)),
        *(width, width, heads, neighborhood),
    )

    def here(*rows: Tensor) -> Tensor:
        matrices = [each.flatten(1) for each in rows]
        arguments = operands(matrices, [arrow], [Shape(cells, width * heads)], seed, 0.3, 0.1)
        output: Tensor = torch.ops.cellformer.attention(*arguments)[0]
        return output.view(cells, width, heads)

    pairs, moved_seed = neighborhood.to(part.device), seed.to(part.device)

    def there(*rows: Tensor) -> Tensor:
        query, key, value = rows
        given = SparseOperands(
            query=query,
            key=key,
            value=value,
            offsets=pairs.offsets,
            senders=pairs.senders,
            weights=pairs.weights,
            transposed_offsets=None,
            transposed_receivers=None,
            transposed_pairs=None,
            bias=None,
            pair_value=None,
            seed=moved_seed,
            scale=0.3,
            dropout=0.1,
        )
        output: Tensor
        output, _ = sparse_attention_op(*given)
        return output

    once, again = (differentiated(there, inputs, torch.float64, part.device) for _ in range(2))
    expected = differentiated(here, inputs, torch.float64, torch.device("cpu"))
    return compared(once, again, expected, torch.float64)


def dense(part: Part, form: str, dtype: torch.dtype) -> dict[str, Any]:
    """Dense attention with the gradient of theta."""
    generator = torch.Generator().manual_seed(0)
    count, largest = (3, 6) if part.small else (20, 40)
    sizes = torch.randint(1, largest, (count,), generator=generator)
    complex_of = torch.arange(count).repeat_interleave(sizes)
    cells = len(complex_of)
    every = neighborhood_of(cells, cells, 60, 0)
    inside = complex_of[every.receivers] == complex_of[every.senders]
    counts = every.receivers[inside].bincount(minlength=cells)
    neighborhood = Neighborhood(
        cells,
        torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]),
        every.senders[inside],
        every.weights[inside],
    )
    inputs = [each.to(dtype).double() for each in inputs_of(cells, cells, (12, 12), 8)]
    inputs.append(torch.tensor([0.75], dtype=torch.float64))
    moved = complex_of.to(part.device)
    layout = DenseBlocks.of(moved, moved, count, neighborhood.to(part.device))
    here = DenseBlocks.of(complex_of, complex_of, count, neighborhood)
    pairs = AllPairs.of(layout)
    efficient = [SDPBackend.EFFICIENT_ATTENTION]
    forms: dict[str, Callable[..., Tensor]] = {
        "reference": lambda q, k, v, t: dense_attention(q, k, v, layout, t, scale=0.3),
        "sdpa math": lambda q, k, v, t: dense_sdpa_attention(q, k, v, layout, t, scale=0.3),
        "sdpa efficient": lambda q, k, v, t: dense_sdpa_attention(
            q, k, v, layout, t, scale=0.3, backends=efficient
        ),
        "all pairs": lambda q, k, v, t: dense_pairs_attention(q, k, v, pairs, t, scale=0.3),
    }
    once, again = (differentiated(forms[form], inputs, dtype, part.device) for _ in range(2))
    expected = differentiated(
        lambda q, k, v, t: dense_attention(q, k, v, here, t, scale=0.3),
        inputs,
        torch.float64,
        torch.device("cpu"),
    )
    return compared(once, again, expected, dtype)


def main() -> None:
    """Every shape and precision."""
    part = Part.from_command_line("correctness.json")
    shapes: list[tuple[int, ...]] = [(9, 7, 5, 3, 4, 3)]
    if not part.small:
        shapes += [(2000, 1500, 8, 10, 10, 8), (2000, 2000, 6, 12, 12, 8)]
        shapes += [(500, 500, 6, 24, 24, 32), (40, 900, 700, 16, 16, 4), (7, 9, 9, 700, 600, 5)]
    kinds = [(torch.float32, False), (torch.float32, True), (torch.bfloat16, False)]
    kinds += [(torch.float64, True), (torch.float16, True)]  # each is compiled anew
    for number, shape in enumerate(shapes):
        for dtype, bias in kinds if number == 0 else kinds[:-1]:
            part.case(
                partial(sparse, part, shape, dtype, bias),
                case="sparse",
                shape=shape,
                dtype=str(dtype),
                bias=bias,
            )
    part.case(lambda: dropout(part), case="dropout as on the CPU", dtype="torch.float64")
    forms = ["reference", "sdpa math", "all pairs"]
    if part.device.type == "cuda":
        forms.append("sdpa efficient")
    # Triton's interpreter cuts off the digits that bfloat16 lacks, where a GPU rounds; theta's
    # gradient, a small sum of large terms, shows it.
    half = torch.bfloat16 if part.device.type == "cuda" else torch.float16
    for form in forms:
        for dtype in (torch.float32, half):
            part.case(
                partial(dense, part, form, dtype),
                case=f"dense, {form}",
                dtype=str(dtype),
            )
    wrong = [row for row in part.rows if not row.get("right")]
    varying = [row for row in part.rows if not row.get("same_bits_twice")]
    print(f"{len(part.rows)} cases, {len(wrong)} wrong, {len(varying)} not the same bits twice")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
