import shutil
from pathlib import Path

import numpy as np
import pytest

import cellformer as cf
from cellformer.cli.main import main
from cellformer.explorer.inspection import Explorer
from cellformer.training.runs import shipped
from tiny import SMILES, tiny_run, write_molecules

ROOT = Path(__file__).parents[3]


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


def test_all_that_reads_a_run_knows_the_name(ships, capsys):
    assert main(["draw", "C1CC1", "--run", "tiny-base", "--what", "attention", "-o", "a.svg"]) == 0
    assert main(["draw", "--run", "tiny-base", "--what", "diagram", "-o", "d.svg"]) == 0
    assert Explorer.open(Path("tiny-base")).run.folder.path == ships / "shipped" / "tiny-base"
    assert main(["predict", "tiny-bse", "CCO"]) == 1
    assert "did you mean 'tiny-base'?" in capsys.readouterr().err


def test_a_folder_of_that_name_comes_first(ships):
    other = tiny_run(ships / "molecules.npz", epochs=1)
    cf.train(other, "tiny-base")
    assert str(cf.load("tiny-base").ensemble.folder.path) == "tiny-base"
    with pytest.raises(FileNotFoundError, match="nothing is not a run folder"):
        cf.load("nothing")


def test_the_base_model_is_the_one_whose_training_is_told():
    base = shipped.SHIPPED / "cellformer-base"
    for name in ("curve.csv", "config.json", "sessions.json", "summary.json"):
        told = ROOT / "results" / "pretraining" / name
        assert (base / name).read_bytes() == told.read_bytes()
    run = cf.load("cellformer-base")
    assert sum(each.numel() for each in run.model.parameters()) == 697_428
    vectors = cf.embed(
        "cellformer-base", ["CCO", "c1ccccc1O", "no molecule"], pool="both", layers="all"
    )
    assert vectors.vectors.shape == (3, 2 * 5 * 128)
    assert np.isfinite(vectors.vectors[:2]).all()
    told = run.predict(["CC(=O)Oc1ccccc1C(=O)O", "CC(C)Cc1ccc(cc1)C(C)C(=O)NC1CCN(Cc2ccccc2)CC1"])
    for value in ("MolWt", "MolLogP", "RingCount"):
        smaller, larger = told[f"prediction_{value}"]
        assert smaller < 0 < larger
