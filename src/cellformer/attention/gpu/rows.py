"""What the kernels of sparse attention on a GPU share: reading and writing blocks of rows.

A block is (cell, column, head), the head varying fastest in memory too, with sizes that are powers
of 2, as Triton wants them; what lies outside is masked. One program adds up one row, pair after
pair, so that the results are the same in every run.
"""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def load_rows(
    rows,
    cells,
    stride,
    heads,
    valid,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISE: tl.constexpr,
):
    """(cell, column, head) of the cells' rows, which start ``stride`` numbers apart."""
    columns = tl.arange(0, BLOCK)
    places = cells[:, None, None] * stride + columns[None, :, None] * HEADS + heads[None, None, :]
    inside = _inside(valid, columns, heads, WIDTH, HEADS)
    return tl.load(rows + places, mask=inside, other=0.0).to(PRECISE)


@triton.jit
@no_type_check
def store_rows(
    rows,
    cells,
    stride,
    heads,
    valid,
    block,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Writes a block (cell, column, head) to the cells' rows, ``stride`` numbers apart."""
    columns = tl.arange(0, BLOCK)
    places = cells[:, None, None] * stride + columns[None, :, None] * HEADS + heads[None, None, :]
    inside = _inside(valid, columns, heads, WIDTH, HEADS)
    tl.store(rows + places, block.to(rows.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def load_heads(rows, cells, heads, valid, HEADS: tl.constexpr):
    """(cell, head) of a contiguous matrix."""
    inside = valid[:, None] & (heads < HEADS)[None, :]
    return tl.load(rows + cells[:, None] * HEADS + heads[None, :], mask=inside, other=0.0)


@triton.jit
@no_type_check
def store_heads(rows, cells, heads, valid, block, HEADS: tl.constexpr):
    """Writes a block (cell, head) to a contiguous matrix."""
    inside = valid[:, None] & (heads < HEADS)[None, :]
    tl.store(rows + cells[:, None] * HEADS + heads[None, :], block, mask=inside)


@triton.jit
@no_type_check
def scores(
    query,
    key,
    factor,
    bias,
    bias_stride,
    bias_head_stride,
    pairs,
    heads,
    valid,
    HEADS: tl.constexpr,
):
    """(pair, head): ``factor * <query, key> + bias``; one of query and key may be of one cell."""
    products = factor[:, None] * tl.sum(query * key, axis=1)
    if bias is not None:
        inside = valid[:, None] & (heads < HEADS)[None, :]
        places = pairs[:, None] * bias_stride + heads[None, :] * bias_head_stride
        products += tl.load(bias + places, mask=inside, other=0.0)
    return products


@triton.jit
@no_type_check
def _inside(valid, columns, heads, WIDTH: tl.constexpr, HEADS: tl.constexpr):
    return valid[:, None, None] & (columns < WIDTH)[None, :, None] & (heads < HEADS)[None, None, :]
