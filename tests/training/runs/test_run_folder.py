import pytest

from cellformer.training.runs.run_folder import RunFolder, write_json


def require(folder, which="best"):
    with pytest.raises(FileNotFoundError) as missing:
        folder.require(folder.weights(which))
    return str(missing.value)


def test_what_a_folder_lacks_is_told(tmp_path):
    folder = RunFolder(tmp_path)
    assert "is not a run folder" in require(folder)
    folder.config.write_text("{}")
    assert "is not finished" in require(folder)
    write_json(folder.summary, {"best_epoch": None})
    assert "validation score was undefined" in require(folder)
    assert require(folder, "last").endswith("lacks last.safetensors; restore it from a copy")
    write_json(folder.summary, {"best_epoch": 3})
    assert "lacks best.safetensors" in require(folder)


def test_a_place_where_no_folder_can_be_made_is_told_before_anything_is_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        RunFolder(tmp_path / "file" / "run").refuse_taken()
    RunFolder(tmp_path / "new" / "run").refuse_taken()
    assert not (tmp_path / "new").exists()


def test_an_ensemble_names_one_of_its_models(tmp_path):
    folder = RunFolder(tmp_path)
    folder.members.write_text("[]")
    for name in ("seed-1", "seed-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    assert require(folder).endswith(f"such as {tmp_path / 'seed-0'}")
