"""The scores of a grid, over its seeds, and what has to be said about them."""

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from cellformer.encodings.catalog import ENCODINGS
from cellformer.experiments.grid.grid import AXES, paper_preset
from cellformer.experiments.grid.paper_results import PAPER, PaperScore
from cellformer.experiments.grid.run_result import Finished, RunResult
from cellformer.experiments.presets import flatten
from cellformer.model.catalogs import ATTENTIONS
from cellformer.training.answers.summary import describe_classes
from cellformer.training.loop.metrics import higher_is_better

DECIMALS = 4
"""As in the paper; scores that are written alike share a place."""
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Score:
    """What the seeds of one combination say together."""

    source: str
    attention: str
    encoding: str
    runs: tuple[RunResult, ...]

    @property
    def dataset(self) -> str:
        """The name of the data set's folder."""
        return self.runs[0].experiment.dataset

    @property
    def finished(self) -> tuple[RunResult, ...]:
        """Those with a result."""
        return tuple(run for run in self.runs if run.result is not None)

    @property
    def errors(self) -> tuple[str, ...]:
        """Why others failed."""
        return tuple(run.error for run in self.runs if run.error is not None)

    @property
    def test(self) -> float:
        """The mean test score at the best validation epoch; NaN where one is undefined."""
        return _mean([run.test for run in self.finished])

    @property
    def validation(self) -> float:
        """The mean of the best validation scores."""
        return _mean([run.validation for run in self.finished])

    @property
    def deviation(self) -> float:
        """The sample standard deviation of the test score over the seeds; NaN of a single one."""
        values = [run.test for run in self.finished]
        return statistics.stdev(values) if len(values) > 1 else math.nan

    @property
    def standard_error(self) -> float:
        """Of a test score, because the test rows are few: the median over the seeds."""
        return _median([run.standard_error for run in self.finished])

    @property
    def paper(self) -> PaperScore | None:
        """The paper's own value, where it has one."""
        return PAPER.get((self.source, self.attention, self.encoding))

    @property
    def difference(self) -> float:
        """From the paper's value to this one; NaN where one of them is missing."""
        return math.nan if self.paper is None else self.test - self.paper.value


@dataclass(frozen=True, eq=False)
class DatasetScores:
    """All combinations of one data set, in the order of the grid."""

    source: str
    scores: tuple[Score, ...]

    @property
    def finished(self) -> tuple[RunResult, ...]:
        """All runs with a result."""
        return tuple(run for score in self.scores for run in score.finished)

    @property
    def results(self) -> tuple[Finished, ...]:
        """Those results."""
        return tuple(run.result for run in self.finished if run.result is not None)

    @property
    def title(self) -> str:
        """The data set's name; graphs that are not the published ones say so in it."""
        names = sorted({result.data_name for result in self.results})
        return " or ".join(names) or self.scores[0].dataset

    @property
    def metric(self) -> str:
        """Of the first run; empty where nothing is finished."""
        return next((result.metric for result in self.results), "")

    @property
    def higher(self) -> bool:
        """Whether a larger score is a better one."""
        return not self.metric or higher_is_better(self.metric)

    @property
    def test_rows(self) -> int:
        """Complexes in the test part."""
        return next((result.test_complexes for result in self.results), 0)

    @property
    def standard_error(self) -> float:
        """The median of that of the runs."""
        return _median([run.standard_error for run in self.finished])

    @property
    def in_paper(self) -> bool:
        """Whether the paper has values for it."""
        return any(score.paper is not None for score in self.scores)

    @property
    def places(self) -> dict[tuple[str, str], int]:
        """1 for the best combination, and so on, by attention and encoding."""
        return places({(s.attention, s.encoding): s.test for s in self.scores}, self.higher)


def scores_of(results: Iterable[RunResult]) -> tuple[DatasetScores, ...]:
    """The runs of a results folder, together."""
    grouped: dict[str, dict[tuple[str, str], list[RunResult]]] = {}
    for run in results:
        each = run.experiment
        combinations = grouped.setdefault(each.source, {})
        combinations.setdefault((each.attention, each.encoding), []).append(run)
    return tuple(
        DatasetScores(
            source,
            tuple(
                Score(source, *key, tuple(sorted(runs, key=lambda run: run.experiment.seed)))
                for key, runs in sorted(combinations.items(), key=lambda item: grid_order(item[0]))
            ),
        )
        for source, combinations in sorted(grouped.items())
    )


