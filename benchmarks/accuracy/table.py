"""The scores of all learners side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np


@dataclass(frozen=True)
class Score:
    """What one learner reached on one file with one seed.

    ``validation`` and ``parameters`` are told where the learner tells them.
    """

    rmse: float
    seconds: float
    validation: float | None = None
    parameters: int | None = None


Scores: TypeAlias = Mapping[str, Mapping[str, Sequence[Score]]]
"""By table and learner, one for each seed."""


def ratios(found: Scores, peer: str) -> list[float]:
    """The mean error of ours by that of a peer, for each table."""
    return [_mean(row["cellformer"]) / _mean(row[peer]) for row in found.values()]


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers."""
    return float(np.exp(np.log(values).mean()))


def lines(found: Scores) -> Iterable[str]:
    """The rows of the printed table: mean errors and seconds, and ours by each peer's."""
    peers = list(next(iter(found.values())))
    yield "| table | " + " | ".join(peers) + " |"
    yield "|---" * (len(peers) + 1) + "|"
    for name, row in found.items():
        yield f"| {name} | " + " | ".join(_cell(row[who]) for who in peers) + " |"
    if "cellformer" in peers:
        for what, told in (("geometric mean of ratios", geometric_mean), ("worst ratio", max)):
            each = [told(ratios(found, who)) for who in peers]
            yield f"| {what} | " + " | ".join(f"{value:.3f}" for value in each) + " |"


def _cell(scores: Sequence[Score]) -> str:
    errors = [score.rmse for score in scores]
    spread = f" ± {np.std(errors, ddof=1):.3f}" if len(errors) > 1 else ""
    return f"{np.mean(errors):.3f}{spread}, {np.mean([s.seconds for s in scores]):.0f} s"


def _mean(scores: Sequence[Score]) -> float:
    return float(np.mean([score.rmse for score in scores]))
