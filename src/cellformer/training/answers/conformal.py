"""Intervals that hold the true value with a chosen probability, by split-conformal prediction.

Source: Papadopoulos et al. (ECML 2002); Lei et al., "Distribution-free predictive inference for
regression" (JASA 2018), section 2.2. With n calibration rows that are exchangeable with the new
ones and took no part in training, an interval holds the truth with a probability of at least
``level``, and at most ``level`` + 1 / (n + 1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.decoding import decoded
from cellformer.basics.sealed import read_sealed
from cellformer.data.dataset import Task
from cellformer.training.answers.deviations import deviations_of, values_of
from cellformer.training.runs.run_folder import write_json

FORMAT = 1
LEAST_DEVIATION = 1e-12
"""By which an error is divided."""


Ends: TypeAlias = tuple[NDArray[np.floating], NDArray[np.floating]]
"""Lower and upper ones of intervals, for each row and target."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Absolute errors on rows that a model did not learn, ascending, for each target.

    Where the model tells how far off it may be, they are ``relative``: in units of the deviation
    on their side, so that intervals are wide where it is in doubt.
    """

    targets: tuple[str, ...]
    errors: tuple[NDArray[np.float64], ...]
    source: str  # which rows, for messages
    relative: bool = False

    @classmethod
    def of(
        cls, task: Task, outputs: NDArray[np.floating], targets: NDArray[np.floating], source: str
    ) -> "Residuals":
        """Those of outputs, (row, output) in the user's units; NaN targets are left out.

        Raises ValueError unless the task is a regression.
        """
        if task.kind != "regression":
            raise ValueError(
                "intervals are for regression; a classification gives probabilities instead"
            )
        outputs = outputs.astype(np.float64)
        above = targets - values_of(task, outputs)
        distance, apart = np.abs(above), deviations_of(task, outputs)
        if apart is not None:
            distance = distance / np.maximum(np.where(above < 0, *apart), LEAST_DEVIATION)
        errors = tuple(np.sort(column[~np.isnan(column)]) for column in distance.T)
        return cls(task.targets, errors, source, apart is not None)

    @classmethod
    def joined(cls, parts: Sequence["Residuals"]) -> "Residuals":
        """The errors of several models, each on rows of its own."""
        errors = (np.sort(np.concatenate(e)) for e in zip(*(p.errors for p in parts), strict=True))
        return cls(parts[0].targets, tuple(errors), parts[0].source, parts[0].relative)

    def interval(self, task: Task, outputs: NDArray[np.floating], level: float) -> Ends:
        """The lower and upper ends of the intervals of outputs, for each row and target.

        Raises ValueError as `reach` does, and where only one of outputs and errors has deviations.
        """
        values, reach = values_of(task, outputs), self.reach(level)
        apart = deviations_of(task, outputs)
        if (apart is not None) != self.relative:
            raise ValueError(
                f"the errors on {self.source} {'are' if self.relative else 'are not'} in units of "
                "the deviations of a model, unlike these predictions; calibrate on labeled rows"
            )
        below, above = (reach, reach) if apart is None else (reach * each for each in apart)
        kind = outputs.dtype.type
        return values - below.astype(kind), values + above.astype(kind)

    def reach(self, level: float) -> NDArray[np.float64]:
        """How far the interval reaches to each side of a prediction, for each target.

        Raises ValueError unless 0 < level < 1, and where there are too few rows for this level.
        """
        if not 0 < level < 1:
            raise ValueError(f"the level of an interval is between 0 and 1, got {level}")
        widths = []
        for name, errors in zip(self.targets, self.errors, strict=True):
            # The tiny subtraction keeps e.g. 10 * 0.9, or 100 * 0.07, from being rounded up.
            place = math.ceil((len(errors) + 1) * level - 1e-9)
            if place > len(errors):
                raise ValueError(
                    f"an interval at {level:g} needs at least {math.ceil(level / (1 - level))} "
                    f"labeled rows to be calibrated on; {self.source} has {len(errors)} for "
                    f"{name!r}: choose a lower level, or calibrate on more rows"
                )
            widths.append(errors[place - 1])
        return np.array(widths, np.float64)

    def write(self, path: Path) -> None:
        """Writes them as JSON."""
        errors = dict(zip(self.targets, (each.tolist() for each in self.errors), strict=True))
        told = {"format": FORMAT, "source": self.source, "errors": errors}
        write_json(path, told | {"relative": self.relative})

    @classmethod
    def read(cls, path: Path) -> "Residuals":
        """Reads what `write` wrote; raises ValueError, naming the file, where it is off."""
        values: Any = read_sealed(path)
        if isinstance(values, dict):  # runs of before say nothing of it
            values = {"relative": False, **values}
        kept = decoded(_KeptErrors, values, str(path))
        errors = tuple(np.sort(np.asarray(each, np.float64)) for each in kept.errors.values())
        return cls(tuple(kept.errors), errors, kept.source, kept.relative)


@dataclass(frozen=True)
class _KeptErrors:
    """What the file holds."""

    format: int
    source: str
    errors: Mapping[str, tuple[float, ...]]  # by target
    relative: bool

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"format {self.format}, this version reads {FORMAT}")
        negative = [name for name, errors in self.errors.items() if min(errors, default=0) < 0]
        if negative:
            raise ValueError(f"errors.{negative[0]} has a negative one")


def coverage(
    lower: NDArray[np.floating], upper: NDArray[np.floating], targets: NDArray[np.floating]
) -> list[float]:
    """The share of present targets inside their interval, for each target; NaN where none is."""
    inside = (lower <= targets) & (targets <= upper)
    present = ~np.isnan(targets)
    return [
        float(within[known].mean()) if known.any() else math.nan
        for within, known in zip(inside.T, present.T, strict=True)
    ]
