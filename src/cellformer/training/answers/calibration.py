"""Whether predicted probabilities are those that come true."""

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax

from cellformer.data.dataset import Task
from cellformer.training.answers.deviations import values_of
from cellformer.training.loop.metrics import spearman

BINS = 10


def reliability(
    task: Task, outputs: NDArray[np.floating], targets: NDArray[np.floating], bins: int = BINS
) -> dict[str, dict[str, Any]]:
    """For each target: expected calibration error, Brier score, log loss, and a table of bins.

    A bin of ``bins`` equal parts of [0, 1] tells how many rows have their probability there, its
    mean, and the share that came true: of the positive class in a binary task, of the predicted
    class in a multi-class one. The expected calibration error is the mean distance of the two,
    weighted by rows (Guo et al., ICML 2017). Targets without a value, and regressions, are left
    out.
    """
    if task.kind == "regression":
        return {}
    told = {}
    for column, name in enumerate(task.targets):
        present = ~np.isnan(targets[:, column])
        if not present.any():
            continue
        truth = targets[present, column].astype(int)
        if task.kind == "binary":
            positive = expit(outputs[present, column].astype(np.float64))
            shares = np.stack([1 - positive, positive], axis=1)
            confidence, hit = positive, truth == 1
        else:
            shares = softmax(outputs[present].astype(np.float64), axis=1)
            confidence, hit = shares.max(axis=1), shares.argmax(axis=1) == truth
        told[name] = _of(shares, truth, confidence, hit, bins)
    return told


def doubts_judged(
    task: Task,
    outputs: NDArray[np.floating],
    targets: NDArray[np.floating],
    deviation: NDArray[np.floating],
) -> dict[str, dict[str, float | None]]:
    """For each target, whether the deviations that are told of values come true.

    ``nll``: minus the mean logarithm of the likelihood under normal distributions. ``deviation``:
    the root mean square of errors in units of their deviation, 1 where these are right.
    ``order``: Spearman's correlation of absolute errors with deviations. Nothing is told of a
    target with fewer than two values, and None where a deviation is zero.
    """
    told: dict[str, dict[str, float | None]] = {}
    for column, name in enumerate(task.targets):
        known = ~np.isnan(targets[:, column])
        if known.sum() < 2:
            continue
        error = np.abs((values_of(task, outputs) - targets)[known, column].astype(np.float64))
        spread = deviation[known, column].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):  # members that agree have no spread
            relative = error / spread
            density = relative**2 / 2 + np.log(spread * np.sqrt(2 * np.pi))
        values = {
            "nll": float(density.mean()),
            "deviation": float(np.sqrt((relative**2).mean())),
            "order": spearman(torch.from_numpy(error), torch.from_numpy(spread)),
        }
        told[name] = {key: value if math.isfinite(value) else None for key, value in values.items()}
    return told


def _of(
    shares: NDArray[np.float64],
    truth: NDArray[np.int64],
    confidence: NDArray[np.float64],
    hit: NDArray[np.bool_],
    bins: int,
) -> dict[str, Any]:
    rows = np.arange(len(truth))
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    means, came_true = (
        np.bincount(place, weights=each, minlength=bins) / np.maximum(counts, 1)
        for each in (confidence, hit)
    )
    wrong = shares.copy()
    wrong[rows, truth] -= 1
    square = (wrong**2).sum(axis=1)
    return {
        "ece": float(counts @ np.abs(means - came_true) / len(truth)),
        "brier": float(square.mean() / (2 if shares.shape[1] == 2 else 1)),
        "log_loss": float(-np.log(np.maximum(shares[rows, truth], 1e-300)).mean()),
        "bins": [
            {"rows": int(count), "probability": float(mean), "came_true": float(share)}
            for count, mean, share in zip(counts, means, came_true, strict=True)
            if count
        ],
    }
