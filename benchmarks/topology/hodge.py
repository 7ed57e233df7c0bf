"""Linear learners by the Hodge Laplacian: completing flows, telling trajectories."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.hodge import harmonic_flows, hodge_decomposition
from cellformer.complexes.matrices import down_laplacian, up_laplacian
from cellformer.data.complex_list import ComplexList
from cellformer.data.dataset import GraphSet

WEIGHTS = (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
"""Of divergence and of curl; the best pair on the validation rows is taken."""
LEAST = 1e-6
"""Of every edge's square, where neither a measurement nor a penalty says anything."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Completed:
    """The mean absolute errors of test edges that were not measured, and the weights taken."""

    error: float
    error_of_zero: float
    weights: tuple[float, float]


def complexes_of(source: GraphSet) -> tuple[CellComplex, ...]:
    """Those of a set that makes itself."""
    assert isinstance(source.graphs, ComplexList)
    return source.graphs.complexes


def completed(cells: CellComplex, divergence: float, curl: float) -> Values:
    """The flow f with the least |measured - f|^2 + divergence |B_1 f|^2 + curl |B_2^T f|^2.

    The first term counts the edges whose category is 1. Source: Schaub and Segarra, "Flow smoothing
    and denoising", GlobalSIP 2018; Jia, Schaub, Segarra and Benson, "Graph-based semi-supervised
    and active learning for edge flows", KDD 2019, to which curl = 0 comes down.
    """
    known = cells.features[1].discrete[:, 0].astype(np.float64)
    measured = cells.features[1].signed[:, 0].astype(np.float64)
    matrix = (
        sparse.diags_array(known + LEAST)
        + divergence * down_laplacian(cells, 1)
        + curl * up_laplacian(cells, 1)
    )
    solved: Values = splu(matrix.tocsc()).solve(known * measured)
    return solved


def complete_flows(source: GraphSet) -> Completed:
    """The weights chosen on the validation rows, and the error on the test rows."""
    assert source.split is not None
    errors = {
        (a, b): _error(source, source.split["val"], a, b)
        for a, b in itertools.product(WEIGHTS, repeat=2)
    }
    best = min(errors, key=errors.__getitem__)
    test = source.split["test"]
    return Completed(_error(source, test, *best), float(np.nanmean(abs(source.targets_of(test)))),
                     best)  # fmt: skip


def _error(source: GraphSet, rows: NDArray[np.int64], divergence: float, curl: float) -> float:
    listed = complexes_of(source)
    found = np.concatenate([completed(listed[row], divergence, curl) for row in rows])
    return float(np.nanmean(np.abs(found - source.targets_of(rows)[:, 0])))


def tell_trajectories(source: GraphSet) -> tuple[float, float]:
    """Test accuracy of a linear classifier on harmonic projections, and on edges alone.

    Where all trajectories share one complex, the classifier takes their projections on a basis of
    its harmonic flows. Here each has a complex of its own, and which basis that has is by chance;
    so it takes what does not depend on the basis: the squares of the harmonic part and of the curl,
    of the whole trajectory, and the number of edges met, all and their logarithms. The second
    classifier takes the numbers of edges met and walked, without their signs.
    """
    assert source.split is not None
    rows = [_invariants(cells) for cells in complexes_of(source)]
    labels = source.targets[:, 0].astype(int)
    return (
        _accuracy([harmonic + plain for harmonic, plain in rows], labels, source),
        _accuracy([plain for _, plain in rows], labels, source),
    )


def _invariants(cells: CellComplex) -> tuple[list[float], list[float]]:
    steps = cells.features[1].signed[:, 0].astype(np.float64)
    parts = hodge_decomposition(cells, steps)
    around = float(((harmonic_flows(cells).T @ steps) ** 2).sum())
    curl = float(parts.curl @ parts.curl)
    met = float(cells.features[1].discrete[:, 0].sum())
    walked = float(np.abs(steps).sum())
    harmonic = [around, curl, float(np.log(around + 0.01)), float(np.log(curl + 0.01))]
    return harmonic, [met, walked, float(np.log(walked + 1))]


def _accuracy(
    features: Sequence[Sequence[float]], labels: NDArray[np.int64], source: GraphSet
) -> float:
    assert source.split is not None
    train = np.concatenate([source.split["train"], source.split["val"]])
    table = np.array(features)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    model.fit(table[train], labels[train])
    test = source.split["test"]
    return float(model.score(table[test], labels[test]))
