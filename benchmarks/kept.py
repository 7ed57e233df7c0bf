"""The runs that results/ keeps, put together by combination."""

import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellformer.training.runs.curve import read_curve, seconds_of
from cellformer.training.runs.summary import Summary, defined

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"


@dataclass(frozen=True)
class Kept:
    """The runs of one combination, by seed."""

    name: str
    """Their folder below results/, without the seed."""
    runs: tuple[Summary, ...]
    """What they came to."""
    seconds: float
    """Of all epochs of the first, by its curve."""

    @classmethod
    def of(cls, name: str) -> "Kept":
        """Those in results/."""
        alone = RESULTS / name
        folders = [alone] if alone.is_dir() else sorted(alone.parent.glob(f"{alone.name}-[0-9]"))
        runs = tuple(map(Summary.read, folders))
        return cls(name, runs, seconds_of(read_curve(folders[0] / "curve.csv")))

    def scores(self, part: str = "test") -> list[float]:
        """The score of each seed."""
        return [run.score(part) for run in self.runs]

    def mean(self, part: str = "test") -> float:
        """Over the seeds."""
        return statistics.fmean(self.scores(part))

    @property
    def standard_error(self) -> float:
        """Of a test score, because its rows are few: the median of those that are known."""
        known = (run.standard_error() for run in self.runs)
        return statistics.median(error for error in known if not math.isnan(error))

    @property
    def constant(self) -> float:
        """The test score of the same answer for all rows."""
        return defined(self.runs[0].baseline["test"][self.runs[0].metric])

    def told(self, part: str = "test") -> str:
        """The mean, with the deviation where there are several seeds."""
        scores = self.scores(part)
        spread = f" ± {statistics.stdev(scores):.3f}" if len(scores) > 1 else ""
        return f"{self.mean(part):.3f}{spread}"


def kept_json(name: str) -> dict[str, Any]:
    """What a file of results/ holds."""
    found: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return found
