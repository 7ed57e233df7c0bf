"""Models of atoms and bonds, from a table of molecules to lists in its rows."""

import json

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import rdPartialCharges

import cellformer as cf
from cellformer.cli.main import main
from cellformer.explorer.inspection import Explorer
from cellformer.report.write import write_report
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import RowError, predict
from cellformer.training.several import cross_validate, train_ensemble
from cellformer.training.train import train
from tiny import tiny_run


def charges(molecule):
    rdPartialCharges.ComputeGasteigerCharges(molecule)
    return [round(atom.GetDoubleProp("_GasteigerCharge"), 4) for atom in molecule.GetAtoms()]


@pytest.fixture(scope="module")
def molecules(real_data):
    """24 real molecules with the partial charge of every atom, and whether a bond is in a ring."""
    table = pd.read_csv(real_data / "extra/esol_delaney-processed.csv.gz")[["smiles"]][1:25]
    table = table.reset_index(drop=True)
    parsed = [Chem.MolFromSmiles(text) for text in table["smiles"]]
    table["charge"] = [json.dumps(charges(molecule)) for molecule in parsed]
    table["ring"] = [";".join(str(int(bond.IsInRing())) for bond in molecule.GetBonds())
                     for molecule in parsed]  # fmt: skip
    return table


@pytest.fixture(scope="module")
def written(molecules, tmp_path_factory):
    """The same with a blank, a list that is too short, and a SMILES that is none."""
    table = molecules.copy()
    table.loc[3, "charge"] = None
    table.loc[4, "charge"] = "[0.5]"
    table.loc[5, "smiles"] = "nonsense"
    path = tmp_path_factory.mktemp("atoms") / "atoms.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def run(written, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    train(tiny_run(written, target=("charge",)), path)
    return path


def atoms(smiles):
    return Chem.MolFromSmiles(smiles).GetNumAtoms()


def test_a_run_on_atoms_keeps_its_molecules_together_and_says_what_it_left_out(run, written):
    failures = pd.read_csv(run / "failures.csv")
    assert failures["row"].tolist() == [4, 5]
    assert failures["reason"][0].startswith("column 'charge' has a list of 1 values for ")
    split = pd.read_csv(run / "split.csv")
    assert list(split.columns) == ["row", "part"]
    assert set(split["row"]) == set(range(24)) - {3, 4, 5}
    kept = pd.read_csv(run / "predictions.csv")
    table = pd.read_csv(written)
    for row, own in kept.groupby("row"):
        assert own["cell"].tolist() == list(range(atoms(table["smiles"][row])))
        np.testing.assert_allclose(own["truth"], json.loads(table["charge"][row]), atol=1e-6)
    assert json.loads((run / "preparation.json").read_text())["molecule_descriptors"] == "none"


def test_predictions_are_lists_in_the_rows_of_the_table(run, written, tmp_path):
    out = tmp_path / "out.csv"
    assert main(["predict", str(run), str(written), "-o", str(out), "--interval", "0.5"]) == 0
    told, table = pd.read_csv(out), pd.read_csv(written)
    assert told["smiles"].tolist() == table["smiles"].tolist()
    assert "not a SMILES" in told["error"][5]
    assert pd.isna(told["prediction"][5])
    for row in set(range(24)) - {5}:
        lists = [json.loads(told[name][row]) for name in ("lower", "prediction", "upper")]
        assert [len(one) for one in lists] == [atoms(table["smiles"][row])] * 3
        assert (np.diff(lists, axis=0) > 0).all()
    kept = pd.read_csv(run / "predictions.csv")
    for row, own in kept.groupby("row"):
        np.testing.assert_allclose(own["prediction"], json.loads(told["prediction"][row]), 1e-5)


def test_scores_of_a_table_are_those_of_its_predictions(run, molecules):
    told = predict(run, molecules)
    true = np.concatenate([json.loads(cell) for cell in molecules["charge"]])
    off = np.concatenate(told["prediction"].tolist()) - true
    scores = evaluate(run, molecules)["scores"]
    assert scores["mae"] == pytest.approx(np.abs(off).mean(), rel=1e-4)
    within = evaluate(run, molecules, interval=0.5, calibrate=molecules)["interval"]
    assert within["coverage"]["charge"] == pytest.approx(0.5, abs=0.02)
    assert evaluate(run)["part"] == "test"
    with pytest.raises(ValueError, match="lacks the targets of this run: charge"):
        evaluate(run, molecules[["smiles"]])


