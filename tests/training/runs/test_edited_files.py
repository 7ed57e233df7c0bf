import json
import shutil

import numpy as np
import pytest

from cellformer.basics.sealed import without_checksum
from cellformer.cli.main import main
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.train import train
from tiny import write_molecules


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    source = write_molecules(folder / "m.npz", np.arange(24.0))
    config = RunConfig(
        data=DataConfig(source=str(source), encodings="rwpe:2"),
        model=ArchitectureConfig(width=8, layers=1, heads=2),
        training=TrainingConfig(epochs=1, batch_size=8, device="cpu", keep_state=True),
    )
    train(config, folder / "run")
    return folder / "run"


@pytest.fixture
def run(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def edit(file, keys, value, checksum=False):
    """A file whose entry at some place has another value, as an editor saves it."""
    values = json.loads(file.read_text())
    inside = values
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = value
    file.write_text(json.dumps(values if checksum else without_checksum(values)))


def error_of(capsys, *command):
    """The line that a command ends with."""
    capsys.readouterr()
    assert main([str(word) for word in command]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "Traceback" not in lines
    return lines[-1]


@pytest.mark.parametrize(
    ("name", "keys", "value", "told"),
    [
        ("config.json", ["data", "encodings"], None, "data.encodings must not be null"),
        ("config.json", ["data", "lifting"], None, "data.lifting must not be null"),
        ("config.json", ["attention"], None, "attention must not be null"),
        ("config.json", ["training", "seed"], None, "training.seed must not be null"),
        ("config.json", ["data"], None, "data must be a mapping of fields"),
        ("config.json", ["model", "width"], "x", "model.width must be a whole number, got 'x'"),
        (
            "config.json",
            ["data", "radius"],
            [1],
            "data.radius must be a finite number or null, got [1]",
        ),
        ("model.json", ["task"], None, "not a model description (TypeError"),
        ("model.json", ["task", "targets"], [1], "task.targets must be names"),
        ("model.json", ["scaling", "mean"], ["x"], "mean[0] must be a finite number"),
        ("model.json", ["scaling", "mean"], [], "scaling is not of 1 targets"),
        ("model.json", ["model", "data", "outputs"], 7, "model has 7 outputs, task 1"),
        ("model.json", ["attention", "arrows"], 3, "not a model description"),
        ("model.json", ["attention", "arrows", 0, "dense"], {}, "dense of an arrow must be bool"),
        ("model.json", ["model", "data", "continuous", 1], 10**30, "no model can be built"),
        ("preparation.json", ["encodings"], None, "encodings"),
        ("preparation.json", ["format"], [], "format"),
    ],
)
def test_an_edit_to_nonsense_names_file_and_field(run, capsys, name, keys, value, told):
    edit(run / name, keys, value)
    line = error_of(capsys, "predict", run, "CCO")
    assert str(run / name) in line
    assert told in line


def test_an_edit_is_told_until_the_checksum_is_removed(run, capsys):
    edit(run / "config.json", ["training", "batch_size"], 3, checksum=True)
    told = f"{run / 'config.json'} is damaged, or was edited: its checksum differs"
    for command in (["predict", run, "CCO"], ["evaluate", run], ["report", run],
                    ["draw", "CCO", "--run", run, "-o", run / "x.png"],
                    ["train", "--resume", run]):  # fmt: skip
        line = error_of(capsys, *command)
        assert told in line
        assert 'remove its entry "checksum"' in line
    edit(run / "config.json", ["training", "batch_size"], 3)
    assert main(["predict", str(run), "CCO"]) == 0


def test_the_configuration_of_a_run_is_one_to_train_with(run, tmp_path, capsys):
    for checksum in (True, False):  # an edited copy too
        edit(run / "config.json", ["training", "epochs"], 2, checksum)
        folder = tmp_path / f"again-{checksum}"
        assert main(["train", "--config", str(run / "config.json"), "-o", str(folder)]) == 0
        assert len((folder / "curve.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("name", "text", "command", "told"),
    [
        ("residuals.json", "", "predict --interval 0.5", "cannot be read as JSON"),
        ("residuals.json", "{}", "predict --interval 0.5", "the field format is missing"),
        ("residuals.json", '{"format": 1, "source": "x", "errors": {}}',
         "predict --interval 0.5", "has errors of nothing, but the run predicts y"),
        ("residuals.json", '{"format": 1, "source": "x", "errors": {"y": [null]}}',
         "predict --interval 0.5", "errors.y[0] must be a finite number"),
        ("summary.json", "", "train", "delete it: cellformer train --resume"),
        ("summary.json", "[]", "report", "a summary is a mapping"),
        ("summary.json", "{}", "train", "field"),
        ("sessions.json", "3", "resume", "sessions.json holds no list of sessions; delete it"),
        ("sessions.json", "[3]", "resume", "sessions.json[0] must be a mapping of fields"),
        ("curve.csv", "", "report", "curve.csv is damaged, or was edited"),
        ("ensemble.json", "{}", "predict", "the field format is missing"),
        ("ensemble.json", '{"format": 1, "kind": "seeds", "members": ["../x"]}', "predict",
         "members are folders beside the file"),
        ("best.safetensors", "", "predict", "--weights last"),
        ("best.safetensors", "", "evaluate", "--weights last"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_by_whatever_reads_it(run, capsys, name, text, command, told):
    (run / name).write_text(text)
    if command == "resume":
        (run / "summary.json").unlink()
    first, *options = command.replace("resume", "train").split()
    place = ["--resume", run] if first == "train" else [run]
    source = ["CCO"] if first == "predict" else []
    line = error_of(capsys, first, *place, *source, *options)
    assert str(run / name) in line
    assert told in line


def test_a_result_that_was_deleted_is_written_anew(run, capsys):
    before = json.loads((run / "summary.json").read_text())
    for name in ("summary.json", "residuals.json", "predictions.csv"):
        (run / name).unlink()
    assert main(["train", "--resume", str(run)]) == 0
    after = json.loads((run / "summary.json").read_text())
    for name in ("scores", "best_epoch", "baseline", "seed", "data", "curve_sha256"):
        assert after[name] == before[name]


def test_files_of_earlier_versions_are_read(run, capsys):
    for file in run.glob("*.json"):
        values = without_checksum(json.loads(file.read_text()))
        values.pop("curve_sha256", None)
        if file.name == "model.json":
            del values["task"]["flips"]
        file.write_text(json.dumps(values["sessions"] if file.name == "sessions.json" else values))
    for command in (["predict", str(run), "CCO", "--interval", "0.2"], ["report", str(run)]):
        assert main(command) == 0
    (run / "summary.json").unlink()
    assert main(["train", "--resume", str(run)]) == 0
    assert len(json.loads((run / "summary.json").read_text())["sessions"]) == 2
