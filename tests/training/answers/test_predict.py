import csv
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdkit import Chem

from cellformer.data.dataset import Task
from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import RowError, columns_of, predict
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.train import train
from tiny import with_training, write_molecules

HEADER = ("name", "smiles", "solubility", "prediction")
ROWS = [
    ("ethanol, pure", "CCO", "1.0", "x"),
    ("bad", "C1CC", "2.0", "x"),
    ("benzene", "c1ccccc1", "", "x"),
    ("empty", "", "0.5", "x"),
    ("salt", "[Na+].[Cl-]", "3.25", "x"),
    ("methane", "C", "4.5", "x"),
    ("ethanol again", "CCO", "1.0", "x"),
]


MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "C[C@H](N)C(=O)O", "F/C=C/Cl",
    "F/C=C\\Cl", "C[C@@H]1CC[C@H](C)CC1", "c1ccc2c(c1)ccc1ccccc12", "C1CC2CCC1CC2", "[Na+].[Cl-]",
    "C12C3C4C1C5C2C3C45", "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O", "CS(=O)(=O)N", "[13CH4]",
    "O=[N+]([O-])c1ccccc1", "CC#N.CCO", "C1CCCCCCCCCCC1", "c1ccsc1-c1ccc[nH]1",
)  # fmt: skip


def random_smiles():
    """Trees of atoms, rings and groups."""
    ends = st.sampled_from(["F", "O", "N", "C#N", "c1ccccc1", "C1CC1", "[C@H](F)Cl", "C(=O)[O-]"])
    middles = st.sampled_from(["C", "N", "C(C)", "CC", "C=C", "c1cc(F)ccc1C", "C1(C)CCC1C"])
    return st.recursive(
        ends,
        lambda inner: st.builds(lambda m, a, b: f"{m}({a}){b}", middles, inner, inner),
        max_leaves=5,
    ).filter(lambda text: Chem.MolFromSmiles(text) is not None)


@pytest.fixture(scope="module")
def any_run(tmp_path_factory):
    """A run with weights that nobody trained much, which see every feature and encoding."""
    folder = tmp_path_factory.mktemp("any")
    write_molecules(folder / "molecules.npz", np.arange(24.0))
    config = RunConfig(
        data=DataConfig(source=str(folder / "molecules.npz"), encodings="rwbspe:4+rwpe:4"),
        model=ArchitectureConfig(width=16, layers=2, heads=2),
        training=TrainingConfig(epochs=1, device="cpu"),
    )
    train(config, folder / "run")
    return folder / "run"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([HEADER, *ROWS, *ROWS])
    return path


@pytest.fixture
def run(tiny, table, tmp_path):
    config = replace(
        tiny,
        data=replace(tiny.data, source=str(table), target=("solubility",), split="random",
                     fractions=(0.6, 0.2, 0.2)),
    )  # fmt: skip
    train(with_training(config, epochs=2), tmp_path / "run")
    return tmp_path / "run"


def test_all_rows_and_columns_come_back_in_order_with_reasons_for_failures(run, table):
    frame = predict(run, str(table))
    assert list(frame.columns) == [*HEADER, "prediction_2", "error"]
    assert [tuple(row) for row in frame[list(HEADER)].itertuples(index=False)] == [*ROWS, *ROWS]
    failed = frame["error"] != ""
    assert failed.tolist() == [False, True, False, True, False, False, False] * 2
    assert frame["prediction_2"].isna().tolist() == failed.tolist()
    assert "C1CC" in frame["error"][1]
    assert "empty" in frame["error"][3]


def test_equal_molecules_get_equal_predictions(run, table):
    values = predict(run, str(table))["prediction_2"]
    assert values[0] == pytest.approx(values[6], abs=1e-5)


def test_evaluate_and_predict_agree(run, table):
    frame = predict(run, str(table))
    known = (frame["error"] == "") & (frame["solubility"] != "")
    error = (frame["prediction_2"] - pd.to_numeric(frame["solubility"]))[known].abs().mean()
    assert evaluate(run, str(table))["scores"]["mae"] == pytest.approx(error, rel=1e-5)


