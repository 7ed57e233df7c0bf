"""The kernel under which targets are most likely.

*Not in the paper*, whose complexes have no descriptors.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from cellformer.model.descriptors.kernel_regression import by_known
from cellformer.model.descriptors.kernels import KernelWeights

STEPS, RATE = 30, 0.15
STEEPNESS, NOISE = 0.6, 0.1
"""What the search begins with: for all values together, and beside a kernel of 1."""
DEVIATION = 1.5
"""Of the logarithm of each number from what the search begins with, before anything is seen."""
LEAST_RIDGE = 0.001
MOST_MASKS = 8
"""Sets of rows with known targets by which weights are chosen, those with the most rows."""


def likely_kernel(
    shared: Float64[Tensor, "fingerprint row row"],
    values: Float64[Tensor, "row value"],
    groups: Sequence[int],
    targets: Float64[Tensor, "row target"],
) -> tuple[KernelWeights, float]:
    """The weights, adding up to 1, under which targets of a Gaussian process are most likely.

    Beside them the ridge: what is added to the diagonal of the kernel, whose entries there are 1.

    ``groups`` are the numbers of values, side by side, that count equally. NaN marks an unknown
    target. Where rows are few, weights stay near those that the search begins with: their
    logarithms have a normal distribution about these. Source: the marginal likelihood (Rasmussen
    and Williams, "Gaussian Processes for Machine Learning", equation 2.30), climbed by Adam.
    """
    begun = _begin(len(shared), len(groups))
    searched = [each.clone().requires_grad_() for each in begun]
    search = torch.optim.Adam(searched)
    with torch.enable_grad():
        for step in range(STEPS):
            search.param_groups[0]["lr"] = RATE * (1 - step / STEPS) + 0.01
            search.zero_grad()
            doubt = surprise(*_found(searched, groups), shared, values, targets)
            for each, start in zip(searched, begun, strict=True):
                doubt = doubt + ((each - start) / DEVIATION).square().sum() / 2
            doubt.backward()  # type: ignore[no-untyped-call]
            search.step()
    with torch.no_grad():
        found, ridge = _found(searched, groups)
        total = found.weights.sum()
        return KernelWeights(found.weights / total, found.scales), float(ridge / total)


def surprise(
    found: KernelWeights,
    ridge: Float64[Tensor, ""],
    shared: Float64[Tensor, "fingerprint row row"],
    values: Float64[Tensor, "row value"],
    targets: Float64[Tensor, "row target"],
) -> Float64[Tensor, ""]:
    """Minus the logarithm of the likelihood of targets less their mean, up to a constant."""
    masks = sorted(by_known(targets), key=lambda each: -int(each[0].sum()))
    total = targets.new_zeros(())
    for known, columns in masks[:MOST_MASKS]:
        own = targets[known][:, columns]
        about = own - own.mean(0)
        kernel = found.alike(shared[:, known][:, :, known], values[known], values[known])
        root = torch.linalg.cholesky(kernel + ridge * torch.eye(len(own)).to(kernel))
        fit = (about * torch.cholesky_solve(about, root)).sum()
        total = total + fit / 2 + len(columns) * root.diagonal().log().sum()
    return total


def _begin(fingerprints: int, groups: int) -> list[Tensor]:
    """Logarithms of the weights, of the steepness of each group, and of the noise."""
    kinds = [1 / fingerprints] * fingerprints + [1.0] * (groups > 0)
    weights = torch.tensor(kinds, dtype=torch.float64)
    steepness = torch.full((groups,), STEEPNESS / max(1, groups), dtype=torch.float64)
    noise = torch.tensor(NOISE, dtype=torch.float64)
    return [(weights / weights.sum()).log(), steepness.log(), noise.log()]


def _found(searched: Sequence[Tensor], groups: Sequence[int]) -> tuple[KernelWeights, Tensor]:
    weights, steepness, noise = (each.exp() for each in searched)
    sizes = torch.tensor(groups, dtype=torch.int64)
    scales = torch.repeat_interleave((steepness / sizes).sqrt(), sizes)
    return KernelWeights(weights, scales), noise + LEAST_RIDGE * weights.sum()
