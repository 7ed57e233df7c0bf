import json
import math
import shutil
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from cellformer.basics.sealed import without_checksum
from cellformer.experiments.grid.results import read_results
from cellformer.experiments.grid.runs_table import read_runs, write_runs
from cellformer.experiments.grid.write_tables import write_tables
from grids import CURVE, put_run

RESULTS = Path(__file__).parents[3] / "results" / "grid"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "results"
    put_run(path, "gcb-hard", "general-sparse", "bspe", 0, 0.75)
    put_run(path, "gcb-hard", "general-sparse", "rwpe", 0)
    put_run(path, "gcb-hard", "general-sparse", "zeros", 1, error="no memory, nor, time")
    put_run(path, "007", "general-sparse", "bspe", 0, math.nan)
    put_run(path, "null", "general-sparse", "rwpe+bspe:3", 0, 0.1,
            values={"training.class_weights": (1.0, 2.5), "data.smiles_column": "1e5"})  # fmt: skip
    return path


def test_every_run_has_a_row_that_says_all_about_its_number(folder):
    write_runs(folder / "runs.csv", read_results(folder))
    frame = pd.read_csv(folder / "runs.csv", keep_default_na=False).set_index("run")
    assert frame["status"].to_dict() == {
        "007/general-sparse/bspe/seed-0": "finished",
        "gcb-hard/general-sparse/bspe/seed-0": "finished",
        "gcb-hard/general-sparse/rwpe/seed-0": "unfinished",
        "gcb-hard/general-sparse/zeros/seed-1": "failed",
        "null/general-sparse/rwpe+bspe3/seed-0": "finished",
    }
    row = frame.loc["gcb-hard/general-sparse/bspe/seed-0"]
    assert (row["test"], row["validation"], row["training_seconds"]) == ("0.75", "0.75", "4.0")
    assert (row["commit"], row["dirty"], row["seed"]) == ("abc", "false", 0)
    assert (row["data_digest"], row["versions"]) == ("f", "torch=2 cellformer=0")
    assert (row["platform"], row["processor"], row["threads"]) == ("p", "q", "1")
    assert row["curve"] == "0.5 0.6"
    assert (row["training.epochs"], row["model.width"], row["data.lifting"]) == (
        2, 80, "cycle-basis",
    )  # fmt: skip
    assert frame.loc["gcb-hard/general-sparse/zeros/seed-1", "error"] == "no memory, nor, time"


def test_a_run_of_an_older_version_has_blanks_for_what_it_does_not_say(folder):
    path = folder / "gcb-hard/general-sparse/bspe/seed-0/summary.json"
    told = without_checksum(json.loads(path.read_text()))
    (session,) = told.pop("sessions")
    told |= {"versions": session["versions"], "machine": session["machine"]}
    for name in ("version", "standard_errors", "classes"):
        del told[name]
    path.write_text(json.dumps(told))
    write_tables(folder, pictures=False)
    frame = pd.read_csv(folder / "tables/runs.csv").set_index("run")
    row = frame.loc["gcb-hard/general-sparse/bspe/seed-0"]
    assert row[["commit", "dirty", "sessions", "test_standard_error"]].isna().all()
    assert row["test"] == 0.75


def test_the_table_alone_tells_what_the_run_folders_told(folder, tmp_path):
    results = read_results(folder)
    write_runs(tmp_path / "runs.csv", results)
    assert [asdict(run) for run in read_runs(tmp_path / "runs.csv")] == list(map(asdict, results))


def test_a_folder_without_runs_is_read_from_its_table_until_there_are_some(folder, tmp_path):
    write_tables(folder, pictures=False)
    kept = tmp_path / "kept"
    shutil.copytree(folder / "tables", kept / "tables")
    before = {file.name: file.read_bytes() for file in (kept / "tables").iterdir()}
    for name in before.keys() - {"runs.csv"}:
        (kept / "tables" / name).unlink()
    write_tables(kept, pictures=False)
    assert {file.name: file.read_bytes() for file in (kept / "tables").iterdir()} == before
    put_run(kept, "zinc", "general-sparse", "bspe", 0, 0.1)
    assert [run.name for run in read_results(kept)] == ["zinc/general-sparse/bspe/seed-0"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("status,", "state,", "the column status is missing"),
        (",0.75,", ",good,", r"row 1: test must be a finite number or null, got 'good'"),
        (",cycle-basis,", ",cycle-base,", "row 1: unknown lifting"),
    ],
)
def test_a_table_that_is_off_says_where(folder, tmp_path, old, new, message):
    path = tmp_path / "runs.csv"
    write_runs(path, read_results(folder))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as off:
        read_runs(path)
    assert str(path) in str(off.value)


def test_the_tables_in_results_are_made_of_their_runs(tmp_path):
    shutil.copytree(RESULTS / "tables", tmp_path / "tables")
    for name in ("full", "combinations", "summary"):
        for ending in ("md", "csv", "tex"):
            (tmp_path / "tables" / f"{name}.{ending}").write_text("")
    write_tables(tmp_path, pictures=False)
    for file in (tmp_path / "tables").iterdir():
        if file.name != "runs.csv":  # a newer version has more columns
            assert file.read_bytes() == (RESULTS / "tables" / file.name).read_bytes(), file.name
    assert len(read_runs(tmp_path / "tables" / "runs.csv")) == 30


def test_the_time_of_a_run_is_that_of_its_curve(folder):
    (first, *_) = read_results(folder)
    assert first.training_seconds == 4.0
    assert CURVE.count("\n") - 1 == len(first.curve)
