"""Times of attention, forward and backward, on a GPU against the ways that others compute it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend

from benchmarks.gpu_common import Part, precision
from cellformer.attention.dense.all_pairs import AllPairs
from cellformer.attention.dense.blocks import DenseBlock, DenseBlocks
from cellformer.attention.dense.reference import dense_attention
from cellformer.attention.dense.sdpa import dense_sdpa_attention
from cellformer.attention.gpu.dense_pairs import dense_pairs_attention
from cellformer.attention.operator import attend, use_attention
from cellformer.complexes.batches.neighborhood import Neighborhood

RUNS = 15
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def flex_sparse(shape: Any, neighborhood: Neighborhood) -> Attention:
    """FlexAttention, compiled, one square per complex and a mask looked up in a matrix."""
    from torch.nn.attention.flex_attention import flex_attention

    size = shape.complex_size
    complexes = -(-shape.cells // size)
    missing = complexes * size - shape.cells
    receivers, senders = neighborhood.receivers, neighborhood.senders
    stored = torch.zeros(complexes, size, size, dtype=torch.bool, device=senders.device)
    stored[receivers // size, receivers % size, senders % size] = True
    width = shape.width // shape.heads
    padding = max(16, 1 << (width - 1).bit_length()) - width

    def only_stored(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.where(stored[b, i, j], score, -float("inf"))

    compiled = torch.compile(flex_attention)

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = (
            functional.pad(
                functional.pad(rows, (0, 0, 0, missing))
                .view(complexes, size, shape.heads, -1)
                .transpose(1, 2),
                (0, padding),
            )
            for rows in (query, key, value)
        )
        output = compiled(q, k, v, score_mod=only_stored, scale=width**-0.5)[..., :width]
        return output.transpose(1, 2).flatten(2).flatten(0, 1)[: shape.cells]

    return attention


def flex_dense(layout: DenseBlocks, theta: Tensor, scale: float) -> Attention:
    """FlexAttention, compiled, on each block; theta times N is looked up in its score_mod."""
    from torch.nn.attention.flex_attention import flex_attention

    compiled = torch.compile(flex_attention, dynamic=True)
    with_bias = [_with_bias(theta, block) for block in layout.blocks]

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        width = value.shape[1]
        padding = max(16, 1 << (width - 1).bit_length()) - width
        q, k, v = (
            functional.pad(rows.transpose(1, 2), (0, padding)) for rows in (query, key, value)
        )
        cells, rows = [], []
        for block, score_mod in zip(layout.blocks, with_bias, strict=True):
            output = compiled(
                q[block.receivers].transpose(1, 2),
                k[block.senders].transpose(1, 2),
                v[block.senders].transpose(1, 2),
                score_mod=score_mod,
                scale=scale,
            )
            rows.append(output.transpose(1, 2).flatten(0, 1)[block.filled, :, :width])
            cells.append(block.receivers.flatten()[block.filled])
        result = torch.zeros_like(q[:, :, :width]).index_copy(0, torch.cat(cells), torch.cat(rows))
        return result.transpose(1, 2)

    return attention


def _with_bias(theta: Tensor, block: DenseBlock) -> Callable[..., Tensor]:
    weights, has_sender = block.weights, block.has_sender

    def with_bias(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.where(has_sender[b, j], score + theta[0] * weights[b, i, j], -float("inf"))

    return with_bias


def timed(
    part: Part, attention: Callable[..., Tensor], leaves: list[Tensor], slope: Tensor
) -> dict[str, Any]:
    """Forward, forward and backward, and memory beyond the inputs."""

    def step() -> None:
        torch.autograd.grad(attention(*leaves), leaves, slope)

    def forward() -> None:
        with torch.no_grad():
            attention(*leaves)

    held = torch.cuda.memory_allocated(part.device) / 2**20 if part.device.type == "cuda" else 0
    peak = part.peak_mib(step)
    runs = 3 if part.small else RUNS
    return {
        "step_s": part.median(step, runs),
        "forward_s": part.median(forward, runs),
        "peak_mib": None if peak is None else peak - held,
    }


def sparse(part: Part, shape: Any, numbers: str, flex: bool) -> None:
    """Sparse attention of one shape by all but FlexAttention, or by FlexAttention alone."""
    from benchmarks.attention import edge_list, heads_first, ours, padded

    dtype, _ = precision(numbers)
    neighborhood = shape.neighborhood().to(part.device)
    generator = torch.Generator().manual_seed(1)
    leaves = [
        torch.randn(shape.cells, shape.width, generator=generator)
        .to(part.device, dtype)
        .requires_grad_()
        for _ in range(3)
    ]
    slope = torch.randn(shape.cells, shape.width, generator=generator).to(part.device, dtype)
    fused = ours(shape, neighborhood)
    with torch.no_grad():
        moved = [heads_first(rows, shape.heads) for rows in leaves]
        expected = heads_first(fused(*leaves), shape.heads)
    makers: dict[str, Callable[[], Attention]] = {
        "edge list (PyG softmax, scatter)": lambda: edge_list(shape, neighborhood),
        "padded SDPA with a mask": lambda: padded(shape, neighborhood),
    }
    if flex:
        makers = {"FlexAttention": lambda: flex_sparse(shape, neighborhood)}
    names = {"shape": shape.name, "precision": numbers}
    part.case(lambda: timed(part, fused, leaves, slope), case="sparse", who="ours", **names)

    def peer(make: Callable[[], Attention]) -> dict[str, Any]:
        attention = make()
        with torch.no_grad():
            difference = (attention(*moved).float() - expected.float()).abs().max()
        return {"difference": float(difference)} | timed(part, attention, leaves, slope)

    for who, make in makers.items():
        part.case(partial(peer, make), case="sparse", who=who, **names)

    def reference() -> dict[str, Any]:
        with use_attention("reference"):
            return timed(part, fused, leaves, slope)

    if not flex:
        part.case(reference, case="sparse", who="our reference in PyTorch", **names)


def cuts(part: Part, shape: Any, numbers: str) -> None:
    """Our kernels with the work cut otherwise, to choose the constants of `launch`."""
    from benchmarks.attention import ours
    from cellformer.attention.gpu import launch

    dtype, _ = precision(numbers)
    neighborhood = shape.neighborhood().to(part.device)
    leaves = [
        torch.randn(shape.cells, shape.width, device=part.device, dtype=dtype).requires_grad_()
        for _ in range(3)
    ]
    fused, slope = ours(shape, neighborhood), torch.randn_like(leaves[0])
    for most_pairs, block, per_warp in (
        (4, 2048, 512),
        (8, 2048, 256),
        (8, 2048, 1024),
        (16, 2048, 512),
        (8, 1024, 512),
        (8, 4096, 512),
    ):
        with (
            patch.object(launch, "MOST_PAIRS", most_pairs),
            patch.object(launch, "NUMBERS", block),
            patch.object(launch, "PER_WARP", per_warp),
        ):
            part.case(
                lambda: timed(part, fused, leaves, slope),
                case="cuts",
                who=f"{most_pairs} pairs, {block} numbers, {per_warp} per warp",
                shape=shape.name,
                precision=numbers,
            )


def dense(part: Part, complexes: int, size: int, numbers: str, flex: bool) -> None:
    """Dense attention with theta in complexes of about one size, 12 columns in each of 8 heads.

    By all but FlexAttention, or by FlexAttention alone.
    """
    dtype, _ = precision(numbers)
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(size // 2, size * 3 // 2 + 1, (complexes,), generator=generator)
    complex_of = torch.arange(complexes).repeat_interleave(sizes).to(part.device)
    cells = len(complex_of)
    around = torch.arange(cells, device=part.device)  # each cell and the next one are neighbors
    inside = (complex_of[:-1] == complex_of[1:]).nonzero().squeeze(1)
    counts = inside.bincount(minlength=cells)
    neighborhood = Neighborhood(
        cells,
        torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
        around[inside] + 1,
        torch.ones(len(inside), device=part.device),
    )
    layout = DenseBlocks.of(complex_of, complex_of, complexes, neighborhood)
    leaves = [
        torch.randn(cells, 12, 8, generator=generator).to(part.device, dtype).requires_grad_()
        for _ in range(3)
    ]
    slope = torch.randn(cells, 12, 8, generator=generator).to(part.device, dtype)
    theta = torch.ones(1, device=part.device, requires_grad=True)
    efficient = [SDPBackend.EFFICIENT_ATTENTION]
    pairs = AllPairs.of(layout)
    forms: dict[str, Callable[[], Callable[..., Tensor]]] = {
        "the door": lambda: lambda q, k, v, t: attend(q, k, v, layout, theta=t, scale=0.3),
        "reference": lambda: partial(_with_layout, dense_attention, layout),
        "sdpa math": lambda: partial(_with_layout, dense_sdpa_attention, layout),
        "all pairs": lambda: partial(_with_layout, dense_pairs_attention, pairs),
    }
    if part.device.type == "cuda":
        forms["sdpa efficient"] = lambda: partial(
            _with_layout, partial(dense_sdpa_attention, backends=efficient), layout
        )
    if flex:
        compiled = flex_dense(layout, theta, 0.3)  # knows theta already
        forms = {"FlexAttention": lambda: lambda q, k, v, _: compiled(q, k, v)}
    q, k, v = leaves
    expected = dense_attention(q, k, v, layout, theta, scale=0.3).detach()

    def form_of(make: Callable[[], Callable[..., Tensor]]) -> dict[str, Any]:
        attention = make()
        with torch.no_grad():
            difference = (attention(*leaves, theta).float() - expected.float()).abs().max()
        return {"difference": float(difference)} | timed(part, attention, [*leaves, theta], slope)

    for who, make in forms.items():
        part.case(
            partial(form_of, make),
            case="dense",
            who=who,
            shape=f"{complexes} complexes of about {size}, {len(layout.blocks)} blocks",
            precision=numbers,
        )


def _with_layout(
    attention: Callable[..., Tensor], layout: object, q: Tensor, k: Tensor, v: Tensor, theta: Tensor
) -> Tensor:
    return attention(q, k, v, layout, theta, scale=0.3)


def main() -> None:
    """All shapes and precisions, ours and the peers."""
    part = Part.from_command_line("operators.json")
    try:
        from benchmarks.attention import SHAPES
    except ImportError as error:  # without PyTorch Geometric
        print(f"sparse attention is not timed: {error}")
        shapes: list[Any] = []
    else:
        shapes = list(SHAPES)
    if part.small:
        shapes = [replace(shape, cells=2 * shape.complex_size) for shape in shapes[:2]]
    # What torch.compile has to compile takes longest, so it comes last.
    for flex in (False, True) if part.device.type == "cuda" else (False,):
        for numbers in ("float32", "bf16") if flex else ("float32", "TF32", "bf16"):
            for shape in shapes:
                sparse(part, shape, numbers, flex)
            if numbers != "TF32":
                for complexes, size in ((2, 5),) if part.small else ((256, 23), (32, 280)):
                    dense(part, complexes, size, numbers, flex)
        if not flex:
            for shape in shapes[: 1 if part.small else None]:
                cuts(part, shape, "float32")


if __name__ == "__main__":
    main()
