import csv
import math
import re

import pandas as pd
import pytest

from cellformer.experiments.grid.formats import SUPERSCRIPTS, escaped, latex, markdown
from cellformer.experiments.grid.results import read_results
from cellformer.experiments.grid.scores import scores_of
from cellformer.experiments.grid.tables import (
    Number,
    ScoreTable,
    combinations_table,
    full_table,
    summary_table,
)
from cellformer.experiments.grid.write_tables import write_tables
from grids import put_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two data sets, with ties, a failure, missing ones, one seed and two, and an undefined one."""
    path = tmp_path_factory.mktemp("results")
    for seed, score in enumerate((0.74, 0.76)):
        put_run(path, "gcb-hard", "general-sparse", "bspe", seed, score, val=0.7, regenerated=True)
        put_run(path, "gcb-hard", "general-sparse", "rwpe", seed, score, val=0.8, regenerated=True)
    put_run(path, "gcb-hard", "general-sparse", "zeros", 0, 0.7001, val=0.6, regenerated=True)
    put_run(path, "gcb-hard", "general-sparse", "zeros", 1, error="no memory | a < b_c 100%")
    put_run(path, "gcb-hard", "pairwise-dense", "bspe", 0, math.nan, val=0.1, regenerated=True)
    put_run(path, "gcb-hard", "pairwise-dense", "rwpe", 0, error="RuntimeError: other")
    put_run(path, "gcb-hard", "pairwise-dense", "zeros", 0)
    put_run(path, "zinc", "general-sparse", "bspe", 0, 0.08)
    put_run(path, "zinc", "pairwise-mixed", "rwbspe+rwpe", 0, 0.09)
    write_tables(path)
    return path


@pytest.fixture(scope="module")
def sets(folder):
    return scores_of(read_results(folder))


def rows_of(text):
    return [
        [entry.strip() for entry in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def test_the_full_table_has_a_row_for_each_combination_and_the_papers_values(sets):
    header, _, *rows = rows_of(markdown(full_table(sets)))
    assert header == [
        "attention", "encoding", "gcb-hard (regenerated) accuracy ↑", "paper", "difference",
        "zinc MAE ↓", "paper", "difference",
    ]  # fmt: skip
    by = {(row[0], row[1]): row[2:] for row in rows}
    assert list(by) == [
        ("pairwise-dense", "zeros"), ("pairwise-dense", "bspe"), ("pairwise-dense", "rwpe"),
        ("pairwise-mixed", "rwbspe+rwpe"),
        ("general-sparse", "zeros"), ("general-sparse", "bspe"), ("general-sparse", "rwpe"),
    ]  # fmt: skip
    assert by["general-sparse", "bspe"] == [
        "**0.7500 ± 0.0141** ¹", "0.7516 ± 0.0102", "\N{MINUS SIGN}0.0016",
        "**0.0800** ¹", "0.0840", "\N{MINUS SIGN}0.0040",
    ]  # fmt: skip
    assert by["general-sparse", "rwpe"][:3] == [
        "**0.7500 ± 0.0141** ¹", "0.7442 ± 0.0136", "+0.0058",
    ]  # fmt: skip
    assert by["general-sparse", "zeros"][0] == "0.7001 ² (1 seed, failed [2])"
    assert by["pairwise-dense", "bspe"][:2] == ["undefined (1 seed)", "0.6095 ± 0.0234"]
    assert by["pairwise-dense", "rwpe"][0] == "failed [1]"
    assert by["pairwise-dense", "zeros"][0] == "unfinished"
    assert by["pairwise-mixed", "rwbspe+rwpe"] == ["-", "", "", "0.0900 ²", "", ""]
    notes = full_table(sets).notes
    assert "[1] RuntimeError: other" in notes
    assert "[2] no memory | a < b_c 100%" in notes


def test_the_combinations_are_laid_out_as_in_the_paper(sets):
    header, _, *rows = rows_of(markdown(combinations_table(sets)))
    assert header[2:] == ["bspe", "hodgelap", "rwbspe", "slepians", "rwpe"]
    assert [row[:2] for row in rows] == [
        ["general-sparse", "gcb-hard (regenerated) accuracy ↑"],
        ["general-sparse", "the paper"],
        ["general-sparse", "difference"],
        ["general-sparse", "zinc MAE ↓"],
        ["general-sparse", "the paper"],
        ["general-sparse", "difference"],
    ]
    assert rows[3][2:] == ["**0.0800** ¹", "-", "-", "-", "-"]
    assert rows[4][2] == "0.0840"


def test_the_summary_sets_ours_beside_other_models(sets):
    _, _, *rows = rows_of(markdown(summary_table(sets)))
    by = {(row[0].split()[0], row[1]): row[3:] for row in rows}
    assert len(rows) == (13 + 1 + 2) + (12 + 1 + 2)
    assert by["gcb-hard", "ours by validation: general-sparse, rwpe"][0] == "0.7500 ± 0.0141 ²"
    assert by["gcb-hard", "ours by test: general-sparse, bspe"][0] == "0.7500 ± 0.0141 ²"
    assert by["gcb-hard", "cellular transformer, the paper"][0] == "**0.7520 ± 0.0100** ¹"
    assert by["gcb-hard", "MinCutPool"] == ["0.7380 ± 0.0190 ³", "+0.0120"]
    assert by["zinc", "GPS"] == ["**0.0700** ¹", "+0.0100"]


def test_nothing_finished_is_a_table_too(tmp_path):
    put_run(tmp_path, "zinc", "general-sparse", "bspe", 0, error="not here")
    write_tables(tmp_path)
    assert "failed [1]" in (tmp_path / "tables" / "full.md").read_text()
    assert not (tmp_path / "tables" / "full.png").exists()


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="2 entries in 1 columns"):
        ScoreTable("t", "T", ("a",), (("b", "c"),), ())


@pytest.mark.parametrize("make", [full_table, combinations_table, summary_table])
def test_latex_is_well_formed(sets, make):
    table = make(sets)
    text = latex(table)
    body = text.partition("\n")[2]
    bare = re.sub(r"\\[\\{}&%$#_]", "", body)
    depth = 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    for special in ("#", "_", "~", "%"):
        allowed = {"_": 1, "%": 1}.get(special, 0)  # the label's, and the one that ends a line
        assert bare.count(special) == allowed, special
    inside = body.split("\\toprule\n")[1].split("\\bottomrule")[0].replace("\\midrule\n", "")
    lines = inside.splitlines()
    assert len(lines) == len(table.rows) + 1
    for line in lines:
        assert line.endswith(r"\\")
        assert len(re.findall(r"(?<!\\)&", line)) == len(table.columns) - 1
    begun, ended = re.findall(r"\\begin{(\w+)}", body), re.findall(r"\\end{(\w+)}", body)
    assert begun == ended[::-1] == ["table", "tabular"]
    assert body.isascii()


def test_latex_marks_places_with_color_and_number():
    entries = tuple(Number(0.5, math.nan, place) for place in (1, 2, 3, None))
    text = latex(ScoreTable("t", "T", ("a", "b", "c", "d"), (entries,), ()))
    assert (
        r"\textcolor{ForestGreen}{\textbf{0.5000}}$^1$ & \textcolor{blue}{0.5000}$^2$ & "
        r"\textcolor{orange}{0.5000}$^3$ & 0.5000 \\"
    ) in text
    assert set(SUPERSCRIPTS) == {1, 2, 3}


def test_text_is_escaped_letter_by_letter():
    assert escaped("a_b & 100% {\\}") == r"a\_b \& 100\% \{\textbackslash{}\}"


def test_csv_reads_back_the_very_numbers(folder, sets):
    frame = pd.read_csv(folder / "tables" / "full.csv")
    scores = [score for scored in sets for score in scored.scores]
    assert len(frame) == len(scores)
    for row, score in zip(frame.to_dict("records"), scores, strict=True):
        assert row["attention"] == score.attention
        for name in ("test", "deviation", "difference", "validation"):
            value = getattr(score, name)
            assert row[name] == value or (math.isnan(row[name]) and math.isnan(value))
    assert frame["data_name"][0] == "gcb-hard (regenerated)"
    with (folder / "tables" / "full.csv").open() as file:
        first = next(row for row in csv.DictReader(file) if row["encoding"] == "bspe"
                     and row["attention"] == "general-sparse")  # fmt: skip
    assert first["runs"].split() == [
        "gcb-hard/general-sparse/bspe/seed-0", "gcb-hard/general-sparse/bspe/seed-1",
    ]  # fmt: skip


def test_regenerated_data_are_called_so_in_every_table(folder):
    for name in ("full", "combinations", "summary"):
        for ending in ("md", "csv", "tex"):
            assert "gcb-hard (regenerated)" in (folder / "tables" / f"{name}.{ending}").read_text()


def test_the_same_folder_gives_the_same_tables(folder):
    files = [f for f in sorted((folder / "tables").iterdir()) if f.suffix != ".png"]
    before = {file: file.read_bytes() for file in files}
    write_tables(folder, pictures=False)
    assert {file: file.read_bytes() for file in files} == before
    assert not list((folder / "tables").glob(".*"))
