"""Sparse attention, forward and backward, against the ways that others compute it.

Every shape is a batch of complexes of one size, each cell having neighbors drawn from its own
complex. All start from the same projected queries, keys and values, and end with their gradients.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.utils import scatter, softmax

from benchmarks.timing import Row, parser, report, rows_of
from cellformer.attention.operator import attend, use_attention
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.training.loop.allocator import keep_freed_memory


@dataclass(frozen=True)
class Shape:
    """A batch."""

    name: str
    cells: int
    neighbors: int
    complex_size: int
    width: int
    heads: int

    def neighborhood(self) -> Neighborhood:
        """Distinct neighbors of each cell within its complex, in ascending order."""
        generator = torch.Generator().manual_seed(0)
        first = torch.arange(self.cells) // self.complex_size * self.complex_size
        size = (self.cells - first).clamp(max=self.complex_size)
        draws = torch.rand(self.cells, self.complex_size, generator=generator)
        draws = draws.masked_fill(torch.arange(self.complex_size) >= size[:, None], 2.0)
        chosen = draws.argsort(dim=1)[:, : self.neighbors].sort(dim=1).values
        return Neighborhood(
            self.cells,
            torch.arange(self.cells + 1) * self.neighbors,
            (first[:, None] + chosen).flatten(),
            torch.ones(self.cells * self.neighbors),
        )


SHAPES = (
    Shape("GCB-like", 18_240, 8, 570, 80, 8),
    Shape("ZINC-like", 13_312, 6, 52, 96, 8),
    Shape("molhiv-like", 13_312, 6, 52, 768, 32),
)

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def edge_list(shape: Shape, neighborhood: Neighborhood) -> Attention:
    """As TransformerConv of PyTorch Geometric: gather by edge, segment softmax, scatter."""
    senders, receivers = neighborhood.senders, neighborhood.receivers

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = (rows.view(shape.cells, shape.heads, -1) for rows in (query, key, value))
        scores = (q[receivers] * k[senders]).sum(dim=-1) / q.shape[-1] ** 0.5
        weights = softmax(scores, receivers, num_nodes=shape.cells)
        messages = v[senders] * weights.unsqueeze(-1)
        received: Tensor = scatter(messages, receivers, dim=0, dim_size=shape.cells, reduce="sum")
        return received.flatten(1)

    return attention


def padded(shape: Shape, neighborhood: Neighborhood) -> Attention:
    """One square per complex, what are no neighbors masked out."""
    size = shape.complex_size
    complexes = -(-shape.cells // size)
    missing = complexes * size - shape.cells
    mask = torch.zeros(
        complexes, 1, size, size, dtype=torch.bool, device=neighborhood.senders.device
    )
    receivers, senders = neighborhood.receivers, neighborhood.senders
    mask[receivers // size, 0, receivers % size, senders % size] = True

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = (
            functional.pad(rows, (0, 0, 0, missing))
            .view(complexes, size, shape.heads, -1)
            .transpose(1, 2)
            for rows in (query, key, value)
        )
        output = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return output.transpose(1, 2).flatten(2).flatten(0, 1)[: shape.cells]

    return attention


def ours(shape: Shape, neighborhood: Neighborhood) -> Attention:
    """The door to attention, whichever implementation is behind it."""
    scale = (shape.width // shape.heads) ** -0.5

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = (rows.view(shape.cells, -1, shape.heads) for rows in (query, key, value))
        return attend(q, k, v, neighborhood, scale=scale).flatten(1)

    return attention


def heads_first(rows: Tensor, heads: int) -> Tensor:
    """The columns (column, head) in the order (head, column), as the peers want them."""
    return rows.view(len(rows), -1, heads).transpose(1, 2).flatten(1)


def measured(shape: Shape, runs: int) -> list[Row]:
    """Checks that all compute the same on one shape, then times them.

    What depends on the neighborhood alone (our transposed pairs, the padded mask) is made before
    the clock starts: all layers of a model share it.
    """
    neighborhood = shape.neighborhood()
    generator = torch.Generator().manual_seed(1)
    inputs = [
        torch.randn(shape.cells, shape.width, generator=generator).requires_grad_()
        for _ in range(3)
    ]
    slope = torch.randn(shape.cells, shape.width, generator=generator)
    fused = ours(shape, neighborhood)
    peers = {
        "edge list (PyG softmax, scatter)": edge_list(shape, neighborhood),
        "padded SDPA with a mask": padded(shape, neighborhood),
    }
    with torch.no_grad():
        moved = [heads_first(rows, shape.heads) for rows in inputs]
        expected = heads_first(fused(*inputs), shape.heads)
        for peer in peers.values():
            torch.testing.assert_close(peer(*moved), expected, rtol=1e-4, atol=1e-4)

    def step(attention: Attention) -> None:
        torch.autograd.grad(attention(*inputs), inputs, slope)

    def reference() -> None:
        with use_attention("reference"):
            step(fused)

    actions: dict[str, Callable[[], object]] = {
        name: partial(step, peer) for name, peer in peers.items()
    }
    actions["our reference in PyTorch"] = reference
    return rows_of(shape.name, partial(step, fused), actions, runs)


def main() -> None:
    """Every shape; freed memory is kept, for all alike, as `cellformer train` does."""
    keep_freed_memory()
    options = parser(__doc__.splitlines()[0], runs=7).parse_args()
    report([row for shape in SHAPES for row in measured(shape, options.runs)], options.out)


if __name__ == "__main__":
    main()