def grid_order(key: tuple[str, str]) -> tuple[int, str, int, str]:
    """Sorts attentions and encodings as they are listed, others and concatenated ones last."""
    attention, encoding = key
    attentions, encodings = ATTENTIONS.names, ENCODINGS.names
    return _place(attention, attentions), attention, _place(encoding, encodings), encoding


def _place(name: str, listed: tuple[str, ...]) -> int:
    return listed.index(name) if name in listed else len(listed)


def places(values: Mapping[Key, float], higher: bool) -> dict[Key, int]:
    """The place of each value, 1 for the best; equals share one and take up no more.

    So the paper counts: two seconds are followed by a third. Values are equal if they are written
    alike; one that is not a number has no place.
    """
    shown = {key: round(v, DECIMALS) for key, v in values.items() if not math.isnan(v)}
    order = sorted(set(shown.values()), reverse=higher)
    return {key: order.index(value) + 1 for key, value in shown.items()}


def notes(scored: DatasetScores) -> list[str]:
    """What a reader of the table has to know about a data set's numbers."""
    told = []
    if not scored.finished:
        return [f"{scored.title}: nothing is finished yet."]
    name = scored.title
    if "regenerated" in name:
        told.append(
            f"{name}: these graphs are a new draw, not those of the paper; compare in "
            "distribution only."
        )
    if not scored.in_paper:
        told.append(f"{name}: the paper has no values for this data set.")
    told += _of_chance(scored)
    told += [f"{name}: {line}." for line in describe_classes(scored.results[0].classes)]
    told += _of_settings(scored)
    states = len({result.data_digest for result in scored.results})
    if states > 1:
        told.append(f"{name}: WARNING: its runs were made on {states} different states of it.")
    return told


def _of_chance(scored: DatasetScores) -> list[str]:
    rows, error = scored.test_rows, scored.standard_error
    if not rows:
        return [f"{scored.title}: it has no test part."]
    told = f"{scored.title}: {rows} test complexes"
    if scored.metric == "accuracy":
        told += f", so one of them is {100 / rows:.2f} points"
    elif scored.metric == "mae":
        told += f", so one of them, wrong by 1 more, is {1 / rows:.2g} of the MAE"
    if not math.isnan(error):
        least = 1.96 * math.sqrt(2) * error
        told += (
            f"; a score has a standard error of {error:.4f} from their number alone, and two that "
            f"were measured on different draws differ by more than chance (95 %) from {least:.4f} "
            "on"
        )
    return [told + "."]


def _of_settings(scored: DatasetScores) -> list[str]:
    """Which fields differ from the preset, or from run to run."""
    name, preset = paper_preset(scored.source)
    own = flatten(preset)
    seen: dict[str, list[object]] = {}
    for run in scored.finished:
        for field, value in flatten(run.config).items():
            if field not in AXES and value not in seen.setdefault(field, []):
                seen[field].append(value)
    told = []
    apart = [
        f"{field} {values[0]} (there {own[field]})"
        for field, values in seen.items()
        if len(values) == 1 and values[0] != own[field] and not field.startswith("data.w")
    ]
    whose = f"the preset {name}" + (", which are the paper's" if name != "default" else "")
    if apart:
        told.append(f"{scored.title}: settings other than those of {whose}: {', '.join(apart)}.")
    else:
        told.append(f"{scored.title}: settings are those of {whose}.")
    mixed = {field: values for field, values in seen.items() if len(values) > 1}
    if mixed:
        words = ", ".join(f"{f} {' or '.join(map(str, v))}" for f, v in mixed.items())
        told.append(f"{scored.title}: WARNING: runs of different settings stand together: {words}.")
    return told


def _mean(values: list[float]) -> float:
    return statistics.fmean(values) if values else math.nan


def _median(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return statistics.median(known) if known else math.nan
