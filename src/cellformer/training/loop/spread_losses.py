"""Losses by which a model learns, beside each value, how far from it the truth may lie.

*Not in the paper.* Such a loss has ``columns`` for every target: a block of values, and one or two
blocks of logarithms of deviations, in the units of training. `spreads` reads them.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

FARTHEST = 10.0
"""Logarithms of deviations beyond it are taken for it, on both sides."""


@dataclass(frozen=True)
class Gaussian:
    """Minus the logarithm of the likelihood of a normal distribution: a mean and a deviation.

    While learning, the loss of a value is multiplied by its variance to the power of ``beta``, as
    a constant, without which means are learned slowly where they fit badly. Sources: Nix and
    Weigend, "Estimating the mean and variance of the target probability distribution" (1994);
    Seitzer et al., "On the pitfalls of heteroscedastic uncertainty estimation" (ICLR 2022).
    """

    beta: float = 0.5
    columns: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= 1:
            raise ValueError(f"beta of the loss gaussian is from 0 to 1, got {self.beta}")

    def __call__(
        self, outputs: Float[Tensor, "row output"], targets: Float[Tensor, "row target"]
    ) -> Float[Tensor, "row target"]:
        """The loss of each target, up to a constant."""
        mean, log_deviation = _blocks(outputs, self.columns)
        each = log_deviation + ((targets - mean) / log_deviation.exp()).square() / 2
        return self._weighed(each, log_deviation)

    def bounded(
        self,
        outputs: Float[Tensor, "row output"],
        bounds: Float[Tensor, "row target"],
        above: bool,
    ) -> Float[Tensor, "row target"]:
        """Minus the logarithm of the probability of what is above, or below, a bound.

        Source: Tobin, "Estimation of relationships for limited dependent variables" (1958).
        """
        mean, log_deviation = _blocks(outputs, self.columns)
        apart = (mean - bounds) / log_deviation.exp()
        return self._weighed(-torch.special.log_ndtr(apart if above else -apart), log_deviation)

    def _weighed(
        self, each: Float[Tensor, "row target"], log_deviation: Float[Tensor, "row target"]
    ) -> Float[Tensor, "row target"]:
        if log_deviation.requires_grad and self.beta:
            return each * (2 * self.beta * log_deviation.detach()).exp()
        return each


@dataclass(frozen=True)
class Quantile:
    """The pinball losses of the median and of the two ends of the central ``level``.

    The ends are the median less and plus a deviation of their own, in units in which those of a
    normal distribution were alike, so that they cannot cross. Source: Koenker and Bassett,
    "Regression quantiles" (1978).
    """

    level: float = 0.9
    columns: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"level of the loss quantile is between 0 and 1, got {self.level}")

    def __call__(
        self, outputs: Float[Tensor, "row output"], targets: Float[Tensor, "row target"]
    ) -> Float[Tensor, "row target"]:
        """The loss of each target."""
        return sum(
            (self._pinball(share, targets - end) for share, end in self._ends(outputs)),
            torch.zeros_like(targets),
        )

    def bounded(
        self,
        outputs: Float[Tensor, "row output"],
        bounds: Float[Tensor, "row target"],
        above: bool,
    ) -> Float[Tensor, "row target"]:
        """The loss of bounds that the truth is above, or below: of the ends on the wrong side.

        Source: Powell, "Censored regression quantiles" (1986).
        """
        total = torch.zeros_like(bounds)
        for share, end in self._ends(outputs):
            left = bounds - end
            wrong = left.clamp(min=0) if above else left.clamp(max=0)
            total = total + self._pinball(share, wrong)
        return total

    def _ends(self, outputs: Float[Tensor, "row output"]) -> list[tuple[float, Tensor]]:
        """The median and both ends, after the share of values that lie below each."""
        median, below, above = _blocks(outputs, self.columns)
        tail = (1 - self.level) / 2
        reach = -float(torch.special.ndtri(torch.tensor(tail, dtype=torch.float64)))
        return [
            (0.5, median),
            (tail, median - reach * below.exp()),
            (1 - tail, median + reach * above.exp()),
        ]

    @staticmethod
    def _pinball(share: float, left: Float[Tensor, "row target"]) -> Float[Tensor, "row target"]:
        return torch.maximum(share * left, (share - 1) * left)


def spreads(outputs: Float[Tensor, "row output"], targets: int) -> Float[Tensor, "row side"] | None:
    """The deviations below all values, then those above them; None where none were learned.

    ``outputs`` are those of a model that predicts so many ``targets``. A model that does not tell
    the sides apart has the same on both.
    """
    blocks = outputs.shape[1] // targets
    if blocks == 1:
        return None
    _, *learned = _blocks(outputs, blocks)
    below, above = learned[0], learned[-1]
    return torch.cat([below, above], 1).exp()


def _blocks(outputs: Float[Tensor, "row output"], number: int) -> list[Tensor]:
    """The values, and the logarithms of deviations within their bounds."""
    values, *learned = outputs.tensor_split(number, 1)
    return [values, *(each.clamp(-FARTHEST, FARTHEST) for each in learned)]
