"""Writes report.html into a run folder."""

import base64
import hashlib
import json
import logging
import os
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from cellformer.basics.files import replace_atomically
from cellformer.drawing.inline import INLINE, INLINE_DARK, inline_svg
from cellformer.drawing.molecule import molecule_positions
from cellformer.drawing.tokens import rank_word
from cellformer.encodings.encode import encode
from cellformer.report.cell_pictures import outputs_for, panels_of_cells, with_pixels
from cellformer.report.charts import learning_curves
from cellformer.report.doubts import doubts_of_samples
from cellformer.report.outcome import RunOutcome, outcome_of
from cellformer.report.parts import Chart
from cellformer.report.sections import Judged, charts_of, judged, uncharted
from cellformer.report.several import write_several
from cellformer.training.answers.ensemble import read_members
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import RunConfig
from cellformer.training.loop.answering import answering
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import EnsembleSummary, Summary, curve_of

logger = logging.getLogger(__name__)

WORST, LISTED, DRAWN, DRAWN_GRAPHS, COLORED = 12, 500, 300, 24, 3
"""Worst errors drawn large; rows of the table; those with a drawing, as molecules or as others;
complexes colored by what is predicted for their cells."""
MOST_COLORED = 30_000
"""Cells of a complex that is colored at all."""


@dataclass(frozen=True)
class Colored:
    """A picture that is drawn twice."""

    title: str
    light: str
    dark: str