def test_evaluating_the_test_part_gives_the_score_of_the_summary(tiny, tmp_path):
    summary = train(with_training(tiny, epochs=2), tmp_path / "run")
    for which in ("best", "last"):
        result = evaluate(tmp_path / "run", part="test", weights=which)
        assert result["scores"] == summary.scores[which]["test"]


def test_predicting_without_targets_works_and_evaluating_names_what_is_missing(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles\nCCO\n")
    assert np.isfinite(predict(run, str(path))["prediction"]).all()
    with pytest.raises(ValueError, match="lacks the targets of this run: solubility"):
        evaluate(run, str(path))


def test_an_atom_never_seen_in_training_is_predicted_all_the_same(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles\n[U]\nC[Hg]C\n")
    assert np.isfinite(predict(run, str(path))["prediction"]).all()


def test_a_table_of_failures_only_comes_back_whole(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles,solubility\nC1CC,no number\nxyz,\n")
    frame = predict(run, str(path))
    assert frame["smiles"].tolist() == ["C1CC", "xyz"]
    assert frame["prediction"].isna().all()
    assert (frame["error"] != "").all()


def test_an_empty_table_comes_back_empty(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles,name\n")
    frame = predict(run, str(path))
    assert list(frame.columns) == ["smiles", "name", "prediction", "error"]
    assert len(frame) == 0


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        predict(tmp_path / "nothing", "nci")


def test_damaged_weights_are_named(run, table):
    (run / "best.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"best.safetensors cannot be read .*--weights last"):
        predict(run, str(table))


def test_classes_come_as_labels_and_probabilities():
    outputs = np.array([[2.0, 0.0, 0.0], [np.nan] * 3, [0.0, 0.0, 5.0]])
    columns = columns_of(Task("multiclass", ("c",), "accuracy", ("x", "y", "z")), outputs[None])
    assert columns["prediction"] == ["x", None, "z"]
    shares = np.stack([columns[f"probability_{label}"] for label in "xyz"], axis=1)
    assert np.allclose(shares[[0, 2]].sum(axis=1), 1)
    both = columns_of(
        Task("binary", ("a", "b"), "rocauc", ("no", "yes")), np.array([[[3.0, -3.0]]])
    )
    assert both["prediction_a"] == ["yes"]
    assert both["prediction_b"] == ["no"]
    assert set(both) == {"prediction_a", "probability_a_yes", "prediction_b", "probability_b_yes"}
    alone = columns_of(Task("binary", ("a",), "rocauc", ("body", "wing")), np.zeros((1, 1, 1)))
    assert alone["probability_wing"] == pytest.approx([0.5])
    assert both["probability_a_yes"] == pytest.approx([1 / (1 + np.exp(-3))])


def test_intervals_are_the_run_s_own_or_calibrated_on_given_rows(run, table, tmp_path):
    frame = predict(run, str(table), interval=0.5)
    names = list(frame.columns)
    assert names[-4:] == ["prediction_2", "lower", "upper", "error"]
    errors = json.loads((run / "residuals.json").read_text())["errors"]["solubility"]
    width = errors[math.ceil((len(errors) + 1) / 2) - 1]
    np.testing.assert_allclose(
        (frame["upper"] - frame["prediction_2"]).dropna(), width, rtol=1e-3, atol=1e-5
    )
    own = predict(run, str(table), interval=0.5, calibrate=str(table))
    known = (own["error"] == "") & (own["solubility"] != "")
    told = evaluate(run, str(table), interval=0.5, calibrate=str(table))["interval"]
    own = own[known]
    inside = pd.to_numeric(own["solubility"]).between(own["lower"], own["upper"])
    assert told["coverage"]["solubility"] == pytest.approx(inside.mean())
    assert told["coverage"]["solubility"] >= 0.5
    with pytest.raises(ValueError, match="needs at least 99"):
        predict(run, str(table), interval=0.99)
    with pytest.raises(ValueError, match="only with the level"):
        predict(run, str(table), calibrate=str(table))
    with pytest.raises(ValueError, match="lacks the targets"):
        predict(run, str(table), interval=0.5, calibrate=pd.DataFrame({"smiles": ["C"]}))


def test_frames_come_back_in_the_library_they_came_from(run):
    polars = pytest.importorskip("polars")
    columns = {"smiles": ["CCO", "bad", "C"], "when": [1, None, 3]}
    pandas = pd.DataFrame(columns, index=["a", "b", "b"])
    frame = predict(run, pandas)
    assert list(pandas.columns) == ["smiles", "when"]
    assert frame.index.tolist() == ["a", "b", "b"]
    pd.testing.assert_frame_equal(frame[["smiles", "when"]], pandas)
    other = predict(run, polars.DataFrame(columns))
    assert isinstance(other, polars.DataFrame)
    assert other.columns == ["smiles", "when", "prediction", "error"]
    assert other["when"].to_list() == columns["when"]
    assert other["prediction"].to_list()[1] is None
    np.testing.assert_array_equal(other["prediction"].to_numpy(), frame["prediction"])
    kept = predict(run, polars.DataFrame(columns), on_error="skip")
    assert kept["smiles"].to_list() == ["CCO", "C"]
    arrow = predict(run, polars.DataFrame(columns).to_arrow(), on_error="skip")
    assert arrow["smiles"].tolist() == ["CCO", "C"]
    with pytest.raises(RowError, match=r"row 1 .*'bad'") as stopped:
        predict(run, pandas, on_error="fail")
    assert stopped.value.row == 1


def test_another_smiles_column_can_be_named(run):
    frame = pd.DataFrame({"smiles": ["C", "C"], "drug": ["CCO", "CCN"]})
    values = predict(run, frame, smiles_column="drug")["prediction"]
    expected = predict(run, pd.DataFrame({"smiles": ["CCO", "CCN"]}))["prediction"]
    np.testing.assert_array_equal(values, expected)


@given(st.sampled_from(MOLECULES) | random_smiles(), st.integers(0, 10_000), st.booleans())
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
def test_the_order_of_the_atoms_changes_nothing(any_run, smiles, seed, kekule):
    molecule = Chem.MolFromSmiles(smiles)
    if kekule:
        Chem.Kekulize(molecule, clearAromaticFlags=True)
    order = np.random.default_rng(seed).permutation(molecule.GetNumAtoms()).tolist()
    written = Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)
    frame = predict(any_run, pd.DataFrame({"smiles": [smiles, written]}))
    assert frame["prediction"][1] == pytest.approx(frame["prediction"][0], rel=2e-6, abs=1e-5)


def test_values_far_from_zero_keep_what_tells_them_apart(tmp_path):
    write_molecules(tmp_path / "near.npz", np.arange(24.0))
    write_molecules(tmp_path / "far.npz", 1e8 + np.arange(24.0))
    told = {}
    for name in ("near", "far"):
        config = RunConfig(
            data=DataConfig(source=str(tmp_path / f"{name}.npz"), encodings="rwpe:4"),
            model=ArchitectureConfig(width=16, layers=1, heads=2),
            training=TrainingConfig(epochs=3, device="cpu"),
        )
        train(config, tmp_path / name)
        kept = pd.read_csv(tmp_path / name / "predictions.csv")
        table = pd.DataFrame({"smiles": MOLECULES})
        told[name] = (
            predict(tmp_path / name, table)["prediction"].to_numpy(np.float64),
            kept["truth"].to_numpy(),
            kept["prediction"].to_numpy(),
            json.loads((tmp_path / name / "summary.json").read_text())["scores"]["last"]["val"],
            evaluate(tmp_path / name, tmp_path / f"{name}.npz")["scores"]["mae"],
        )
    for near, far in zip(told["near"][:3], told["far"][:3], strict=True):
        np.testing.assert_allclose(far - 1e8, near, atol=1e-4)
        assert len(np.unique(np.round(far, 4))) > len(far) / 2
    assert told["far"][3]["mae"] == pytest.approx(told["near"][3]["mae"], rel=1e-4)
    assert told["far"][4] == pytest.approx(told["near"][4], rel=1e-4)
