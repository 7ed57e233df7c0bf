"""Regression targets in the units of training and back."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, tensor

from cellformer.basics.rounding import HALF_UNIT, MOST_LOST


@dataclass(frozen=True)
class Scaling:
    """Subtracts the mean of each target and divides by its deviation."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @property
    def wide(self) -> bool:
        """Whether values in the user's units need 64 bits, see `narrowed`."""
        return any(
            abs(mean) * HALF_UNIT > MOST_LOST * deviation
            for mean, deviation in zip(self.mean, self.deviation, strict=True)
        )

    @classmethod
    def none(cls, num_targets: int) -> "Scaling":
        """Leaves targets as they are."""
        return cls((0.0,) * num_targets, (1.0,) * num_targets)

    @classmethod
    def fit(cls, targets: NDArray[np.floating], centered: bool = True) -> "Scaling":
        """Mean and deviation of each column of (complexes, targets), missing values (NaN) aside.

        A column that does not vary is only shifted; one without values is left as it is. Not
        ``centered``, nothing is shifted, and columns are divided by their root mean square:
        targets that flip with the orientation have no mean that would flip too.
        """
        mean, deviation = [], []
        for column in np.asarray(targets, np.float64).T:
            known = column[~np.isnan(column)]
            middle = float(known.mean()) if centered and len(known) else 0.0
            spread = float(np.sqrt(((known - middle) ** 2).mean())) if len(known) else 0.0
            mean.append(middle)
            deviation.append(spread if spread > 0 else 1.0)
        return cls(tuple(mean), tuple(deviation))

    def scale(self, targets: Float[Tensor, "complex target"]) -> Float[Tensor, "complex target"]:
        """From the user's units to those of training, in 32 bits."""
        scaled = (targets - self._tensor(self.mean, targets)) / self._tensor(
            self.deviation, targets
        )
        return scaled.float()

    def unscale(self, values: Float[Tensor, "complex target"]) -> Float[Tensor, "complex target"]:
        """From the units of training to the user's, in 64 bits where it takes them."""
        values = values.double() if self.wide else values
        return values * self._tensor(self.deviation, values) + self._tensor(self.mean, values)

    def stretch(self, spreads: Float[Tensor, "complex side"]) -> Float[Tensor, "complex side"]:
        """Deviations from values, for each target below and then for each above, to the user's
        units.
        """
        return spreads * self._tensor(self.deviation * 2, spreads)

    @staticmethod
    def _tensor(numbers: tuple[float, ...], like: Tensor) -> Float[Tensor, " target"]:
        return tensor(numbers, dtype=like.dtype, device=like.device)
