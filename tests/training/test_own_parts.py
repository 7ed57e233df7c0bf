"""Parts of a user's own, from a module beside the data, through all that is done with a run."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import cellformer as cf
from cellformer.basics.parts import trust
from cellformer.basics.sealed import without_checksum
from cellformer.cli.main import main
from cellformer.data.preparation import Preparation
from cellformer.model.relations.diagram import Arrow
from own_parts import TEXT, write_atoms
from tiny import SMILES, with_training


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of this test's own, and a source that only its reader reads."""
    name = f"beside_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(TEXT)
    write_atoms(tmp_path / "atoms.list")
    monkeypatch.setattr(trust, "_allowed", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name
    sys.modules.pop(name, None)


def config_of(tiny, tmp_path, own, **data):
    chosen = {
        "source": str(tmp_path / "atoms.list"),
        "reader": f"{own}:read(scale=2.0)",
        "lifting": f"{own}:SmallRings(longest=6)",
        "encodings": f"{own}:Degrees(size=2)+rwpe:2",
        "metric": f"{own}:worst",
        **data,
    }
    config = with_training(tiny, epochs=2, loss=f"{own}:cubed(power=2.0)")
    return replace(
        config,
        data=replace(tiny.data, **chosen),
        attention=f"{own}:near",
        model=replace(tiny.model, readout=f"{own}:Largest(scale=2.0)"),
    )


def test_all_parts_train_resume_predict_and_evaluate(tiny, tmp_path, own, monkeypatch, caplog):
    config = config_of(tiny, tmp_path, own)
    with pytest.raises(cf.PartRefusedError, match=f"add --import {own}"):
        cf.train(config, tmp_path / "run")
    assert not (tmp_path / "run" / "config.json").exists()
    cf.allow_parts(str(tmp_path / f"{own}.py"))
    whole = cf.train(config, tmp_path / "whole")
    cf.train(config, tmp_path / "run", stop_after=1)
    (tmp_path / "run" / "summary.json").unlink()
    cf.resume(tmp_path / "run")
    for name in ("best.safetensors", "last.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert whole.metric == f"{own}:worst"
    scored = cf.evaluate(tmp_path / "run")["scores"]
    assert scored[f"{own}:worst"] >= scored["rmse"] >= scored["mae"] > 0
    kept = json.loads((tmp_path / "run" / "preparation.json").read_text())
    assert kept["lifting"] == {"part": f"{own}:SmallRings", "arguments": {"longest": 6}}
    assert len(kept["versions"][own]["sha256"]) == 64
    kept = json.loads((tmp_path / "run" / "model.json").read_text())
    assert kept["attention"]["kind"] == "pairwise"
    assert kept["attention"]["arrows"][-1]["neighborhood"]["part"] == f"{own}:share_an_edge"
    assert len(kept["versions"][own]["sha256"]) == 64
    told = cf.predict(tmp_path / "run", str(tmp_path / "atoms.list"))
    assert len(told) == len(SMILES)
    assert told["error"].eq("").all()
    with (tmp_path / f"{own}.py").open("a") as file:
        file.write("# another text\n")
    cf.predict(tmp_path / "run", ["CCO"])
    assert f"{own} has changed since" in caplog.text
    monkeypatch.setattr(trust, "_allowed", {})
    for refused in (cf.predict, cf.evaluate):
        with pytest.raises(cf.PartRefusedError, match=r"model.json: the part .*add --import"):
            refused(tmp_path / "run", str(tmp_path / "atoms.list"))
    with pytest.raises(cf.PartRefusedError):
        cf.resume(tmp_path / "run") if (tmp_path / "run" / "summary.json").unlink() is None else 0


def test_objects_are_parts_too(tiny, tmp_path, own):
    cf.allow_parts(str(tmp_path / f"{own}.py"))
    module = sys.modules[own]
    preparation = Preparation(lifting=module.SmallRings(6), encodings=(module.Degrees(2),))
    config = with_training(replace(tiny, data=cf.DataConfig(source=tiny.data.source)), epochs=1)
    cf.train(config, tmp_path / "objects", preparation=preparation)
    text = f"{own}:SmallRings(longest=6)"
    named = replace(config.data, lifting=text, encodings=f"{own}:Degrees(size=2)")
    cf.train(replace(config, data=named), tmp_path / "named")
    for name in ("last.safetensors", "preparation.json"):
        assert (tmp_path / "objects" / name).read_bytes() == (
            tmp_path / "named" / name
        ).read_bytes()
    with pytest.raises(ValueError, match=r"data.lifting is of no use beside a preparation"):
        cf.train(replace(config, data=named), tmp_path / "both", preparation=preparation)
    with pytest.raises(ValueError, match="at the top of a module"):
        cf.train(config, tmp_path / "lambda", preparation=Preparation(lifting=lambda graph: graph))
    assert not (tmp_path / "lambda").exists()


def test_a_plan_of_one_s_own_is_that_of_the_run_by_name_and_as_an_object(
    tiny, tmp_path, own, monkeypatch
):
    cf.allow_parts(str(tmp_path / f"{own}.py"))
    config = with_training(tiny, epochs=1)
    cf.train(replace(config, attention=f"{own}:Twice"), tmp_path / "named")
    cf.train(config, tmp_path / "object", plan=sys.modules[own].Twice())
    once = replace(config, attention="general-sparse")
    cf.train(once, tmp_path / "once")
    weights = [(tmp_path / name / "last.safetensors").read_bytes()
               for name in ("named", "object", "once")]  # fmt: skip
    assert weights[0] == weights[1] != weights[2]
    model = json.loads((tmp_path / "object" / "model.json").read_text())
    assert model["attention"] == {"part": f"{own}:Twice", "arguments": {"max_rank": 2}}
    assert model["versions"][own].keys() == {"sha256"}
    told = [cf.predict(tmp_path / n, tiny.data.source)["prediction"] for n in ("named", "object")]
    np.testing.assert_array_equal(*told)
    monkeypatch.setattr(trust, "_allowed", {})
    with pytest.raises(cf.PartRefusedError, match=rf"model.json: the part {own}:Twice is code"):
        cf.predict(tmp_path / "object", tiny.data.source)
    with pytest.raises(ValueError, match="is of no use beside a plan"):
        cf.train(replace(config, attention="pairwise-sparse"), tmp_path / "both",
                 plan=cf.general_sparse())  # fmt: skip
    loose = cf.Pairwise(cf.TensorDiagram((Arrow(0, 0, lambda cells: cells),)))
    with pytest.raises(ValueError, match="at the top of a module"):
        cf.train(config, tmp_path / "both", plan=loose)
    assert not (tmp_path / "both").exists()


def test_a_readout_is_refused_where_its_module_is_not_named(tiny, tmp_path, own, monkeypatch):
    config = with_training(tiny, epochs=1)
    config = replace(config, model=replace(tiny.model, readout=f"{own}:Largest"))
    with pytest.raises(cf.PartRefusedError, match=f"the readout {own}:Largest is code"):
        cf.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    cf.allow_parts(str(tmp_path / f"{own}.py"))
    cf.train(config, tmp_path / "run")
    assert len(cf.predict(tmp_path / "run", tiny.data.source)) == len(SMILES)
    model = json.loads((tmp_path / "run" / "model.json").read_text())
    assert len(model["versions"][own]["sha256"]) == 64
    monkeypatch.setattr(trust, "_allowed", {})
    with pytest.raises(cf.PartRefusedError, match=f"the readout {own}:Largest is code"):
        cf.predict(tmp_path / "run", tiny.data.source)


def test_a_plan_that_is_given_is_that_of_the_run(tiny, tmp_path):
    arrows = Arrow(0, 0, "up"), Arrow(1, 0, "incidence"), Arrow(2, 1, "incidence")
    plan = cf.Pairwise(cf.TensorDiagram(arrows))
    cf.train(with_training(tiny, epochs=1), tmp_path / "run", plan=plan)
    stored = json.loads((tmp_path / "run" / "model.json").read_text())["attention"]
    assert [arrow["sender"] for arrow in stored["arrows"]] == [0, 1, 2]
    assert len(cf.predict(tmp_path / "run", tiny.data.source)) == len(SMILES)


def test_the_command_line_names_parts_and_a_run_folder_does_not(tmp_path, own, capsys):
    """Trained in a process of its own, so that this one knows nothing of the module."""
    run, data = str(tmp_path / "run"), str(tmp_path / "atoms.list")
    file = str(tmp_path / f"{own}.py")

    words = [
        "train", data, "-o", run, "--data.reader", f"{file}:read",
        "--data.lifting", f"{file}:SmallRings(longest=6)", "--data.encodings", "rwpe:2",
        "--attention", f"{file}:near", "--model.readout", f"{file}:Largest(scale=2.0)",
        "--training.epochs", "1", "--model.width", "8", "--model.heads", "2", "--model.layers", "1",
        "--data.workers", "1",
    ]  # fmt: skip
    line = [sys.executable, "-m", "cellformer", *words]
    trained = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert main(["predict", run, "CCO"]) == 1
    refused = capsys.readouterr().err
    assert f"add --import {own}" in refused
    assert "Traceback" not in refused
    assert own not in sys.modules
    assert main(["predict", run, "CCO", "--import", file]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("smiles,prediction")


def test_a_hostile_run_folder_imports_nothing(tiny, tmp_path, capsys, monkeypatch):
    cf.train(with_training(tiny, epochs=1), tmp_path / "run")
    (tmp_path / "evil_parts.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "run"
    good = {name: (folder / name).read_text()
            for name in ("preparation.json", "config.json", "model.json")}  # fmt: skip
    for plan, readout in (("evil_parts:X", "network"), ("os:system", "network"),
                          (None, "evil_parts:X")):  # fmt: skip
        values = without_checksum(json.loads(good["model.json"]))
        if plan is not None:
            values["attention"] = {"part": plan, "arguments": {"command": "touch ran"}}
        values["model"]["architecture"]["readout"] = readout
        (folder / "model.json").write_text(json.dumps(values))
        for command in (["predict", str(folder), "CCO"], ["evaluate", str(folder)]):
            assert main(command) == 1
            error = capsys.readouterr().err
            assert "which is imported only if you name it" in error
            assert "Traceback" not in error
    (folder / "model.json").write_text(good["model.json"])
    for part in ("evil_parts:X", "os:system", "cellformer.basics.files:replace_atomically"):
        values = without_checksum(json.loads(good["preparation.json"]))
        values["lifting"] = {"part": part, "arguments": {"command": "touch ran"}}
        (folder / "preparation.json").write_text(json.dumps(values))
        for command in (["predict", str(folder), "CCO"], ["evaluate", str(folder)],
                        ["draw", "CCO", "--run", str(folder), "-o", str(tmp_path / "x.png")],
                        ["report", str(folder)], ["train", "--resume", str(folder)]):  # fmt: skip
            if command[0] == "train":
                (folder / "summary.json").rename(folder / "hidden")
            assert main(command) == 1
            if command[0] == "train":
                (folder / "hidden").rename(folder / "summary.json")
            error = capsys.readouterr().err
            assert "preparation.json" in error
            assert "Traceback" not in error
    (folder / "preparation.json").unlink()
    values = without_checksum(json.loads(good["config.json"]))
    values["data"]["lifting"] = "evil_parts:X"
    (folder / "config.json").write_text(json.dumps(values))
    assert main(["predict", str(folder), "CCO"]) == 1
    assert "add --import evil_parts" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
    assert "evil_parts" not in sys.modules


def test_a_configuration_file_imports_nothing(tmp_path, capsys, tiny, monkeypatch):
    monkeypatch.setattr(trust, "_allowed", {})
    file = tmp_path / "theirs.yaml"
    file.write_text("data: {lifting: 'json.tool:main'}\n")
    assert main(["train", tiny.data.source, "--config", str(file), "-o", str(tmp_path / "r")]) == 1
    assert "add --import json.tool" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_runs_of_before_have_the_preparation_of_their_configuration(tiny, tmp_path):
    cf.train(with_training(tiny, epochs=1), tmp_path / "run")
    before = cf.predict(tmp_path / "run", tiny.data.source)["prediction"]
    (tmp_path / "run" / "preparation.json").unlink()
    values = without_checksum(json.loads((tmp_path / "run" / "config.json").read_text()))
    del values["data"]["reader"]
    old = {"max_dim": 2, "neighbors": 6, "encoding_size": 8, "split_seed": 0,
           "fractions": [0.8, 0.1, 0.1]}  # fmt: skip
    values["data"] |= old | {"split": "auto"}
    (tmp_path / "run" / "config.json").write_text(json.dumps(values))
    after = cf.predict(tmp_path / "run", tiny.data.source)["prediction"]
    np.testing.assert_array_equal(before, after)
