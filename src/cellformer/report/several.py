"""The report of an ensemble or a cross-validation: its models beside each other and together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float32
from jinja2 import Environment
from scipy.special import logit

from cellformer.basics.files import replace_atomically
from cellformer.data.dataset import Task
from cellformer.report.doubts import doubts_of_answers
from cellformer.report.outcome import ScoredPart
from cellformer.report.parts import Chart
from cellformer.report.sections import charts_of, judged, uncharted
from cellformer.training.answers.ensemble import read_members
from cellformer.training.runs.recipe import Recipe
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import EnsembleSummary, Scores

LISTED = 500
"""Rows of the table of errors, the worst first."""
TINY = 1e-9
"""The least probability that is told from none."""


@dataclass(frozen=True)
class Line:
    """A row of the table of results."""

    name: str
    scores: tuple[float | None, ...]
    report: str = ""  # where there is more about it
    told_first: bool = False


def write_several(
    folder: RunFolder, environment: Environment, style: str, config: Sequence[tuple[str, str]]
) -> Path:
    """Writes report.html of a folder of runs from its summary and its predictions."""
    summary = EnsembleSummary.read(folder.path)
    kind, names = read_members(folder)
    task = Recipe.read(RunFolder(folder.path / names[0])).task
    parts = {} if not folder.predictions.exists() else read_parts(folder.predictions, task)
    part = "test" if "test" in parts else next(iter(parts), "")
    shown = parts.get(part)
    errors = [] if shown is None else judged(task, shown)
    columns = [(p, metric) for p, values in summary.mean.items() for metric in values]
    page = environment.get_template("several.html").render(
        name=folder.path.resolve().name,
        style=style,
        kind="cross-validation" if kind == "folds" else "ensemble",
        summary=summary,
        columns=[f"{p} {metric}" for p, metric in columns],
        lines=_lines(summary, columns),
        part=part,
        charts=[]
        if shown is None
        else [
            *charts_of(task, shown, parts.get("val")),
            *(_spread(folder, names, task, part) if kind == "seeds" else []),
        ],
        uncharted=uncharted(task, written=True),
        listed=errors[:LISTED],
        total=len(errors),
        config=config,
        of_cells=bool(errors) and errors[0].cell is not None,
    )
    with replace_atomically(folder.report) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return folder.report


def _spread(folder: RunFolder, names: Sequence[str], task: Task, part: str) -> list[Chart]:
    """Of an ensemble; of a cross-validation each row has the answer of one model."""
    files = [RunFolder(folder.path / name).predictions for name in names]
    members = [read_parts(file, task)[part] for file in files if file.exists()]
    if not members:
        return []
    answers = np.stack([each.outputs for each in members])
    return doubts_of_answers(task, answers, members[0].targets, "spread of the models")


def read_parts(path: Path, task: Task) -> dict[str, ScoredPart]:
    """The parts of predictions.csv; outputs are values, or logits of the probabilities there."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    found = {}
    for part, own in frame.groupby("part", sort=False):
        rows = own["row"].to_numpy(np.int64)
        cells = own["cell"].to_numpy(np.int64) if "cell" in own else None
        found[str(part)] = ScoredPart(rows, _targets(own, task), _outputs(own, task), cells)
    return found


def _targets(frame: pd.DataFrame, task: Task) -> Float32[np.ndarray, "row target"]:
    names = [f"truth_{target}" for target in task.targets] if len(task.targets) > 1 else ["truth"]
    if not task.labels:
        return _numbers(frame, names)
    numbers = {str(label): float(number) for number, label in enumerate(task.labels)}
    columns = [[numbers.get(word, np.nan) for word in frame[name]] for name in names]
    return np.array(columns, np.float32).T.reshape(len(frame), len(names))


def _outputs(frame: pd.DataFrame, task: Task) -> Float32[np.ndarray, "row output"]:
    endings = [f"_{target}" for target in task.targets] if len(task.targets) > 1 else [""]
    if task.kind == "regression":
        return _numbers(frame, [f"prediction{ending}" for ending in endings])
    if task.kind == "binary":
        shares = _numbers(frame, [f"probability{end}_{task.labels[1]}" for end in endings])
        return np.asarray(logit(np.clip(shares.astype(np.float64), TINY, 1 - TINY)), np.float32)
    shares = _numbers(frame, [f"probability_{label}" for label in task.labels])
    return np.asarray(np.log(np.clip(shares, TINY, 1)), np.float32)


def _numbers(frame: pd.DataFrame, names: Sequence[str]) -> Float32[np.ndarray, "row column"]:
    columns = [pd.to_numeric(frame[name], errors="coerce") for name in names]
    return np.stack([column.to_numpy(np.float32) for column in columns], axis=1)


def _lines(summary: EnsembleSummary, columns: Sequence[tuple[str, str]]) -> list[Line]:
    def of(scores: Scores) -> tuple[float | None, ...]:
        return tuple(scores.get(part, {}).get(metric) for part, metric in columns)

    lines = [
        Line(name, of(scores), f"{name}/report.html") for name, scores in summary.members.items()
    ]
    pooled = bool(summary.pooled)
    lines.append(Line("mean", of(summary.mean), told_first=not pooled))
    lines.append(Line("standard deviation", of(summary.deviation)))
    return [*lines, Line("all together", of(summary.pooled), told_first=True)] if pooled else lines
