"""Files that predict without this package."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import cellformer as cf
from cellformer.cli.main import main
from cellformer.complexes.batches.runs import exporting
from cellformer.exporting import export
from cellformer.exporting.checking import deviation_of_program
from cellformer.exporting.export import check_ending, description_of
from cellformer.exporting.program import Program
from cellformer.training.answers.ensemble import Ensemble
from tiny import SMILES, tiny_run, with_training

BLOCKED = "import sys\nsys.modules['cellformer'] = None  # cannot be imported\n"
PAGE = Path(__file__).parents[2] / "docs/exporting.md"
DOCUMENTED = re.search("```py\n(import numpy.*?)```", PAGE.read_text(), re.DOTALL)[1]
"""Not among the blocks that `test_pages` runs: here another process runs it."""
ALL_SIZES = Path(__file__).with_name("all_sizes.py")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "molecules.csv"
    pd.DataFrame(
        {
            "smiles": SMILES,
            "y": [3 + len(text) / 7 for text in SMILES],
            "z": [(number * 7) % 5 for number in range(len(SMILES))],
            "yes": [("no", "yes")[number % 2] for number in range(len(SMILES))],
            "kind": [("red", "green", "blue")[number % 3] for number in range(len(SMILES))],
        }
    ).to_csv(path, index=False)
    return path


def run_of(table, folder, members=1, loss=None, attention="general-sparse", **data):
    config = replace(tiny_run(table, **data), attention=attention)
    if loss is not None:
        config = with_training(config, loss=loss)
    if members > 1:
        cf.train_ensemble(config, folder, members)
    else:
        cf.train(config, folder)
    return folder


@pytest.fixture(scope="module")
def run(table, tmp_path_factory):
    """With what is the default: descriptors and kernels beside the cells."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return run_of(table, folder, target=("y",), molecule_descriptors="fingerprints")


def test_a_process_without_the_package_says_what_predict_says(run, tmp_path):
    (tmp_path / "runs").mkdir()
    # In a process without the checks of signatures, which would be traced too.
    told = subprocess.run([sys.executable, "-m", "cellformer", "export", str(run), "-o",
                           str(tmp_path / "runs/small.pt2")], check=True, timeout=300,
                          capture_output=True, text=True)  # fmt: skip
    assert "on 24 rows it differs from the run by" in told.stdout
    asked = ["CCCCO", "no molecule", "[He]", "c1ccc2[nH]ccc2c1", "C"]
    written = cf.export_batch(run, asked, tmp_path / "asked.npz")
    assert written.rows.tolist() == [0, 2, 3, 4]
    assert list(written.reasons) == [1]
    told = subprocess.run([sys.executable, "-c", BLOCKED + DOCUMENTED], check=True, cwd=tmp_path,
                          timeout=200, capture_output=True, text=True)  # fmt: skip
    found = [line.split() for line in told.stdout.splitlines()]
    assert [int(row) for row, _ in found] == [0, 2, 3, 4]
    expected = cf.predict(run, asked)["prediction"].to_numpy()[[0, 2, 3, 4]]
    np.testing.assert_allclose([float(value) for _, value in found], expected, rtol=1e-5)


@pytest.mark.parametrize("form", ["torch", "onnx"])
def test_what_is_traced_once_serves_all_sizes(form):
    if form == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    told = subprocess.run([sys.executable, str(ALL_SIZES), form], check=False, timeout=300,
                          capture_output=True, text=True)  # fmt: skip
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ({"target": ("y", "z")}, {}),
        ({"target": ("yes",), "kind": "binary"}, {"members": 2}),
        ({"target": ("kind",), "kind": "multiclass"}, {}),
        ({"target": ("y",)}, {"loss": "gaussian", "members": 2}),
        ({"target": ("y",), "molecule_descriptors": "fingerprints"}, {"loss": "quantile"}),
        ({"target": ("y", "z"), "molecule_descriptors": "fingerprints"}, {"loss": "gaussian"}),
        ({"target": ("y",), "descriptors": ("z",)}, {"attention": "pairwise-dense"}),
    ],
    ids=str,
)
def test_a_program_says_what_predict_says_of_every_kind_of_run(data, options, table, tmp_path):
    ensemble = Ensemble.open(run_of(table, tmp_path / "run", **options, **data)).by("cpu")
    for each in ensemble.runs:
        each.predictor.eval()
    program = Program.of(ensemble.runs)
    for model in program.members:
        if (kernels := getattr(model, "counts", None)) is not None:
            kernels.pack()

    def answer(batch):
        with torch.no_grad(), exporting():
            return program(batch)

    opened = ensemble.runs[0].preparation.open_new(table, ensemble.task, False, None)
    complexes = ensemble.runs[0].prepare(opened).complexes
    found = deviation_of_program(ensemble, program, answer, complexes)
    assert found.largest <= 1e-5
    told = answer(program.inputs.tensors(cf.collate([complexes[0], complexes[4]])))
    assert tuple(told) == program.outputs
    columns = cf.predict(tmp_path / "run", table)
    names = [
        name
        for name in columns
        if name.startswith("probability" if "kind" in data else "prediction")
    ]
    expected = columns[names].to_numpy(float)[[0, 4]]
    np.testing.assert_allclose(told["prediction"].numpy(), expected, atol=1e-4)
    assert ("uncertainty" in told) == any(name.startswith("uncertainty") for name in columns)
    # What differs is found out.
    with torch.no_grad():
        next(program.members[0].parameters()).add_(0.1)
        for buffer in program.members[0].buffers():
            if buffer.is_floating_point():
                buffer.add_(0.1)
    other = Ensemble.open(tmp_path / "run").by("cpu")
    assert deviation_of_program(other, program, answer, complexes).largest > 1e-5


def test_a_file_that_would_deviate_is_not_written(run, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "traced_of", lambda program, folder: None)
    monkeypatch.setattr(
        export,
        "_as_torch",
        lambda *_: (
            b"",
            lambda batch: {"prediction": torch.full((len(batch["offsets_0"]) - 1, 1), 9.0)},
        ),
    )
    with pytest.raises(ValueError, match="is not written: on 24 rows it would differ"):
        cf.export(run, tmp_path / "model.pt2")
    assert not list(tmp_path.iterdir())


def test_a_program_describes_itself(run):
    ensemble = Ensemble.open(run).by("cpu")
    told = json.loads(json.dumps(description_of(ensemble, Program.of(ensemble.runs))))
    assert told["task"]["targets"] == ["y"]
    assert told["inputs"]["offsets_0"] == {"dtype": "int64", "shape": ["complexes + 1"]}
    assert told["inputs"]["descriptors"]["shape"][0] == "complexes"
    assert told["preparation"]["molecule_descriptors"] == "fingerprints"
    assert len(told["weights"]) == 64


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "model.pth"), "does not end in .pt2"),
        (("-o", "-"), "cannot be standard output"),
        (("-o", "nowhere/model.pt2"), "there is no folder nowhere"),
        (("--batch", "CCO", "-o", "batch.npy"), "does not end in .npz"),
        (("--batch", "CCO", "--check", "CCO", "-o", "batch.npz"), "of no use with --batch"),
        (("--batch", "C1CC", "-o", "batch.npz"), "C1CC"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    words, message, run, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(run), *words]) in (1, 2)
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_onnx_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("cellformer.exporting.export.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install 'cellformer\\[onnx\\]'"):
        check_ending(Path("model.onnx"))
