import pytest

from cellformer.experiments.grid.provenance import RUN_FILES, collect
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


def test_the_collected_text_files_make_the_same_tables(folder, tmp_path):
    write_tables(folder)
    run = "gcb-hard/general-sparse/bspe/seed-0"
    (folder / run / "predictions.csv").write_text("row,part,truth,prediction\n")
    target = tmp_path / "kept"
    stale = target / run / "failure.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("{}")
    assert collect(folder, target, read_results(folder)) == 4 + 2 + 1 + 13
    assert not stale.exists()
    assert (target / run / "predictions.csv").exists()
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
