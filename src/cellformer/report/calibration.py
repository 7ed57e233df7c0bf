"""Whether a model is as right as it says."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64

LEVELS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])


def interval_half_width(residuals: Float[np.ndarray, " row"], level: float) -> float:
    """The distance from a prediction within which the true value lies with probability ``level``.

    It holds on average over new data that come from where the residuals' rows come from (rows
    that the model was not fitted to). Infinite where there are too few rows to say. Source: split
    conformal prediction (Lei et al. 2018, J. Am. Stat. Assoc. 113, 1094).
    """
    known = np.sort(np.abs(residuals[np.isfinite(residuals)]))
    rank = int(np.ceil((len(known) + 1) * level))
    return float(known[rank - 1]) if 1 <= rank <= len(known) else float("inf")


def coverages(
    calibration: Float[np.ndarray, " row"], test: Float[np.ndarray, " other"]
) -> Float64[np.ndarray, " level"]:
    """For each of `LEVELS`, the share of test residuals within its interval."""
    known = np.abs(test[np.isfinite(test)])
    if not len(known):
        return np.full(len(LEVELS), np.nan)
    return np.array(
        [np.mean(known <= interval_half_width(calibration, level)) for level in LEVELS], np.float64
    )


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predictions grouped by their confidence: what was said, what came true, and how often."""

    said: Float64[np.ndarray, " bin"]
    true: Float64[np.ndarray, " bin"]
    counts: Int64[np.ndarray, " bin"]

    @property
    def expected_error(self) -> float:
        """The mean distance between both, weighted by rows (the expected calibration error)."""
        total = self.counts.sum()
        return float(self.counts @ np.abs(self.said - self.true) / total) if total else float("nan")


def reliability(
    probabilities: Float[np.ndarray, " row"], came_true: Float[np.ndarray, " row"], bins: int = 10
) -> Reliability:
    """Groups of equal width in probability; empty ones are left out."""
    group = np.clip((probabilities * bins).astype(np.int64), 0, bins - 1)
    counts = np.bincount(group, minlength=bins)
    filled = counts > 0
    said = np.bincount(group, probabilities, bins)[filled] / counts[filled]
    true = np.bincount(group, came_true, bins)[filled] / counts[filled]
    return Reliability(said, true, counts[filled].astype(np.int64))
