"""The graph classification benchmark of colored point clouds (GCB), drawn anew.

Source: Bianchi, Gallicchio, Micheli, "Pyramidal Reservoir Graph Neural Network" (Neurocomputing
470, 2022), and the geometry and parameters that the authors publish with the data
(FilippoMB/Benchmark_dataset_for_graph_classification): a third of the points lies on two
interleaved half circles (colors 0 and 1), a third in a cloud whose inner half (color 2) and outer
half (color 3) differ, and a third in a cloud of color 4. The three shapes lie at three places, and
the class says which lies where; color counts alone say nothing. Each axis is divided by its
greatest coordinate, and every point is joined to its k nearest ones. The easy sets are highly
connected, the hard ones sparse and possibly in several pieces.

The published draw has no seed, so these graphs are others, of the same distribution: results on
them are comparable with published ones in distribution only and have to be called "regenerated".
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from cellformer.data.dataset import GraphSet, Task
from cellformer.data.flat import FlatGraphs
from cellformer.data.splitting.splits import random_split

CLASSES = 3
COLORS = 5

MOON_NOISE = 0.1
PLACES = ((0.0, 0.0), (2.0, -2.0), (4.0, 0.0))
AT = ((2, 0, 1), (1, 2, 0), (0, 1, 2))
"""For each class the places of the half circles, of the cloud in halves, and of the other cloud."""


@dataclass(frozen=True)
class GCB:
    """One of the four published sets: graphs per class, points, neighbors, spread of the clouds.

    The spread is the variance of the cloud in halves, and half of the deviation of the other one.
    """

    graphs_per_class: int
    least_points: int
    most_points: int
    neighbors: int
    spread: float


SETS = {
    "gcb-hard": GCB(600, 100, 200, neighbors=3, spread=0.2),
    "gcb-hard-small": GCB(100, 40, 80, neighbors=3, spread=0.2),
    "gcb-easy": GCB(600, 100, 200, neighbors=5, spread=0.4),
    "gcb-easy-small": GCB(100, 40, 80, neighbors=5, spread=0.4),
}
GCB_NAMES = tuple(SETS)


def generate_gcb(name: str, seed: int = 0) -> GraphSet:
    """The set of that name; the same seed gives the same graphs, in random order of classes.

    Vertices carry their color as a discrete feature and their place as position; the split is
    random, 80/10/10. Raises ValueError at an unknown name.
    """
    if name not in SETS:
        raise ValueError(f"there is no set {name!r}; choose one of {', '.join(GCB_NAMES)}")
    chosen = SETS[name]
    rng = np.random.default_rng((seed, GCB_NAMES.index(name)))
    classes = rng.permutation(np.repeat(np.arange(CLASSES), chosen.graphs_per_class))
    points, colors, edges = [], [], []
    for one in classes:
        places, own_colors = _draw(int(one), chosen, rng)
        points.append(places)
        colors.append(own_colors)
        edges.append(_nearest_neighbors(places, chosen.neighbors))
    flat = FlatGraphs(
        name,
        0,
        _offsets([len(places) for places in points]),
        _offsets([len(pairs) for pairs in edges]),
        np.concatenate(edges).T,
        np.concatenate(colors)[:, None].astype(np.int32),
        np.zeros((sum(map(len, points)), 0), np.float32),
        np.zeros((sum(map(len, edges)), 0), np.int32),
        np.zeros((sum(map(len, edges)), 0), np.float32),
        np.concatenate(points),
    )
    return GraphSet(
        name,
        flat,
        classes[:, None].astype(np.float32),
        Task("multiclass", ("class",), "accuracy", tuple(range(CLASSES))),
        random_split(len(classes), seed=seed),
        flat.digest(),
    )


def _draw(
    one: int, chosen: GCB, rng: np.random.Generator
) -> tuple[Float64[np.ndarray, "point 2"], Int64[np.ndarray, " point"]]:
    """The places and colors of one graph of a class."""
    third = int(rng.integers(chosen.least_points, chosen.most_points)) // 3
    half = third // 2
    other = third - half
    circles, first, second = np.array(PLACES)[list(AT[one])]
    cloud = rng.normal(0, np.sqrt(chosen.spread), (third, 2))
    cloud = cloud[np.argsort(np.hypot(*cloud.T), kind="stable")]  # the inner half first
    places = np.concatenate(
        [
            circles + _half_circles(half, other) + rng.normal(0, MOON_NOISE, (third, 2)),
            cloud + first,
            rng.normal(second, 2 * chosen.spread, (third, 2)),
        ]
    )
    colors = np.repeat(np.arange(COLORS), (half, other, half, other, third))
    shuffled = rng.permutation(len(places))  # vertex numbers say nothing
    return (places / places.max(axis=0))[shuffled], colors[shuffled]


def _half_circles(upper: int, lower: int) -> Float64[np.ndarray, "point 2"]:
    """An upper half circle around (0, 0) and a lower one around (1, 1/2), evenly filled."""
    a, b = np.linspace(0, np.pi, upper), np.linspace(0, np.pi, lower)
    return np.concatenate(
        [np.stack([np.cos(a), np.sin(a)], 1), np.stack([1 - np.cos(b), 0.5 - np.sin(b)], 1)]
    )


def _nearest_neighbors(
    places: Float64[np.ndarray, "point 2"], neighbors: int
) -> Int64[np.ndarray, "edge 2"]:
    """An edge wherever one end is among the nearest neighbors of the other."""
    from scipy.spatial import cKDTree

    _, nearest = cKDTree(places).query(places, neighbors + 1)
    pairs = np.stack([np.repeat(nearest[:, 0], neighbors), nearest[:, 1:].ravel()], 1)
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)


def _offsets(counts: list[int]) -> Int64[np.ndarray, " graph_plus_1"]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(counts, np.int64))])
