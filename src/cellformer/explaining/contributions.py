"""The contribution of each cell to a prediction."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

Ranks = tuple[Float64[np.ndarray, " _"], ...]


@dataclass(frozen=True, eq=False)
class Contributions:
    """One number per cell, for one output of a model, in the units of its outputs.

    ``reference`` is the output that integrated gradients start from: the contributions sum to
    ``prediction - reference``. Those of occlusion need not sum to anything, and have none.
    """

    ranks: Ranks
    prediction: float
    reference: float | None = None
    share: float = 1.0
    """Of the cells in the prediction; the rest is that of the fingerprints of a molecule."""

    @property
    def told(self) -> str:
        """The share of the cells in words, empty where it is the whole."""
        if self.share == 1:
            return ""
        shown = f"{self.share:.2f}" if self.share >= 0.005 else "less than 0.01"
        return f"cells have {shown} of it, fingerprints the rest"

    @property
    def total(self) -> float:
        """The sum over all cells."""
        return float(sum(rows.sum() for rows in self.ranks))

    def in_units(self, deviation: float, mean: float) -> "Contributions":
        """The same in the units of the targets, given what their `Scaling` divides by and takes."""
        return Contributions(
            tuple(rows * deviation for rows in self.ranks),
            self.prediction * deviation + mean,
            None if self.reference is None else self.reference * deviation + mean,
            self.share,
        )
