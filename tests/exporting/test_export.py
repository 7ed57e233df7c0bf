"""Files that predict without this package."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import cellformer as cf
from cellformer.complexes.batches.runs import leaving
from cellformer.exporting.checking import deviation_of_program
from cellformer.exporting.export import check_ending, description_of
from cellformer.exporting.program import Program
from cellformer.training.answers.ensemble import Ensemble
from tiny import SMILES, tiny_run, with_training

ALONE = """
import sys
sys.modules["cellformer"] = None  # cannot be imported
import numpy as np, torch
program = torch.export.load(sys.argv[1]).module()
batch = dict(np.load(sys.argv[2]))
rows = batch.pop("row")
told = program({name: torch.from_numpy(array) for name, array in batch.items()})
np.savez(sys.argv[3], row=rows, **{name: rows.numpy() for name, rows in told.items()})
"""
ONNX_ALONE = """
import sys
sys.modules["cellformer"] = sys.modules["torch"] = None
import numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[1], options)
batch = dict(np.load(sys.argv[2]))
rows = batch.pop("row")
names = [output.name for output in session.get_outputs()]
np.savez(sys.argv[3], row=rows, **dict(zip(names, session.run(names, batch))))
"""


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


def answered_alone(script, model, batch, folder):
    """What a process says that cannot import this package."""
    told = folder / "told.npz"
    subprocess.run([sys.executable, "-c", script, str(model), str(batch), str(told)], check=True,
                   timeout=200)  # fmt: skip
    with np.load(told) as arrays:
        return dict(arrays)


def cellformer(*words, **options):
    return subprocess.run([sys.executable, "-m", "cellformer", *map(str, words)], timeout=280,
                          capture_output=True, text=True, **options)  # fmt: skip


def test_a_process_without_the_package_says_what_predict_says(run, tmp_path):
    model, batch = tmp_path / "model.pt2", tmp_path / "batch.npz"
    said = cellformer("export", run, "-o", model)
    assert said.returncode == 0, said.stderr
    assert "on 24 rows it differs from the run by" in said.stdout
    asked = ["CCCCO", "no molecule", "[He]", "c1ccc2[nH]ccc2c1", "C"]
    said = cellformer("export", run, "--batch", *asked[:1], *asked[2:], "-o", batch)
    assert said.returncode == 0, said.stderr
    written = cf.export_batch(run, asked, batch)
    assert written.rows.tolist() == [0, 2, 3, 4]
    assert list(written.reasons) == [1]
    told = answered_alone(ALONE, model, batch, tmp_path)
    expected = cf.predict(run, asked)["prediction"].to_numpy()[told["row"]]
    np.testing.assert_allclose(told["prediction"][:, 0], expected, atol=1e-5)
    single = cf.export_batch(run, ["[He]"], batch)  # one vertex, and neither edges nor rings
    assert single.rows.tolist() == [0]
    told = answered_alone(ALONE, model, batch, tmp_path)
    np.testing.assert_allclose(told["prediction"][0, 0], expected[1], atol=1e-5)


FORMS = """
import sys
import numpy as np, torch
import cellformer as cf
from cellformer.complexes import examples
from cellformer.exporting import export
from cellformer.exporting.inputs import Inputs

torch.set_num_threads(1)
made = [
    cf.encode(each, cf.parse_encodings("hodgelap", 3))
    for each in (examples.house(), examples.path(4), examples.vertex(), examples.triangle())
]

class Only(torch.nn.Module):
    outputs = ("prediction",)

    def __init__(self, model):
        super().__init__()
        self.members, self.inputs = torch.nn.ModuleList([model]), Inputs(model)

    def forward(self, batch):
        return {"prediction": self.members[0](self.inputs.batch(batch))}

for name, options, onnx in (
    ("pairwise-mixed", {"norm": "batch", "degree_scaling": "log"}, False),
    ("general-dense", {"signed_width": 4, "readout_cells": "all"}, False),
    ("general-sparse", {"pair_width": 4}, "onnx" in sys.argv),
):
    torch.manual_seed(0)
    chosen = cf.ArchitectureConfig(width=8, layers=1, heads=2, **options)
    config = cf.ModelConfig.for_batch(cf.collate(made), chosen)
    model = cf.CellularTransformer(config, cf.attention_plan(name)).eval()
    program = Only(model)
    traced = export.traced_of(program, "a run")
    answers = [export._as_torch(traced, program, {}, "a run")[1]]
    if onnx:
        answers.append(export._as_onnx(traced, program, {}, "a run")[1])
    for numbers in ([0, 1, 2, 3], [1], [2], [2, 2], [0], [3, 2]):
        batch = [made[number] for number in numbers]
        with torch.no_grad():
            expected = model(cf.collate(batch))
        for answer in answers:
            found = answer(program.inputs.tensors(cf.collate(batch)))["prediction"]
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
"""


def test_what_is_traced_once_serves_all_sizes():
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError:
        word = "torch"
    else:
        word = "onnx"
    subprocess.run([sys.executable, "-c", FORMS, word], check=True, timeout=280)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ({"target": ("y", "z")}, {"members": 2}),
        ({"target": ("yes",), "kind": "binary"}, {"members": 2}),
        ({"target": ("kind",), "kind": "multiclass"}, {"members": 2}),
        ({"target": ("kind",), "kind": "multiclass"}, {}),
        ({"target": ("y",)}, {"loss": "gaussian", "members": 2}),
        ({"target": ("y",), "molecule_descriptors": "fingerprints"}, {"loss": "quantile"}),
        ({"target": ("y",), "columns": ("z",)}, {"attention": "pairwise-dense"}),
    ],
    ids=str,
)
def test_a_program_says_what_predict_says_of_every_kind_of_run(data, options, table, tmp_path):
    ensemble = Ensemble.open(run_of(table, tmp_path / "run", **options, **data)).by("cpu")
    for each in ensemble.runs:
        each.module.eval()
    program = Program(ensemble.runs)
    for model in program.members:
        if (kernels := getattr(model, "counts", None)) is not None:
            kernels.pack()

    def answer(batch):
        with torch.no_grad(), leaving():
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
    from cellformer.exporting import export

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
    told = json.loads(json.dumps(description_of(ensemble, Program(ensemble.runs))))
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
    from cellformer.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["export", str(run), *words]) in (1, 2)
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_onnx_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("cellformer.exporting.export.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install 'cellformer\\[onnx\\]'"):
        check_ending(Path("model.onnx"))