def test_the_order_is_that_of_the_atoms_as_written_with_their_hydrogens(run):
    told = predict(run, ["CO", "OC", "[H]OC([H])([H])[H]", "", "InChI=1S/CH4O/c1-2/h2H,1H3"])
    carbon, oxygen = told["prediction"][0]
    assert carbon != oxygen
    assert told["prediction"][1] == pytest.approx([oxygen, carbon], rel=1e-4)
    hydrogens = told["prediction"][2]
    assert hydrogens[1:3] == pytest.approx([oxygen, carbon], rel=1e-4)
    assert [hydrogens[0], *hydrogens[3:]] == [None] * 4
    assert "SMILES is empty" in told["error"][3]
    assert "no order of atoms" in told["error"][4]
    kept = predict(run, ["CO", "nonsense"], on_error="skip")
    assert kept["smiles"].tolist() == ["CO"]
    with pytest.raises(RowError, match="1 of 2 rows have no prediction, the first is row 1"):
        predict(run, ["CO", "nonsense"], on_error="fail")


def test_a_record_of_an_sdf_has_the_order_of_its_own_atoms(run, tmp_path):
    molecule = Chem.AddHs(Chem.MolFromSmiles("OC(=O)C"))
    values = [number / 8 for number in range(8)]
    molecule.SetProp("charge", " ".join(map(str, values)))
    with Chem.SDWriter(str(tmp_path / "acid.sdf")) as writer:
        writer.write(molecule)
    told = predict(run, str(tmp_path / "acid.sdf"))["prediction"][0]
    reference = predict(run, ["OC(=O)C"])["prediction"][0]
    assert told[:4] == pytest.approx(reference, rel=1e-4)
    assert told[4:] == [None] * 4
    off = np.abs(np.array(told[:4]) - values[:4]).mean()
    assert evaluate(run, str(tmp_path / "acid.sdf"))["scores"]["mae"] == pytest.approx(off, 1e-4)


def test_tables_of_other_kinds_hold_lists_too(run, molecules, tmp_path):
    lists = molecules[["smiles"]].assign(charge=molecules["charge"].map(json.loads))
    lists.to_parquet(tmp_path / "atoms.parquet")
    train(tiny_run(tmp_path / "atoms.parquet", target=("charge",)), tmp_path / "run")
    out = tmp_path / "out.parquet"
    source = str(tmp_path / "atoms.parquet")
    assert main(["predict", str(tmp_path / "run"), source, "-o", str(out)]) == 0
    back = pd.read_parquet(out)
    assert [len(cell) for cell in back["prediction"]] == [len(cell) for cell in back["charge"]]
    polars = pytest.importorskip("polars")
    told = predict(run, polars.DataFrame({"smiles": ["CO"]}))
    assert len(told["prediction"][0]) == 2


def test_bonds_are_classified_by_an_ensemble_and_by_folds(molecules, tmp_path):
    molecules.to_csv(tmp_path / "bonds.csv", index=False)
    told_run = tiny_run(tmp_path / "bonds.csv", epochs=1, target=("ring",))
    train_ensemble(told_run, tmp_path / "two", 2)
    told = predict(tmp_path / "two", molecules)
    bonds = [len(cell.split(";")) for cell in molecules["ring"]]
    for name in ("prediction", "probability_1", "uncertainty"):
        assert [len(cell) for cell in told[name]] == bonds
    assert predict(tmp_path / "two", ["C"])["prediction"].tolist() == [[]]
    cross_validate(told_run, tmp_path / "folds", 3)
    kept = pd.read_csv(tmp_path / "folds/predictions.csv")
    assert len(kept) == sum(bonds)
    assert len(predict(tmp_path / "folds", ["CCO"])["prediction"][0]) == 2
    assert "ring" in write_report(tmp_path / "folds").read_text(encoding="utf-8")


def test_what_is_of_whole_molecules_is_refused_in_one_line(run, written, tmp_path):
    assert "charge" in write_report(run).read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="explanations are of one prediction per"):
        cf.load(run).explain("CCO")
    explorer = Explorer.open(run)
    (told,) = explorer.predict(explorer.subject("CCO", None))
    assert "3 atoms, " in told["value"]
    for field, value in (("molecule_descriptors", "morgan"), ("descriptors", ("row",))):
        table = pd.read_csv(written).assign(row=1.5)
        table.to_csv(tmp_path / "more.csv", index=False)
        told = tiny_run(tmp_path / "more.csv", target=("charge",), **{field: value})
        with pytest.raises(ValueError, match=f"data.{field} describes molecules as wholes, but "):
            train(told, tmp_path / "no")
    assert not (tmp_path / "no").exists()
