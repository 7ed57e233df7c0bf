"""Salts from training to predictions, with all fragments and with the largest."""

import logging

import numpy as np
import pandas as pd
import pytest

from cellformer.cli.main import main
from cellformer.data.preparation import Preparation
from cellformer.training.answers.predict import predict
from cellformer.training.config import DataConfig
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.materials.rows import find_leaks, open_rows
from cellformer.training.sklearn_estimators import CellularRegressor
from tiny import SMILES

FAST = ["--model.width", "16", "--model.layers", "1", "--model.heads", "2", "--training.epochs",
        "2", "--training.device", "cpu", "--data.encodings", "rwpe:2"]  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Every third molecule is a hydrochloride."""
    path = tmp_path_factory.mktemp("salts") / "salts.csv"
    smiles = [f"{text}.Cl" if row % 3 == 0 else text for row, text in enumerate(SMILES)]
    frame = pd.DataFrame({"smiles": smiles, "y": np.arange(len(smiles), dtype=float)})
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("which", ["all", "largest"])
def test_a_salt_is_predicted_as_it_was_learned(which, table, tmp_path, caplog):
    run = tmp_path / "run"
    flags = [] if which == "all" else ["--data.fragments", "largest"]
    with caplog.at_level(logging.INFO):
        assert main(["train", str(table), "--target", "y", "-o", str(run), *flags, *FAST]) == 0
    assert ("the largest fragment was taken of 9 of 24" in caplog.text) == (which == "largest")
    pair = tmp_path / "pair.csv"
    pair.write_text("smiles\nCCOC(C)=O\nCl.CC(=O)OCC\nO.Cl.CCOC(C)=O\n")
    told = predict(run, str(pair))
    assert told["smiles"].tolist() == ["CCOC(C)=O", "Cl.CC(=O)OCC", "O.Cl.CCOC(C)=O"]
    value = told["prediction"].to_numpy()
    same = abs(value - value[0]) <= 1e-5
    assert same.tolist() == ([True] * 3 if which == "largest" else [True, False, False])
    np.testing.assert_array_equal(predict(run, pd.read_csv(pair))["prediction"], value)


def test_a_molecule_and_its_salt_are_a_leak_only_without_the_salt(tmp_path):
    path = tmp_path / "split.csv"
    path.write_text("smiles,y,split\nCCN,1,train\nCCN.Cl,2,test\nCCO,3,val\n")
    for which, found in (("all", 0), ("largest", 1)):
        config = DataConfig(source=str(path), target=("y",), fragments=which)
        rows = open_rows(config, preparation_of(config, config.source))
        assert len(find_leaks(rows, rows.split)) == found


def test_a_complex_to_look_at_loses_its_salt_too():
    assert Preparation().one("CCN.Cl").num_cells[0] == 4
    assert Preparation(fragments="largest").one("CCN.Cl").num_cells[0] == 3


def test_the_estimator_takes_the_largest_fragment_in_fit_and_predict():
    made = CellularRegressor(width=16, layers=1, heads=2, epochs=2, device="cpu",
                             encodings="rwpe:2", fragments="largest")  # fmt: skip
    made.fit(SMILES, np.arange(len(SMILES), dtype=float))
    plain = [text for text in SMILES if "." not in text]
    salts = [f"Cl.{text}" for text in plain]
    np.testing.assert_allclose(made.predict(salts), made.predict(plain), rtol=1e-5, atol=1e-5)
