import shutil

import numpy as np
import pytest

import cellformer as cf
from cellformer.cli.main import main
from cellformer.training.runs import shipped
from tiny import SMILES, tiny_run, write_molecules


@pytest.fixture
def ships(tmp_path, monkeypatch):
    """A package that comes with the model tiny-base, and a folder to work in."""
    source = write_molecules(tmp_path / "molecules.npz", np.arange(24.0))
    cf.train(tiny_run(source, epochs=1), tmp_path / "shipped" / "tiny-base")
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path / "shipped")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_of_the_package_is_opened_by_its_name(ships, capsys):
    found = np.asarray(cf.embed("tiny-base", SMILES[:3]))
    expected = cf.embed(ships / "shipped" / "tiny-base", SMILES[:3])
    np.testing.assert_array_equal(found, np.asarray(expected))
    assert main(["embed", "tiny-base", "CCO"]) == 0
    assert "vector_15" in capsys.readouterr().out


def test_a_training_begins_with_a_model_of_the_package(ships):
    words = ["train", "molecules.npz", "--epochs", "1", "--device", "cpu"]
    assert main([*words, "--from", "tiny-base", "-o", "run"]) == 0
    config = cf.load("run").config
    assert config.training.start_from == "tiny-base"
    assert config.model.width == 16
    shutil.rmtree(ships / "shipped")
    assert len(cf.load("run").predict(["CCO"])) == 1


def test_a_folder_of_that_name_comes_first(ships):
    other = tiny_run(ships / "molecules.npz", epochs=1)
    cf.train(other, "tiny-base")
    assert str(cf.load("tiny-base").ensemble.folder.path) == "tiny-base"
    with pytest.raises(FileNotFoundError, match="nothing is not a run folder"):
        cf.load("nothing")