def write_report(path: str | os.PathLike[str]) -> Path:
    """Writes the report of a finished run as one file that needs nothing else, and returns it.

    Validation and test data are predicted anew; where the data are no longer there, the report
    says so and shows the rest. Of an ensemble or a cross-validation, every model gets its report
    too. Raises FileNotFoundError if the folder holds no finished run.
    """
    path = Path(path)
    folder = RunFolder(path)
    environment = Environment(
        loader=PackageLoader("cellformer.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    if folder.members.exists():
        EnsembleSummary.read(path)  # raises where there is none
        for name in read_members(folder)[1]:
            write_report(path / name)
        style = _source(environment, "report.css")
        chosen = _flat(asdict(RunConfig.from_json(folder.require(folder.config))))
        return write_several(folder, environment, style, chosen)
    summary = Summary.read(path)
    config = RunConfig.from_json(folder.require(folder.config))
    which = "best" if folder.weights("best").exists() else "last"
    outcome, missing = None, ""
    run = TrainedRun.open(path, which)
    try:
        outcome = outcome_of(run)
    except (OSError, ValueError) as error:
        missing = str(error)
        logger.warning("the report goes without predictions: %s", error)
    script = _source(environment, "report.js")
    page = environment.get_template("report.html").render(
        name=path.resolve().name,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=_source(environment, "report.css"),
        summary=summary,
        rank=run.recipe.task.rank,
        results=_results(summary),
        curves=_curves(folder, summary, answering(run.model)),
        missing=missing,
        machine=_flat({"versions": summary.session.versions, **asdict(summary.session.machine)}),
        config=_flat(asdict(config)),
        **_predictions(run, outcome),
    )
    target = folder.report
    with replace_atomically(target) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return target


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _results(summary: Summary) -> list[tuple[str, list[tuple[str, float | None]]]]:
    """The lines of the table of results: an answer, and its score for each part and metric."""
    rows = []
    named = {
        "best": f"best validation epoch ({summary.best_epoch})",
        "last": f"last epoch ({summary.epochs})",
    }
    sources = [(named[which], scores) for which, scores in summary.scores.items()]
    for name, scores in [*sources, ("the same answer for all rows", summary.baseline)]:
        cells = [
            (f"{part} {metric}", value)
            for part, values in scores.items()
            for metric, value in values.items()
        ]
        rows.append((name, cells))
    return rows


def _curves(folder: RunFolder, summary: Summary, of: str) -> list[Chart]:
    rows = curve_of(folder.path)
    if not rows:
        return []
    curve = pd.DataFrame(rows)
    together = summary.reported["val"][summary.metric]
    figures = learning_curves(curve, summary.metric, summary.best_epoch, of, together)
    return [
        Chart(title, inline_svg(figure, f"{title} over {len(curve)} epochs"))
        for title, figure in figures.items()
    ]


def _predictions(run: TrainedRun, outcome: RunOutcome | None) -> dict[str, Any]:
    if outcome is None:
        return {"charts": [], "worst": [], "listed": [], "drawings": {}, "part": "", "total": 0,
                "failures": (), "labeled": {}, "colored": []}  # fmt: skip
    part = "test" if "test" in outcome.parts else "val"
    judged_rows = judged(run.recipe.task, outcome.parts[part])
    listed = judged_rows[:LISTED]
    shown = list(dict.fromkeys(one.row for one in listed))
    molecules = bool(shown) and outcome.smiles(shown[0]) is not None
    drawings = {
        row: outcome.drawing(row, f"row {row}")
        for row in shown[: DRAWN if molecules else DRAWN_GRAPHS]
    }
    calibration = outcome.parts.get("val") if part == "test" else None
    of_cells = run.recipe.task.rank is not None
    return {
        "labeled": {name: outcome.labeled(name) for name in outcome.materials.split},
        "colored": [
            Colored(f"{_name(outcome, row)}: {target}", *_colored(run, outcome, part, row, number))
            for row in (_to_color(outcome, shown) if of_cells else [])
            for number, target in enumerate(run.recipe.task.targets)
        ],
        "part": part,
        "total": len(judged_rows),
        "charts": [
            *charts_of(run.recipe.task, outcome.parts[part], calibration),
            *doubts_of_samples(run, outcome, part),
        ],
        "uncharted": uncharted(run.recipe.task, run.folder.predictions.exists()),
        "worst": [
            (one, _told(run, outcome, one), "" if of_cells else drawings.get(one.row, ""))
            for one in listed[:WORST]
        ],
        "listed": [(one, _name(outcome, one.row)) for one in listed],
        "drawings": drawings,
        "failures": outcome.materials.failures,
    }


def _name(outcome: RunOutcome, row: int) -> str:
    return outcome.smiles(row) or f"graph {row}"


def _told(run: TrainedRun, outcome: RunOutcome, one: Judged) -> str:
    """The complex, and the cell where cells are predicted."""
    rank = run.recipe.task.rank
    if rank is None:
        return _name(outcome, one.row)
    word = rank_word(rank, outcome.smiles(one.row) is not None)
    return f"{_name(outcome, one.row)}, {word} {one.cell}"


def _to_color(outcome: RunOutcome, rows: list[int]) -> list[int]:
    small = (row for row in rows if sum(outcome.complex_of(row).num_cells) <= MOST_COLORED)
    return list(islice(small, COLORED))


def _colored(
    run: TrainedRun, outcome: RunOutcome, part: str, row: int, target: int
) -> tuple[str, str]:
    """For light and for dark pages: the complex of a row by truth, prediction and error."""
    cells, own = outcome.complex_of(row), outcome.parts[part].of_complex(row)
    smiles = outcome.drawn(row)
    places = outcome.graphs.graph(row).positions if smiles is None else molecule_positions(smiles)
    task, truth, outputs = run.recipe.task, outcome.truth_of(row), own.outputs
    if outcome.materials.patches is not None:  # of which the part may have some only
        outputs = outputs_for(run, encode(cells, run.preparation.encodings))
    told = f"{_name(outcome, row)} colored by {task.targets[target]}"
    light, dark = (
        "".join(
            inline_svg(with_pixels(figure, cells), f"{told}: {word}")
            for word, figure in panels_of_cells(task, cells, outputs, truth, target, places,
                                                theme).items()
        )
        for theme in (INLINE, INLINE_DARK)
    )  # fmt: skip
    return light, dark


def _flat(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """A tree of mappings as rows of dotted names and values."""
    rows = []
    for name, value in tree.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", value if isinstance(value, str) else _json(value)))
    return rows


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
