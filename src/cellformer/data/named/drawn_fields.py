"""Flows and trajectories on random triangulations with holes: how one of each is drawn."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from cellformer.complexes.hodge import hodge_decomposition
from cellformer.complexes.polygons import edge_ends
from cellformer.data.named.planar import (
    HEIGHT,
    RADII,
    WIDTH,
    Points,
    Sea,
    angles,
    depth,
    random_sea,
    upward,
)

SPACING = 0.085
WAVES = 6
NOISE = 0.05
"""Of what is measured, by the flow's root mean square."""
OBSERVED = 0.15, 0.4
CLASSES = ("around none", "around one", "around two alike", "around two unlike")

Edges = Float64[np.ndarray, " edge"]


@dataclass(frozen=True, eq=False)
class Field:
    """A triangulation, values of its edges, a column for each kind, and a number of its class."""

    sea: Sea
    values: Float32[np.ndarray, "edge kind"]
    label: int = 0


def draw_field(rng: np.random.Generator) -> Field:
    """A flow; columns: what it is, what is measured (0 where nothing is), and where it is measured.

    It is the sum of the gradient of a smooth potential, the curl of a smooth stream function and a
    harmonic flow around the 1 to 3 holes, whose shares differ from one to the next; its root mean
    square is 1. Measured are 15 to 40 % of the edges, with an error of 5 %.
    """
    sea = random_sea(rng, int(rng.integers(1, 4)), SPACING)
    cells = sea.complex()
    down, up = (cells.boundary(rank).astype(np.float64) for rank in (1, 2))
    centers = sea.points[sea.triangles].mean(axis=1)
    around = _around_holes(sea, edge_ends(cells)) @ rng.normal(size=len(sea.holes))
    parts = (
        down.T @ _waves(rng, sea.points),
        up @ (upward(cells, sea.points) * _waves(rng, centers)),
        hodge_decomposition(cells, around).harmonic,
    )
    shares = np.exp(rng.normal(size=len(parts)))
    flow = sum(share * part / _size(part) for share, part in zip(shares, parts, strict=True))
    flow = flow / _size(flow)
    observed = rng.random(len(flow)) < rng.uniform(*OBSERVED)
    measured = np.where(observed, flow + NOISE * rng.normal(size=len(flow)), 0)
    return Field(sea, np.stack([flow, measured, observed], axis=1).astype(np.float32))


def draw_trajectory(rng: np.random.Generator, label: int) -> Field:
    """A closed path, by how often it goes along each edge, and whether it meets the edge at all.

    It makes two rounds, each around one of the 2 or 3 holes or around open water: around no hole,
    around one, around two in the same sense, or in opposite senses, by the label. So it looks alike
    for all of them, and the last two are even walked along the same edges.
    """
    holes = (0, 1, 2, 2)[label]
    senses = rng.choice([-1, 1], size=2)
    if holes == 2:
        senses = np.array([1, 1 if label == 2 else -1]) * senses[0]
    while True:
        sea = random_sea(rng, int(rng.integers(2, 4)), SPACING)
        ends = edge_ends(sea.complex())
        rounds = _rounds(rng, sea, holes)
        if rounds is None:
            continue
        walked = _walk(rng, sea, ends, rounds)
        steps = walked @ senses
        found = np.rint(_around_holes(sea, ends).T @ steps / (2 * np.pi)).astype(int)
        expected = [
            sum(int(sense) for sense, place in zip(senses, rounds, strict=True)
                if (place[:2] == hole[:2]).all())
            for hole in sea.holes
        ]  # fmt: skip
        if found.tolist() == expected:
            values = np.stack([steps, walked.any(axis=1)], axis=1).astype(np.float32)
            return Field(sea, values, label)


def _rounds(rng: np.random.Generator, sea: Sea, holes: int) -> Float64[np.ndarray, "2 3"] | None:
    """Centers and radii of two rounds, so many around holes; None without open water for others."""
    chosen = sea.holes[rng.permutation(len(sea.holes))[:holes]] * (1, 1, 1.3)
    water = np.column_stack(
        [rng.random((200, 2)) * (WIDTH, HEIGHT), 1.3 * rng.uniform(*RADII, 200)]
    )
    free = depth(water[:, :2], sea.holes) > water[:, 2]
    free &= ((water[:, :2] > 0.1) & (water[:, :2] < (WIDTH - 0.1, HEIGHT - 0.1))).all(axis=1)
    rounds = chosen
    for place in water[free]:
        apart = np.linalg.norm(rounds[:, :2] - place[:2], axis=1) - rounds[:, 2] - place[2]
        if len(rounds) < 2 and (apart > 0).all():
            rounds = np.concatenate([rounds, place[None]])
    return rng.permutation(rounds) if len(rounds) == 2 else None


def _walk(
    rng: np.random.Generator,
    sea: Sea,
    ends: np.ndarray,
    rounds: Float64[np.ndarray, "2 3"],
) -> Float64[np.ndarray, "edge 2"]:
    """The sums of the steps from between two places around each, counterclockwise, and back."""
    lengths = np.linalg.norm(sea.points[ends[:, 0]] - sea.points[ends[:, 1]], axis=1)
    lengths *= rng.uniform(1, 1.6, len(lengths))  # no two paths take the same way
    middle = rounds[:, :2].mean(axis=0)
    base = _next_to(sea.points, middle + rng.normal(scale=0.04, size=2))
    walked = []
    for x, y, radius in rounds.tolist():
        start = np.arctan2(middle[1] - y, middle[0] - x)
        stops = [base]
        for turn in start + np.linspace(0, 2 * np.pi, 9):
            reach = radius * rng.uniform(1, 1.2)
            place = np.array([x + reach * np.cos(turn), y + reach * np.sin(turn)])
            stops.append(_next_to(sea.points, place))
        walked.append(_steps(ends, lengths, len(sea.points), [*stops, base]))
    return np.stack(walked, axis=1)


def _steps(ends: np.ndarray, lengths: Edges, count: int, stops: Sequence[int]) -> Edges:
    """How often each edge is gone along from stop to stop on the shortest paths, against its
    orientation counted as less."""
    rows = ends[:, 0], ends[:, 1]
    graph = csr_array((lengths, rows), shape=(count, count))
    before = dijkstra(graph, directed=False, indices=stops, return_predecessors=True)[1]
    number = np.zeros((count, count), np.int64)
    number[rows] = np.arange(len(ends))
    steps = np.zeros(len(ends))
    for leg, (one, other) in enumerate(itertools.pairwise(stops)):
        while other != one:
            last = int(before[leg, other])
            low, high = sorted((last, other))
            steps[number[low, high]] += 1 if last == low else -1
            other = last
    return steps


def _around_holes(sea: Sea, ends: np.ndarray) -> Float64[np.ndarray, "edge hole"]:
    return np.stack([angles(sea.points, ends, hole[:2]) for hole in sea.holes], axis=1)


def _next_to(points: Points, place: Float64[np.ndarray, " 2"]) -> int:
    return int(((points - place) ** 2).sum(axis=1).argmin())


def _waves(rng: np.random.Generator, points: Points) -> Float64[np.ndarray, " point"]:
    """A smooth function at some points: a sum of a few waves of lengths around that of the sea."""
    waves = rng.normal(scale=4.0, size=(WAVES, 2))
    phases = rng.uniform(0, 2 * np.pi, WAVES)
    heights = rng.normal(size=WAVES)
    found: Float64[np.ndarray, " point"] = np.sin(points @ waves.T + phases) @ heights
    return found


def _size(values: Edges) -> float:
    return float(np.sqrt((values**2).mean())) or 1.0
