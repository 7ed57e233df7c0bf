"""Many graphs in a few arrays, in the order of the open ``.npz`` layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64, Integer
from numpy.typing import ArrayLike

from cellformer.basics.rounding import narrowed
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged_graphs import RaggedGraphs
from cellformer.data.dataset import GraphSet, Task, digest_of, rows_of


@dataclass(frozen=True, eq=False)
class FlatGraphs:
    """Graphs one after the other; graph g owns rows ``offsets[g]:offsets[g + 1]`` of its kind."""

    name: str
    first: int  # the number of the first graph, for names
    vertex_offsets: Int64[np.ndarray, " graph_plus_1"]
    edge_offsets: Int64[np.ndarray, " graph_plus_1"]
    edge_index: Integer[np.ndarray, "2 edge"]  # vertex numbers local to the graph
    vertex_discrete: Int32[np.ndarray, "vertex vertex_discrete"]
    vertex_continuous: Float32[np.ndarray, "vertex vertex_continuous"]
    edge_discrete: Int32[np.ndarray, "edge edge_discrete"]
    edge_continuous: Float32[np.ndarray, "edge edge_continuous"]
    positions: Float64[np.ndarray, "vertex space"] | None = None
    vertex_signed: Float32[np.ndarray, "vertex vertex_signed"] = None  # type: ignore[assignment]
    edge_signed: Float32[np.ndarray, "edge edge_signed"] = None  # type: ignore[assignment]
    """As in `Features`, along the columns of ``edge_index``; left out: no columns."""

    def __post_init__(self) -> None:
        for key, like in (("vertex", self.vertex_discrete), ("edge", self.edge_discrete)):
            if getattr(self, f"{key}_signed") is None:
                object.__setattr__(self, f"{key}_signed", np.zeros((len(like), 0), np.float32))

    def __len__(self) -> int:
        return len(self.vertex_offsets) - 1

    def graph(self, row: int) -> Graph:
        """One graph."""
        if not 0 <= row < len(self):
            raise IndexError(f"graph {row} of {len(self)}")
        vertices = slice(int(self.vertex_offsets[row]), int(self.vertex_offsets[row + 1]))
        edges = slice(int(self.edge_offsets[row]), int(self.edge_offsets[row + 1]))
        return Graph.from_edges(
            self.edge_index[:, edges].T,
            vertices.stop - vertices.start,
            self._vertex_features(vertices),
            self._edge_features(edges),
            None if self.positions is None else self.positions[vertices],
            f"{self.name}[{self.first + row}]",
        )

    def part(self, start: int, stop: int) -> "FlatGraphs":
        """The graphs ``start:stop``; copies nothing."""
        a, b = int(self.vertex_offsets[start]), int(self.vertex_offsets[stop])
        c, d = int(self.edge_offsets[start]), int(self.edge_offsets[stop])
        return FlatGraphs(
            self.name,
            self.first + start,
            self.vertex_offsets[start : stop + 1] - a,
            self.edge_offsets[start : stop + 1] - c,
            self.edge_index[:, c:d],
            self.vertex_discrete[a:b],
            self.vertex_continuous[a:b],
            self.edge_discrete[c:d],
            self.edge_continuous[c:d],
            None if self.positions is None else self.positions[a:b],
            self.vertex_signed[a:b],
            self.edge_signed[c:d],
        )

    def ragged(self) -> RaggedGraphs:
        """All graphs at once, without names and positions; ValueError if one is not valid."""
        return RaggedGraphs.from_edges(
            self.vertex_offsets,
            self.edge_offsets,
            self.edge_index.T,
            self._vertex_features(slice(None)),
            self._edge_features(slice(None)),
        )

    def _vertex_features(self, rows: slice) -> Features:
        return Features(
            self.vertex_discrete[rows].astype(np.int64),
            self.vertex_continuous[rows],
            self.vertex_signed[rows],
        )

    def _edge_features(self, rows: slice) -> Features:
        return Features(
            self.edge_discrete[rows].astype(np.int64),
            self.edge_continuous[rows],
            self.edge_signed[rows],
        )

    def digest(self) -> str:
        """Of everything that a lifting can see except names."""
        return digest_of(
            [
                self.vertex_offsets,
                self.edge_offsets,
                self.edge_index.astype(np.int64),
                self.vertex_discrete,
                self.vertex_continuous,
                self.edge_discrete,
                self.edge_continuous,
                np.zeros(0) if self.positions is None else self.positions,
                *(rows for rows in (self.vertex_signed, self.edge_signed) if rows.shape[1]),
            ]
        )

    @classmethod
    def from_graphs(cls, graphs: Sequence[Graph], name: str) -> "FlatGraphs":
        """Concatenates graphs; raises ValueError, naming the graph, where columns do not agree."""
        with_positions = [graph for graph in graphs if graph.positions is not None]
        if with_positions and len(with_positions) != len(graphs):
            raise ValueError(f"{name}: some graphs have positions and some have none")
        vertices = _join([graph.vertex_features for graph in graphs], f"{name}: vertex features")
        edges = _join([graph.edge_features for graph in graphs], f"{name}: edge features")
        return cls(
            name,
            0,
            _offsets([graph.num_vertices for graph in graphs]),
            _offsets([graph.num_edges for graph in graphs]),
            np.concatenate([np.zeros((0, 2), np.int64), *(graph.edges for graph in graphs)]).T,
            vertices.discrete.astype(np.int32),
            vertices.continuous,
            edges.discrete.astype(np.int32),
            edges.continuous,
            _join_positions(with_positions, name),
            vertices.signed,
            edges.signed,
        )


def in_memory(
    graphs: Sequence[Graph],
    targets: ArrayLike | None = None,
    task: Task | None = None,
    split: Mapping[str, ArrayLike] | None = None,
    name: str = "graphs",
) -> GraphSet:
    """A graph set of your own graphs, ready to be prepared.

    ``targets`` has one value or one row of values per graph: numbers, or class numbers 0, 1, ...
    of a ``task`` with labels; NaN where one is missing. Names of graphs are not kept. Raises
    ValueError where lengths or feature columns do not fit.
    """
    if (targets is None) != (task is None):
        raise ValueError("targets and the task that they pose belong together")
    rows = np.zeros((len(graphs), 0)) if targets is None else np.asarray(targets)
    flat = FlatGraphs.from_graphs(graphs, name)
    return GraphSet(
        name,
        flat,
        narrowed(rows[:, None] if rows.ndim == 1 else rows),
        task,
        None if split is None else rows_of(split),
        flat.digest(),
    )


def _offsets(counts: Sequence[int]) -> Int64[np.ndarray, " graph_plus_1"]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(counts, np.int64))])


def _join(features: Sequence[Features], what: str) -> Features:
    filled = [one for one in features if len(one)] or [Features.empty(0)]
    for index, one in enumerate(features):
        if len(one) and one.columns != filled[0].columns:
            raise ValueError(
                f"{what} of graph {index} have {one.columns} discrete, continuous and signed "
                f"columns, those of the first graph {filled[0].columns}"
            )
    return Features(
        np.concatenate([one.discrete for one in filled]),
        np.concatenate([one.continuous for one in filled]),
        np.concatenate([one.signed for one in filled]),
    )


def _join_positions(
    graphs: Sequence[Graph], name: str
) -> Float64[np.ndarray, "vertex space"] | None:
    arrays = [graph.positions for graph in graphs if graph.positions is not None]
    if not arrays:
        return None
    spaces = {array.shape[1] for array in arrays}
    if len(spaces) > 1:
        raise ValueError(
            f"{name}: positions have {sorted(spaces)} coordinates; one number is needed"
        )
    return np.concatenate(arrays)
