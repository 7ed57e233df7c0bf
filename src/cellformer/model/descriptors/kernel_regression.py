"""Ridge regression in the space of a kernel, with the errors that rows have when left out."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Regression:
    """``offset + kernel @ coefficients`` predicts; row i of ``left_out`` is what row i would be
    predicted from all others. ``amplitudes`` are the most likely variances of a Gaussian process
    with this kernel and ridge.
    """

    coefficients: Float64[Tensor, "row target"]
    offset: Float64[Tensor, " target"]
    left_out: Float64[Tensor, "row target"]
    amplitudes: Float64[Tensor, " target"]


def regression(
    kernel: Float64[Tensor, "row row"], targets: Float64[Tensor, "row target"], ridge: float
) -> Regression:
    """The regression of these targets; NaN marks one that is unknown, and is not learned.

    Source: leave-one-out residuals of a ridge regression (Rifkin and Lippert, "Notes on
    regularized least squares", 2007).
    """
    coefficients, left_out = torch.zeros_like(targets), torch.full_like(targets, torch.nan)
    offset, amplitudes = targets.new_zeros(targets.shape[1]), targets.new_ones(targets.shape[1])
    for known, columns in by_known(targets):
        own = targets[known][:, columns]
        mean = own.mean(0)
        matrix = kernel[known][:, known]
        matrix.diagonal().add_(ridge)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
        solved = inverse @ (own - mean)
        place = known.nonzero(), torch.tensor(columns)
        coefficients[place] = solved
        left_out[place] = own - solved / inverse.diagonal()[:, None]
        offset[columns] = mean
        amplitudes[columns] = ((own - mean) * solved).mean(0)
    return Regression(coefficients, offset, left_out, amplitudes)


def by_known(
    targets: Float64[Tensor, "row target"],
) -> Sequence[tuple[Bool[Tensor, " row"], list[int]]]:
    """The columns whose known rows are the same, with these rows; none without known rows."""
    found: dict[bytes, tuple[Tensor, list[int]]] = {}
    for column, known in enumerate(~targets.isnan().t()):
        if known.any():
            found.setdefault(known.cpu().numpy().tobytes(), (known, []))[1].append(column)
    return list(found.values())
