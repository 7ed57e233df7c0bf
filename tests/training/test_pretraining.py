"""From a pretraining on the command line to a training that begins with it."""

import json

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file

import cellformer as cf
from cellformer.basics.sealed import sha256_of
from cellformer.cli.main import main
from cellformer.experiments.presets import PRETRAINING, override
from cellformer.training.config import DataConfig
from cellformer.training.materials.materials import gather
from tiny import SMILES

SMALL = ["--model.width", "16", "--model.layers", "1", "--model.heads", "2", "--epochs", "2"]
JUDGED = ("[Na+].CCO", "OC(=O)C", "c1ccccc1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pretraining")
    pd.DataFrame({"smiles": SMILES, "y": range(24)}).to_csv(path / "many.csv", index=False)
    more = [f"{'C' * n}N" for n in range(2, 12)]
    (path / "more.smi").write_text("\n".join([*more, "CO", "nonsense"]))
    pd.DataFrame({"smiles": JUDGED, "z": range(3)}).to_csv(path / "judged.csv", sep=";")
    few = pd.DataFrame({"smiles": SMILES[:12], "u": np.arange(12.0)})
    few.to_csv(path / "few.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        words = ["many.csv", "more.smi", "--leave-out", "judged.csv", "--batch-size", "8"]
        assert main(["pretrain", *words, "-o", "base", *SMALL]) == 0
        yield path


def test_what_is_computed_of_each_row_is_not_written_again(folder):
    names = {file.name for file in (folder / "base").iterdir()}
    assert {"summary.json", "report.html", "curve.csv"} <= names
    assert names.isdisjoint({"predictions.csv", "residuals.json"})
    assert "predictions.csv has" not in (folder / "base" / "report.html").read_text("utf-8")


def test_judged_molecules_are_in_no_part(folder):
    rows = pd.read_csv(folder / "base" / "split.csv")
    learned = [*SMILES, *(f"{'C' * n}N" for n in range(2, 12)), "CO"]
    out = {learned.index(text) for text in ("CCO", "CC(=O)O", "c1ccccc1")} | {34}
    assert set(rows["row"]) == set(range(35)) - out
    summary = json.loads((folder / "base" / "summary.json").read_text())
    assert summary["rows_left_out"] == len(out)
    assert summary["rows_without_complex"] == 1
    assert "rows left out" in (folder / "base" / "report.html").read_text()


def test_the_curve_tells_what_is_learned_beside_targets(folder):
    curve = pd.read_csv(folder / "base" / "curve.csv")
    assert np.isfinite(curve[["val_masked", "val_pairs", "val_mae"]]).all(axis=None)
    assert len(json.loads((folder / "base" / "model.json").read_text())["task"]["targets"]) > 100


def test_a_training_begins_with_it(folder, monkeypatch, caplog):
    monkeypatch.chdir(folder)
    with caplog.at_level("INFO"):
        words = ["few.csv", "--target", "u", "--from", "base", "--epochs", "1", "-o", "run"]
        assert main(["train", *words, "--data.molecule_descriptors", "none"]) == 0
    assert "begins with the weights of base" in caplog.text
    shapes = [cf.load(run).config.model for run in ("base", "run")]
    assert [shape.width for shape in shapes] == [16, 16]
    assert [shape.readout_layers for shape in shapes] == [0, cf.RunConfig().model.readout_layers]
    ours = load_file("run/best.safetensors")
    assert len(ours["embedding.positions.0.linear.bias"]) == 16
    assert len(np.asarray(cf.embed("base", ["CCO", "CCN"]))[0]) == 16


def test_what_was_interrupted_ends_where_the_rest_does(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    config = cf.load("base").config
    cf.train(config, tmp_path / "halves", stop_after=1)
    (tmp_path / "halves" / "summary.json").unlink()  # as an interruption leaves it
    assert main(["pretrain", "--resume", str(tmp_path / "halves")]) == 0
    for name in ("best.safetensors", "last.safetensors"):
        left, right = (run / name for run in (folder / "base", tmp_path / "halves"))
        assert sha256_of(left) == sha256_of(right)
    assert main(["pretrain", "many.csv", "more.smi", "--leave-out", "judged.csv", "-o", "base",
                 "--resume", "auto", "--batch-size", "8", *SMALL]) == 0  # fmt: skip


def test_objectives_leave_the_weights_that_a_model_begins_with_as_they_are(folder, tmp_path):
    data = {"data.source": str(folder / "few.csv"), "data.target": ("u",),
            "data.molecule_descriptors": "none", "training.max_steps": 1,
            "optimizer.peak_rate": 1e-12, "model.layers": 1, "model.width": 16}  # fmt: skip
    plain = override(cf.RunConfig(), data)
    for name, objectives in (("with", {"objectives.pairs": 1.0}), ("without", {})):
        cf.train(override(plain, objectives), tmp_path / name)
    left, right = (load_file(tmp_path / name / "last.safetensors") for name in ("with", "without"))
    for name, tensor in left.items():
        np.testing.assert_allclose(tensor, right[name], rtol=0, atol=1e-9)


def test_graphs_without_features_learn_from_pairs_and_sizes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    graphs = [cf.Graph.from_edges([(i, (i + 1) % n) for i in range(n)]) for n in range(3, 23)]
    cf.write_npz("rings.npz", graphs, [float(n) for n in range(20)])
    words = ["pretrain", "rings.npz", "-o", "run", *SMALL]
    assert main(words) == 1
    assert "objectives.masked hides the features of cells" in capsys.readouterr().err
    assert main([*words, "--objectives.masked", "0"]) == 0
    assert "val_pairs" in (tmp_path / "run" / "curve.csv").read_text()


def test_rows_of_further_sources_train_beside_the_split_of_the_first(folder, tmp_path):
    frame = pd.DataFrame({"smiles": SMILES[:9], "u": np.arange(9.0)})
    frame["split"] = ["train"] * 5 + ["val"] * 2 + ["test"] * 2
    frame.to_csv(tmp_path / "split.csv", index=False)
    config = DataConfig(
        source=str(tmp_path / "split.csv"), target=("u",), more_sources=(str(folder / "few.csv"),)
    )
    materials = gather(config)
    rows = {part: materials.rows[chosen].tolist() for part, chosen in materials.split.items()}
    assert rows == {"train": [*range(5), *range(9, 21)], "val": [5, 6], "test": [7, 8]}
    assert len(materials.leaks) == 4
    kept = gather(DataConfig(
        source=config.source, target=("u",), more_sources=config.more_sources,
        leave_out=(str(folder / "judged.csv"),),
    ))  # fmt: skip
    left = {SMILES.index(text) for text in ("CCO", "c1ccccc1")}
    assert kept.left_out == len(left) * 2
    assert set(kept.rows[kept.split["train"]]) == {
        row for row in rows["train"] if row % 9 not in left or (row > 17 and row - 9 not in left)
    }


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"target": ("y",)}, "data.target is of no use with data.computed_targets"),
        ({"kind": "binary"}, "data.kind is of no use with data.computed_targets"),
        ({"computed_targets": False, "computed_fragments": 8}, "fragments are of no use without"),
        ({"computed_fragments": -1}, "computed_fragments must be at least 0"),
        ({"molecule_descriptors": "morgan"}, "set data.molecule_descriptors to none"),
    ],
)
def test_what_does_not_go_with_computed_targets_is_refused(fields, told):
    with pytest.raises(ValueError, match=told):
        override(PRETRAINING, {f"data.{name}": value for name, value in fields.items()})


def test_sources_of_two_kinds_are_refused(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    cf.write_npz("pair.npz", [cf.Graph.from_edges([(0, 1)])] * 4, [0.0, 1.0, 2.0, 3.0])
    assert main(["pretrain", "many.csv", "pair.npz", "-o", "no"]) == 1
    assert "many.csv and pair.npz are of two kinds" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["a.csv", "--resume", "base"]])
def test_either_sources_or_a_run(words, capsys):
    assert main(["pretrain", *words]) == 1
    assert "give either sources to learn from" in capsys.readouterr().err
