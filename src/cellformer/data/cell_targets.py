"""Graphs whose vertices or edges have the targets, and perhaps a part of a split each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.graph import Graph
from cellformer.data.dataset import PARTS, GraphSet, Kind, Metric
from cellformer.data.flat import in_memory
from cellformer.data.targets import Columns, encode_targets, kind_of_values, make_task

CELLS = ("vertices", "edges")
"""The words for cells of rank 0 and 1."""


def counts_of(graphs: Sequence[Graph], rank: int) -> list[int]:
    """How many vertices, or edges, each graph has."""
    return [graph.num_edges if rank else graph.num_vertices for graph in graphs]


def with_cell_targets(
    graphs: Sequence[Graph],
    rank: int,
    columns: Columns,
    parts: NDArray[Any] | None,
    kind: Kind | None,
    metric: Metric | None,
    name: str,
    flips: bool = False,
) -> GraphSet:
    """The graphs, whose vertices (rank 0) or edges (rank 1) have these targets.

    The columns, and ``parts``, the words train, val and test or an empty one, have an entry for
    every cell of all graphs, in their order. Values of edges that flip are along these, from the
    lower to the higher vertex number. Raises ValueError, naming the cell, where a value
    does not fit the kind of task.
    """
    told = kind or ("regression" if flips else kind_of_values(columns, name))
    task = make_task(columns, told, metric, name)
    opened = in_memory(graphs, name=name)
    split = None
    if parts is not None:
        split = {part: np.flatnonzero(parts == part) for part in PARTS}
    return replace(
        opened,
        task_or_none=replace(task, rank=rank, flips=flips),
        targets=encode_targets(columns, task, f"{name}, {CELLS[rank]} of all graphs"),
        cell_offsets=np.cumsum([0, *counts_of(graphs, rank)]),
        cell_split=split,
    )
