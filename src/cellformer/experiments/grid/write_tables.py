"""The tables of a results folder, in all formats, from its run folders alone."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cellformer.basics.files import replace_atomically
from cellformer.drawing.draw import save_figure
from cellformer.drawing.scores.grid import ScorePanel, draw_score_grid
from cellformer.drawing.scores.ranks import RankPanel, RankRow, draw_score_ranks
from cellformer.experiments.grid.formats import latex, markdown
from cellformer.experiments.grid.results import read_results
from cellformer.experiments.grid.runs_table import RUNS, TABLES, write_csv, write_runs
from cellformer.experiments.grid.scores import DatasetScores, Score, scores_of
from cellformer.experiments.grid.tables import (
    COMBINED_ATTENTIONS,
    COMBINED_ENCODINGS,
    ScoreTable,
    combinations_table,
    competitors,
    full_table,
    heading,
    summary_table,
)

SCORE_FIELDS = (
    "dataset", "data_name", "attention", "encoding", "metric", "test", "deviation", "seeds",
    "place", "paper", "paper_deviation", "difference", "validation", "standard_error",
    "test_complexes", "runs", "errors",
)  # fmt: skip
MODEL_FIELDS = (
    "dataset", "data_name", "metric", "model", "kind", "test", "deviation", "from_paper", "runs",
)  # fmt: skip


def write_tables(folder: str | os.PathLike[str], pictures: bool = True) -> ScoreTable:
    """Writes the three tables and runs.csv into ``folder``/tables, and returns the full one.

    Each file is replaced in one step. Without ``pictures``, older ones stay as they are.
    """
    folder = Path(folder)
    results = read_results(folder)
    sets = scores_of(results)
    target = folder / TABLES
    full = full_table(sets)
    for table in (full, combinations_table(sets), summary_table(sets)):
        _write(target / f"{table.name}.md", markdown(table))
        _write(target / f"{table.name}.tex", latex(table))
    scores = [(scored, score) for scored in sets for score in scored.scores]
    combined = [
        pair
        for pair in scores
        if pair[1].attention in COMBINED_ATTENTIONS and pair[1].encoding in COMBINED_ENCODINGS
    ]
    write_csv(target / "full.csv", [_score_row(*pair) for pair in scores], SCORE_FIELDS)
    write_csv(target / "combinations.csv", [_score_row(*pair) for pair in combined], SCORE_FIELDS)
    write_csv(target / "summary.csv", _model_rows(sets), MODEL_FIELDS)
    write_runs(target / RUNS, results)
    shown = [scored for scored in sets if scored.finished]
    if pictures and shown:
        panels = [_panel(scored, None, None) for scored in shown]
        save_figure(draw_score_grid(panels), target / "full.png")
        panels = [_panel(scored, COMBINED_ATTENTIONS, COMBINED_ENCODINGS) for scored in shown]
        if any(panel.values for panel in panels):
            save_figure(draw_score_grid(panels), target / "combinations.png")
        save_figure(draw_score_ranks([_ranks(each) for each in shown]), target / "summary.png")
    return full


def _write(path: Path, text: str) -> None:
    with replace_atomically(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def _score_row(scored: DatasetScores, score: Score) -> dict[str, Any]:
    paper = score.paper
    return {
        "dataset": score.dataset,
        "data_name": scored.title,
        "attention": score.attention,
        "encoding": score.encoding,
        "metric": scored.metric,
        "test": score.test,
        "deviation": score.deviation,
        "seeds": len(score.finished),
        "place": scored.places.get((score.attention, score.encoding)),
        "paper": None if paper is None else paper.value,
        "paper_deviation": None if paper is None else paper.deviation,
        "difference": score.difference,
        "validation": score.validation,
        "standard_error": score.standard_error,
        "test_complexes": scored.test_rows,
        "runs": " ".join(run.name for run in score.finished),
        "errors": "; ".join(score.errors),
    }


def _model_rows(sets: Sequence[DatasetScores]) -> list[dict[str, Any]]:
    return [
        {
            "dataset": scored.scores[0].dataset,
            "data_name": scored.title,
            "metric": scored.metric,
            "model": each.model,
            "kind": each.kind,
            "test": each.score.value,
            "deviation": each.score.deviation,
            "from_paper": each.source is None,
            "runs": "" if each.source is None else " ".join(r.name for r in each.source.finished),
        }
        for scored in sets
        for each in competitors(scored)
    ]


def _panel(
    scored: DatasetScores,
    attentions: Sequence[str] | None,
    encodings: Sequence[str] | None,
) -> ScorePanel:
    """The scores of a data set as a grid, all of them or those of some attentions and encodings."""
    scores = [
        score
        for score in scored.scores
        if (attentions is None or score.attention in attentions)
        and (encodings is None or score.encoding in encodings)
    ]
    return ScorePanel(
        heading(scored),
        tuple(attentions or dict.fromkeys(score.attention for score in scores)),
        tuple(encodings or dict.fromkeys(score.encoding for score in scores)),
        {(s.attention, s.encoding): (s.test, s.deviation) for s in scores if s.finished},
        {(s.attention, s.encoding): s.paper.value for s in scores if s.paper is not None},
        scored.places,
        scored.higher,
    )


def _ranks(scored: DatasetScores) -> RankPanel:
    return RankPanel(
        heading(scored),
        tuple(
            RankRow(
                each.model,
                each.score.value,
                math.nan if each.score.deviation is None else each.score.deviation,
                each.source is not None,
            )
            for each in competitors(scored)
        ),
        scored.higher,
    )
