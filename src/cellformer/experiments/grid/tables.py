"""The paper's three tables, from the scores of a grid, with the paper's values beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cellformer.experiments.grid.paper_results import OTHER_MODELS, PAPER_BEST, PaperScore
from cellformer.experiments.grid.scores import DatasetScores, Score, grid_order, notes, places

METRIC_TITLES = {
    "accuracy": "accuracy",
    "rocauc": "ROC-AUC",
    "mae": "MAE",
    "rmse": "RMSE",
    "r2": "R2",
    "spearman": "Spearman",
    "": "",
}
COMBINED_ATTENTIONS = ("general-sparse", "pairwise-mixed", "pairwise-sparse")
COMBINED_ENCODINGS = ("bspe", "hodgelap", "rwbspe", "slepians", "rwpe")
MARKS = (
    "1, 2 and 3 mark the best three; scores that are written alike share a place.",
    "Ours: the test score at the epoch with the best validation score, mean ± sample standard "
    "deviation over the seeds; without ± it is of one seed. Difference: ours minus the paper's.",
    "Every number is the mean over the runs DATA SET/ATTENTION/ENCODING/seed-N of runs.csv, which "
    "tells commit, configuration, data hash, versions, machine, duration and curve of each.",
)


@dataclass(frozen=True)
class Number:
    """A number in a table."""

    value: float
    deviation: float = math.nan
    place: int | None = None
    signed: bool = False
    remark: str = ""


Entry: TypeAlias = str | Number


@dataclass(frozen=True)
class ScoreTable:
    """A table in no format yet."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.name}: {len(row)} entries in {len(self.columns)} columns")


def full_table(sets: Sequence[DatasetScores]) -> ScoreTable:
    """Every combination of attention and encoding: the paper's table in its appendix."""
    columns = ["attention", "encoding"]
    for scored in sets:
        columns.append(heading(scored))
        columns += ["paper", "difference"] if scored.in_paper else []
    rows = []
    failures = _Failures()
    keys = {(score.attention, score.encoding) for scored in sets for score in scored.scores}
    for key in sorted(keys, key=grid_order):
        row: list[Entry] = [*key]
        for scored in sets:
            score = _find(scored, key)
            row.append(_entry(scored, score, failures))
            if scored.in_paper:
                row += _paper_entries(score)
        rows.append(tuple(row))
    return ScoreTable(
        "full",
        "All combinations of attention and encoding",
        tuple(columns),
        tuple(rows),
        (*MARKS, *(note for scored in sets for note in notes(scored)), *failures.notes),
    )


def combinations_table(sets: Sequence[DatasetScores]) -> ScoreTable:
    """The combinations that did best in the paper, a block for each attention."""
    rows: list[tuple[Entry, ...]] = []
    failures = _Failures()
    for attention in COMBINED_ATTENTIONS:
        for scored in sets:
            found = [_find(scored, (attention, encoding)) for encoding in COMBINED_ENCODINGS]
            if not any(found):
                continue
            own = [_entry(scored, score, failures) for score in found]
            rows.append((attention, heading(scored), *own))
            if scored.in_paper:
                paper = [_paper_entries(score) for score in found]
                rows.append((attention, "the paper", *(pair[0] for pair in paper)))
                rows.append((attention, "difference", *(pair[1] for pair in paper)))
    return ScoreTable(
        "combinations",
        "The attentions and encodings that do best in the paper",
        ("attention", "data set", *COMBINED_ENCODINGS),
        tuple(rows),
        (*MARKS, *(note for scored in sets for note in notes(scored)), *failures.notes),
    )


@dataclass(frozen=True)
class Competitor:
    """A row of the summary: a model with its score on a data set."""

    scored: DatasetScores
    model: str
    kind: str
    score: PaperScore
    source: Score | None = None
    """The combination, where it is ours."""


