"""What a run takes for alike: vectors of complexes, or of the cells of one, and their nearest."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64
from scipy.spatial.distance import cdist

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.dataset import PARTS
from cellformer.model.evaluation import evaluating
from cellformer.report.cell_pictures import outputs_for
from cellformer.report.outcome import RunOutcome
from cellformer.training.answers.embed import vectors_in, vectors_of
from cellformer.training.answers.trained_run import TrainedRun

MOST_COMPARED, MOST_COMPARED_CELLS = 2000, 1_000_000
"""Rows, or cells of one complex, on a map; and cells that all complexes on it have together."""
NEIGHBORS = 8
ROUNDING = 1e-5
"""Of a vector's length: equal complexes that are encoded in other batches differ by less."""


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane in which vectors spread most: their first two principal components.

    A component's sign, which is arbitrary, makes its largest entry positive.
    """

    middle: Float64[np.ndarray, " width"]
    axes: Float64[np.ndarray, "2 width"]  # zero where the vectors do not spread
    share: float  # of the variance of the vectors that is seen in the plane

    @classmethod
    def of(cls, vectors: Float[np.ndarray, "thing width"]) -> "Plane":
        """Raises ValueError for vectors that are not finite."""
        if not np.isfinite(vectors).all():
            raise ValueError("vectors of this run are not finite; has its training diverged?")
        middle = vectors.mean(axis=0, dtype=np.float64)
        spread, axes = np.linalg.svd(vectors - middle, full_matrices=False)[1:]
        found = np.zeros((2, vectors.shape[1]))
        for number, axis in enumerate(axes[:2][spread[:2] > 0]):
            found[number] = axis * np.sign(axis[np.abs(axis).argmax()])
        total = float((spread**2).sum())
        return cls(middle, found, float((spread[:2] ** 2).sum()) / total if total else 1.0)

    def places(self, vectors: Float[np.ndarray, "thing width"]) -> Float64[np.ndarray, "thing 2"]:
        """Where vectors lie in it, those too that it was not made of."""
        return np.asarray((vectors - self.middle) @ self.axes.T, np.float64)


@dataclass(frozen=True, eq=False)
class Compared:
    """Rows of a run's data, or cells of a complex, with what the run makes of them.

    They are in the order of their numbers: of rows in the source, of cells in the complex.
    """

    numbers: Int64[np.ndarray, " thing"]
    vectors: Float32[np.ndarray, "thing width"]
    targets: Float[np.ndarray, "thing target"]  # NaN where unknown
    outputs: Float[np.ndarray, "thing output"]
    parts: tuple[str, ...]  # of every row; cells have none
    total: int  # of which these are some

    @cached_property
    def plane(self) -> Plane:
        """In which these are shown."""
        return Plane.of(self.vectors)

    @cached_property
    def places(self) -> Float64[np.ndarray, "thing 2"]:
        """Where they lie in the plane."""
        return self.plane.places(self.vectors)

    def place_of(self, number: int | None) -> int | None:
        """Which of these has a number; None if none has."""
        found: list[int] = [] if number is None else np.flatnonzero(self.numbers == number).tolist()
        return found[0] if found else None

    def nearest(
        self, vector: Float[np.ndarray, " width"], but: int | None = None
    ) -> list[tuple[int, float]]:
        """The nearest of these by Euclidean distance, nearest first, each with its distance.

        Of equally near ones the one with the lower number comes first; the one of the number
        ``but`` is left out.
        """
        distances = _distances(vector[None], self.vectors)[0]
        order = np.argsort(distances, kind="stable")
        order = order[self.numbers[order] != but][:NEIGHBORS]
        return list(zip(order.tolist(), distances[order].tolist(), strict=True))

    def nearest_of_each(self) -> list[list[int]]:
        """Which others are the nearest of each of these, nearest first."""
        distances = _distances(self.vectors, self.vectors)
        np.fill_diagonal(distances, np.inf)
        order = np.argsort(distances, axis=1, kind="stable")
        nearest: list[list[int]] = order[:, : min(NEIGHBORS, len(order) - 1)].tolist()
        return nearest


def compare_rows(run: TrainedRun, outcome: RunOutcome) -> Compared:
    """Labeled rows of all parts; where there are too many, half are held out, always the same."""
    materials = outcome.materials
    complexes, split = materials.complexes, materials.split
    chosen = _chosen(split, complexes.num_cells.sum(axis=1))
    outputs = np.zeros((len(complexes), next(iter(outcome.parts.values())).outputs.shape[1]))
    for part, scored in outcome.parts.items():
        outputs[split[part]] = scored.outputs
    learned = np.intersect1d(chosen, split["train"])
    outputs[learned] = run.outputs(complexes, learned)
    vectors = np.concatenate(list(vectors_of(run, complexes, chosen)))
    part_of = {number: part for part in PARTS for number in split[part].tolist()}
    return Compared(
        materials.rows[chosen],
        vectors,
        complexes.targets_of(chosen),
        outputs[chosen],
        tuple(part_of[number] for number in chosen.tolist()),
        len(part_of),
    )


def compare_cells(
    run: TrainedRun, cells: CellComplex, truth: Float[np.ndarray, "cell target"] | None
) -> Compared:
    """The cells of a complex that the run predicts, evenly chosen where there are too many."""
    task = run.recipe.task
    assert task.rank is not None
    outputs = outputs_for(run, cells)
    count = min(len(outputs), MOST_COMPARED)
    chosen = np.arange(count) * len(outputs) // max(count, 1)
    targets = np.full((len(outputs), len(task.targets)), np.nan) if truth is None else truth
    return Compared(
        chosen, _vectors(run, cells, task.rank)[chosen], targets[chosen], outputs[chosen], (),
        len(outputs),
    )  # fmt: skip


def vector_of(run: TrainedRun, cells: CellComplex) -> Float32[np.ndarray, " width"]:
    """That of a whole complex, as `embed` gives it."""
    vector: Float32[np.ndarray, " width"] = _vectors(run, cells, None)[0]
    return vector


def _vectors(
    run: TrainedRun, cells: CellComplex, rank: int | None
) -> Float32[np.ndarray, "thing width"]:
    with evaluating(run.predictor):
        found: Any = vectors_in(run.model, collate([cells]), rank).float().numpy()
    return np.asarray(found, np.float32)


def _distances(
    ours: Float[np.ndarray, "one width"], others: Float[np.ndarray, "other width"]
) -> Float64[np.ndarray, "one other"]:
    """Euclidean ones; 0 where nothing but rounding lies between."""
    distances = np.asarray(cdist(ours.astype(np.float64), others.astype(np.float64)))
    lengths = np.linalg.norm(ours.astype(np.float64), axis=1, keepdims=True)
    return np.where(distances <= ROUNDING * lengths, 0.0, distances)


def _chosen(
    split: dict[str, Int64[np.ndarray, " _"]], sizes: Int64[np.ndarray, " complex"]
) -> Int64[np.ndarray, " chosen"]:
    """At random, but the same at every call; as many as the limits allow, and one at least.

    Held-out and learned ones by turns, until there are no more of either.
    """
    draw = np.random.default_rng(0).permutation
    held = draw(np.unique(np.concatenate([split["val"], split["test"]])))
    learned = draw(np.setdiff1d(split["train"], held))
    turns = np.concatenate([2 * np.arange(len(held)), 2 * np.arange(len(learned)) + 1])
    order = np.concatenate([held, learned])[np.argsort(turns)][:MOST_COMPARED]
    within = np.cumsum(sizes[order]) <= MOST_COMPARED_CELLS
    return np.sort(order[: max(int(within.sum()), 1)])
