"""Integrated gradients: a prediction as a sum over cells."""

import copy
import logging
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch, collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.explaining.contributions import Contributions
from cellformer.model.described import CellModel

logger = logging.getLogger(__name__)

NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
AT_ONCE, ROUNDS = 32, 50
"""Intervals that are integrated in one batch, and batches after which the result must do."""


def integrated_gradients(
    model: CellModel, cells: CellComplex, output: int = 0, tolerance: float = 5e-4
) -> Contributions:
    """What each cell's features and encodings add to the prediction.

    The hidden vectors that the layers start from go along a straight line from those of cells of
    which nothing is known (no features, no encodings) to those of the complex; the gradient along
    the way is integrated, and the parts of a cell are summed. The contributions sum to the
    prediction less that of the unknown cells, to within ``tolerance`` (in the units of the
    model's output), or a warning says that they do not.

    The model is copied to float64. The integral is taken by Gauss and Legendre's rule of four
    points on intervals, of which those are halved, again and again, that miss the difference of
    the predictions at their ends the most. Source: Sundararajan, Taly and Yan, "Axiomatic
    attribution for deep networks" (2017).
    """
    line = _Line.of(model, cells, output)
    edges = (np.linspace(0, 1, AT_ONCE + 1) ** 3).tolist()  # where little is known, much changes
    wanted = list(pairwise(edges))
    done: list[_Interval] = []
    for _ in range(ROUNDS):
        done += line.integrals(wanted)
        done.sort(key=lambda interval: interval.missed)
        if sum(interval.missed for interval in done) <= tolerance:
            break
        done, worst = done[: -AT_ONCE // 2], done[-AT_ONCE // 2 :]
        wanted = [half for interval in worst for half in interval.halves()]
    else:
        done += line.integrals(wanted)
    start, stop = line.values([0.0, 1.0])
    ranks = [np.sum([interval.cells[rank] for interval in done], axis=0)
             for rank in range(cells.dim + 1)]  # fmt: skip
    result = Contributions(tuple(ranks), stop, start)
    if abs(result.total - (stop - start)) > tolerance:
        logger.warning(
            "integrated gradients sum to %.4g, the predictions differ by %.4g",
            result.total,
            stop - start,
        )
    return result


@dataclass(frozen=True, eq=False)
class _Interval:
    """A part of the line, the integral over it for the cells of each rank, and its error."""

    low: float
    high: float
    cells: list[Float64[np.ndarray, " _"]]
    missed: float

    def halves(self) -> list[tuple[float, float]]:
        middle = (self.low + self.high) / 2
        return [(self.low, middle), (middle, self.high)]


@dataclass(frozen=True, eq=False)
class _Line:
    """The straight line between two states of the first hidden vectors, and the model on it."""

    model: CellModel
    cells: CellComplex
    start: list[Tensor]
    stop: list[Tensor]
    output: int
    batches: dict[int, CellBatch] = field(default_factory=dict)  # by size, with neighborhoods

    @classmethod
    def of(cls, model: CellModel, cells: CellComplex, output: int) -> "_Line":
        precise = copy.deepcopy(model).double().cpu().eval().requires_grad_(False)
        batch = collate([cells])
        with torch.no_grad():
            embedded = precise.embedded(batch)
            return cls(precise, cells, precise.embedding.blank(batch), embedded, output)

    def values(self, places: list[float]) -> list[float]:
        """The output at some places, 0 at the start and 1 at the end of the line."""
        with torch.no_grad():
            values: list[float] = self._outputs(self._states(places), len(places)).tolist()
        return values

    def integrals(self, intervals: list[tuple[float, float]]) -> list[_Interval]:
        """Of the gradient times the line's direction over each interval."""
        low, high = np.array(intervals).T
        half = (high - low) / 2
        places = ((low + high) / 2)[:, None] + half[:, None] * NODES
        states = [state.requires_grad_() for state in self._states(places.ravel().tolist())]
        outputs = self._outputs(states, places.size)
        gradients = torch.autograd.grad(outputs.sum(), states, allow_unused=True)
        weights = torch.from_numpy(half[:, None] * WEIGHTS)
        ranks = []
        for start, stop, gradient in zip(self.start, self.stop, gradients, strict=True):
            if gradient is None:  # a rank that the prediction does not depend on
                gradient = start.new_zeros(places.size * len(start), start.shape[1])
            by_place = gradient.view(*places.shape, *start.shape)
            mean = torch.einsum("ip,ipcw->icw", weights, by_place)
            ranks.append(((stop - start) * mean).sum(dim=2).numpy())
        at_ends = np.array(self.values([*low, *high])).reshape(2, -1)
        found = sum(rows.sum(axis=1) for rows in ranks)
        missed = np.abs(found - (at_ends[1] - at_ends[0]))
        return [
            _Interval(float(low[i]), float(high[i]), [rows[i] for rows in ranks], float(missed[i]))
            for i in range(len(intervals))
        ]

    def _states(self, places: list[float]) -> list[Tensor]:
        """The hidden vectors of as many copies of the complex as there are places."""
        at = torch.tensor(places, dtype=torch.float64)[:, None, None]
        return [
            (start + at * (stop - start)).flatten(0, 1)
            for start, stop in zip(self.start, self.stop, strict=True)
        ]

    def _outputs(self, states: list[Tensor], copies: int) -> Tensor:
        if copies not in self.batches:
            self.batches[copies] = collate([self.cells] * copies)
        outputs: Tensor = self.model.from_embedded(states, self.batches[copies])
        return outputs[:, self.output]
