import hashlib

import pandas as pd
import pytest

from cellformer.experiments.grid.provenance import RUN_FILES, collect, write_runs
from cellformer.experiments.grid.results import note_failure, read_failure, read_results
from cellformer.experiments.grid.write_tables import write_tables
from grids import put_run


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "results"
    put_run(path, "gcb-hard", "general-sparse", "bspe", 0, 0.75)
    put_run(path, "gcb-hard", "general-sparse", "rwpe", 0)
    put_run(path, "gcb-hard", "general-sparse", "zeros", 1, error="no memory")
    return path


def test_every_run_has_a_row_that_says_all_about_its_number(folder):
    write_runs(folder / "runs.csv", folder, read_results(folder))
    frame = pd.read_csv(folder / "runs.csv").set_index("encoding")
    assert frame["status"].to_dict() == {
        "bspe": "finished", "rwpe": "unfinished", "zeros": "failed",
    }  # fmt: skip
    row = frame.loc["bspe"]
    assert row["test"] == 0.75
    assert (row["commit"], row["dirty"], row["seed"]) == ("abc", False, 0)
    assert (row["data_hash"], row["versions"]) == ("f", "torch=2 cellformer=0")
    assert (row["platform"], row["processor"], row["threads"]) == ("p", "q", 1)
    assert row["training_seconds"] == 4.0
    config = folder / row["config"]
    assert row["config_sha256"] == hashlib.sha256(config.read_bytes()).hexdigest()
    assert len(pd.read_csv(folder / row["curve"])) == 2
    assert frame.loc["zeros", "error"] == "no memory"


def test_a_run_of_an_older_version_has_blanks_for_what_it_does_not_say(folder):
    import json

    path = folder / "gcb-hard/general-sparse/bspe/seed-0/summary.json"
    told = json.loads(path.read_text())
    for name in ("source", "sessions", "standard_errors"):
        del told[name]
    path.write_text(json.dumps(told))
    write_tables(folder, pictures=False)
    row = pd.read_csv(folder / "tables/runs.csv").set_index("encoding").loc["bspe"]
    assert row[["commit", "dirty", "sessions", "test_standard_error"]].isna().all()


def test_the_collected_text_files_make_the_same_tables(folder, tmp_path):
    write_tables(folder)
    target = tmp_path / "kept"
    stale = target / "gcb-hard/general-sparse/bspe/seed-0/failure.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("{}")
    assert collect(folder, target, read_results(folder)) == 3 + 2 + 1 + 13
    assert not stale.exists()
    files = {path.name for path in target.rglob("*") if path.is_file()}
    assert not any(name.endswith((".safetensors", ".ckpt")) for name in files)
    assert files - {path.name for path in (target / "tables").iterdir()} <= set(RUN_FILES)
    before = {p.name: p.read_bytes() for p in (target / "tables").iterdir() if p.suffix != ".png"}
    write_tables(target, pictures=False)
    assert before == {name: (target / "tables" / name).read_bytes() for name in before}


def test_a_copy_into_itself_is_refused(folder):
    with pytest.raises(ValueError, match="lies within"):
        collect(folder, folder / "copy", ())


def test_a_failure_is_kept_until_the_run_succeeds(folder):
    (failed,) = (run for run in read_results(folder) if run.error)
    path = folder / failed.name
    assert read_failure(path) == "no memory"
    note_failure(path, failed.config, None)
    assert read_failure(path) is None
    note_failure(path, failed.config, None)
    assert failed.name not in [run.name for run in read_results(folder)]


def test_a_folder_that_is_not_there_is_no_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="no results folder"):
        read_results(tmp_path / "nowhere")
