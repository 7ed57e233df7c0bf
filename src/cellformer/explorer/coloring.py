"""The colors of a map of complexes or cells, and what they mean."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.colors import Colormap, Normalize, to_hex

from cellformer.data.dataset import PARTS, Task
from cellformer.drawing.colors import column_map, diverging_map
from cellformer.drawing.predictions import prediction_colors
from cellformer.drawing.theme import Theme
from cellformer.explorer.alike import Compared
from cellformer.report.cell_pictures import class_errors, shares_of

By: TypeAlias = Literal["prediction", "truth", "error", "part"]
UNKNOWN = "var(--faint)"
STEPS = 24  # of a bar
EDGES = (2, 98)
"""The percentiles between which colors tell values apart, so that one outlier leaves some."""


@dataclass(frozen=True)
class Coloring:
    """A color for each thing, and either words for the colors or a bar with its two ends."""

    colors: list[str]
    words: list[tuple[str, str]]  # a word and its color
    bar: list[str]
    ends: tuple[str, ...] = ()


def ways(things: Compared) -> list[By]:
    """By what these things can be colored."""
    return [each for each in get_args(By) if each != "part" or things.parts]


def check_target(task: Task, target: int) -> None:
    """Raises ValueError for the number of a target that does not exist."""
    if not 0 <= target < len(task.targets):
        raise ValueError(f"there is no target {target}; the run has {len(task.targets)}")


def coloring(task: Task, things: Compared, by: By, target: int, theme: Theme) -> Coloring:
    """Of one target; raises ValueError for what these things do not have."""
    choices = ways(things)
    if by not in choices:
        raise ValueError(f"a map is colored by one of {', '.join(choices)}, not {by!r}")
    check_target(task, target)
    true = things.targets[:, target].astype(np.float64)
    if by == "part":
        return _classes(np.array([PARTS.index(p) for p in things.parts], float), PARTS, theme)
    if task.kind == "regression":
        values = things.outputs[:, target].astype(np.float64)
        if by == "error":
            errors = values - true
            widest = _widest(np.abs(errors[np.isfinite(errors)]))
            return _values(errors, (-widest, widest), diverging_map(theme))
        limits = _limits(np.concatenate([values, true[np.isfinite(true)]]))
        return _values(values if by == "prediction" else true, limits, column_map(theme))
    shares = shares_of(task, things.outputs, target)
    if by == "error":
        return _values(class_errors(shares, true), (0.0, 1.0), column_map(theme))
    labels = [str(label) for label in task.labels]
    return _classes(true if by == "truth" else shares.argmax(axis=1).astype(float), labels, theme)


def said(task: Task, things: Compared, target: int) -> tuple[list[str], list[str]]:
    """Prediction and truth of each in words; the truth empty where it is unknown."""
    true = things.targets[:, target].astype(np.float64)
    if task.kind == "regression":
        written = [f"{value:.4g}" for value in things.outputs[:, target]]
        return written, [f"{value:.4g}" if np.isfinite(value) else "" for value in true]
    shares = shares_of(task, things.outputs, target)
    best = shares.argmax(axis=1)
    written = [
        f"{task.labels[label]} ({share:.2f})"
        for label, share in zip(best.tolist(), shares.max(axis=1).tolist(), strict=True)
    ]
    return written, ["" if np.isnan(one) else str(task.labels[int(one)]) for one in true]


def _limits(values: Float64[np.ndarray, " value"]) -> tuple[float, float]:
    low, high = np.percentile(values, EDGES).tolist() if len(values) else (0.0, 0.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _widest(sizes: Float64[np.ndarray, " error"]) -> float:
    return float(np.percentile(sizes, EDGES[1])) or 1.0 if len(sizes) else 1.0


def _values(
    values: Float64[np.ndarray, " thing"], limits: tuple[float, float], colors: Colormap
) -> Coloring:
    shown = colors(Normalize(*limits)(values))[:, :3]
    known = np.isfinite(values)
    hexes = [to_hex(c) if k else UNKNOWN for c, k in zip(shown, known.tolist(), strict=True)]
    low, high = limits
    ends = (
        f"{'≤ ' if (values < low).any() else ''}{low:.3g}",
        f"{'≥ ' if (values > high).any() else ''}{high:.3g}",
    )
    bar = [to_hex(color) for color in colors(np.linspace(0, 1, STEPS))]
    return Coloring(hexes, [] if known.all() else [("unknown", UNKNOWN)], bar, ends)


def _classes(
    numbers: Float[np.ndarray, " thing"], labels: tuple[str, ...] | list[str], theme: Theme
) -> Coloring:
    every = np.arange(len(labels), dtype=np.float64)
    own = [to_hex(color) for color in prediction_colors(every, labels, theme)]
    hexes = [UNKNOWN if np.isnan(number) else own[int(number)] for number in numbers.tolist()]
    words = list(zip(labels, own, strict=True))
    return Coloring(hexes, words + [("unknown", UNKNOWN)] * (UNKNOWN in hexes), [])