def competitors(scored: DatasetScores) -> tuple[Competitor, ...]:
    """The models of the paper, its own, and ours, chosen by validation and by test score."""
    told = [
        Competitor(scored, other.name, other.family, other.score)
        for other in OTHER_MODELS
        if other.dataset == scored.source
    ]
    if scored.source in PAPER_BEST:
        best = PAPER_BEST[scored.source]
        told.append(Competitor(scored, "cellular transformer, the paper", "cellular", best))
    done = [s for s in scored.scores if not math.isnan(s.test)]
    best_of = max if scored.higher else min
    for by, values in (
        ("validation", [score.validation for score in done]),
        ("test", [score.test for score in done]),
    ):
        valued = [(v, number) for number, v in enumerate(values) if not math.isnan(v)]
        if valued:
            best_value = best_of(value for value, _ in valued)
            chosen = next(done[number] for value, number in valued if value == best_value)
            deviation = None if math.isnan(chosen.deviation) else chosen.deviation
            name = f"ours by {by}: {chosen.attention}, {chosen.encoding}"
            score = PaperScore(chosen.test, deviation)
            told.append(Competitor(scored, name, "cellular", score, chosen))
    return tuple(told)


def summary_table(sets: Sequence[DatasetScores]) -> ScoreTable:
    """Other models beside the best combinations of the cellular transformer."""
    rows: list[tuple[Entry, ...]] = []
    for scored in sets:
        models = competitors(scored)
        ours = next((each.score.value for each in models if each.source is not None), math.nan)
        ranked = places({each.model: each.score.value for each in models}, scored.higher)
        for each in models:
            gap: Entry = ""
            if each.source is None and not math.isnan(ours):
                gap = Number(ours - each.score.value, signed=True)
            deviation = math.nan if each.score.deviation is None else each.score.deviation
            number = Number(each.score.value, deviation, _marked(ranked.get(each.model)))
            rows.append((heading(scored), each.model, each.kind, number, gap))
    return ScoreTable(
        "summary",
        "Other models and the cellular transformer",
        ("data set", "model", "kind", "test score", "ours by validation minus it"),
        tuple(rows),
        (
            *MARKS,
            "Scores of other models, and those of the cellular transformer that stand as the "
            "paper's, are copied from its table of models and scores.",
            "Ours by validation: the combination with the best mean validation score. Ours by "
            "test: the one with the best test score; it is too good by that choice. The paper's "
            "own score is the best test score of its table of all combinations.",
            *(note for scored in sets for note in notes(scored)),
        ),
    )


def heading(scored: DatasetScores) -> str:
    """The data set, the metric, and which way is better."""
    if not scored.metric:
        return scored.title
    arrow = "↑" if scored.higher else "↓"
    return f"{scored.title} {METRIC_TITLES[scored.metric]} {arrow}"


class _Failures:
    """Numbers reasons as they come up."""

    def __init__(self) -> None:
        self.reasons: dict[str, int] = {}

    def mark(self, score: Score) -> str:
        """The numbers of this combination's reasons."""
        numbers = {self.reasons.setdefault(error, len(self.reasons) + 1) for error in score.errors}
        return f"failed [{', '.join(map(str, sorted(numbers)))}]"

    @property
    def notes(self) -> tuple[str, ...]:
        """The reasons in words."""
        return tuple(f"[{number}] {reason}" for reason, number in self.reasons.items())


def _find(scored: DatasetScores, key: tuple[str, str]) -> Score | None:
    return next((s for s in scored.scores if (s.attention, s.encoding) == key), None)


def _entry(scored: DatasetScores, score: Score | None, failures: _Failures) -> Entry:
    if score is None:
        return "-"
    if not score.finished:
        return failures.mark(score) if score.errors else "unfinished"
    remarks = []
    if len(score.finished) < max(len(other.runs) for other in scored.scores):
        seeds = "seed" if len(score.finished) == 1 else "seeds"
        remarks.append(f"{len(score.finished)} {seeds}")
    if score.errors:
        remarks.append(failures.mark(score))
    place = _marked(scored.places.get((score.attention, score.encoding)))
    return Number(score.test, score.deviation, place, remark=", ".join(remarks))


def _paper_entries(score: Score | None) -> list[Entry]:
    if score is None or score.paper is None:
        return ["", ""]
    deviation = math.nan if score.paper.deviation is None else score.paper.deviation
    gap: Entry = Number(score.difference, signed=True) if score.finished else ""
    return [Number(score.paper.value, deviation), gap]


def _marked(place: int | None) -> int | None:
    return place if place is not None and place <= 3 else None
