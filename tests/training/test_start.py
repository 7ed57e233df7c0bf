import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

import cellformer as cf
from cellformer.cli.main import main
from cellformer.cli.preset import defaults_in
from cellformer.experiments.presets import PRESETS, flatten
from cellformer.training.loop.thawing import parameter_groups
from tiny import SMILES, tiny_run, with_training


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run on many molecules, and a table of a few with fewer elements and another target."""
    path = tmp_path_factory.mktemp("start")
    pd.DataFrame({"smiles": SMILES, "y": np.arange(24.0)}).to_csv(path / "many.csv", index=False)
    few = pd.DataFrame({"smiles": [s for s in SMILES if set(s) <= set("CO=()c1N2#")]})
    few.assign(u=few.smiles.str.len(), v=-few.index.astype(float)).to_csv(
        path / "few.csv", index=False
    )
    config = tiny_run(path / "many.csv", target=("y",), molecule_descriptors="none")
    cf.train(replace(config, model=replace(config.model, layers=2)), path / "many")
    return path


@pytest.fixture(scope="module")
def few(folder):
    def config(**training):
        base = tiny_run(folder / "few.csv", target=("u", "v"), molecule_descriptors="none")
        base = replace(base, model=replace(base.model, layers=2))
        return with_training(base, start_from=str(folder / "many"), **training)

    return config


def weights(run):
    return load_file(run / "last.safetensors")


def test_what_fits_is_taken_and_categories_keep_their_meaning(folder, few, tmp_path, caplog):
    config = few(max_steps=1)
    config = replace(config, optimizer=replace(config.optimizer, peak_rate=1e-12))
    with caplog.at_level("INFO"):
        cf.train(config, tmp_path / "run")
    assert f"begins with the weights of {folder / 'many'}" in caplog.text
    assert "not taken: readout.network.6.weight, which has the shape (1, 4) there" in caplog.text
    theirs, ours = weights(folder / "many"), weights(tmp_path / "run")
    best = load_file(folder / "many" / "best.safetensors")
    same = [name for name in ours if name.startswith("layers.")]
    assert len(same) > 20
    for name in same:
        torch.testing.assert_close(ours[name], best[name], rtol=0, atol=1e-9)
    table = "embedding.features.0.table.weight"
    assert ours[table].shape != theirs[table].shape
    old, new = cf.load(folder / "many"), cf.load(tmp_path / "run", weights="last")
    for text in ("CC(=O)N", "c1ccncc1"):
        batch = cf.collate([old.preparation.one(text)])
        with torch.no_grad():
            left, right = (run.model.eval().embedded(batch) for run in (old, new))
        for a, b in zip(left, right, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_weights_that_never_thaw_stay_and_the_readout_learns(folder, few, tmp_path):
    cf.train(few(thaw="never", epochs=1), tmp_path / "run")
    ours, best = weights(tmp_path / "run"), load_file(folder / "many" / "best.safetensors")
    body = [name for name in ours if name.startswith("layers.")]
    assert all(torch.equal(ours[name], best[name]) for name in body)
    first = "readout.network.0.weight"
    assert not torch.equal(ours[first], best[first])


def test_a_start_is_kept_in_the_folder_and_resuming_gives_the_same_bits(folder, few, tmp_path):
    own = tmp_path / "source"
    shutil.copytree(folder / "many", own)
    config = with_training(few(thaw="gradual", start_rate=0.5), start_from=str(own), epochs=3)
    cf.train(config, tmp_path / "whole")
    cf.train(config, tmp_path / "stopped", stop_after=1)
    (tmp_path / "stopped" / "summary.json").unlink()
    shutil.rmtree(own)
    cf.resume(tmp_path / "stopped")
    left, right = (weights(tmp_path / name) for name in ("whole", "stopped"))
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_the_last_layer_learns_first_and_all_after_half_of_the_steps(folder):
    model = cf.load(folder / "many").model
    taken = [name for name, _ in model.named_parameters() if not name.startswith("embedding.pos")]
    groups = parameter_groups(model, taken, "gradual", 0.1)
    counted = sum(len(group.parameters) for group in groups)
    assert counted == len([*model.parameters()])
    assert [group.begin for group in groups] == pytest.approx([0, 1 / 6, 1 / 3, 1 / 2])
    readout = {id(each) for each in model.readout.parameters()}
    assert readout < {id(each) for each in groups[0].parameters}
    last = {id(each) for each in model.layers[1].parameters()}
    assert last == {id(each) for each in groups[1].parameters}
    assert [group.factor(33, 100) for group in groups] == [1, 0.1, 0, 0]
    assert [group.factor(50, 100) for group in groups] == [1, 0.1, 0.1, 0.1]
    assert len(parameter_groups(model, (), "at-once", 1.0)) == 1


def test_what_cannot_be_begun_with_is_told(folder, few, tmp_path):
    wider = replace(few(), model=replace(few().model, width=32))
    with pytest.raises(ValueError, match=r"no layer of .*many fits this model"):
        cf.train(wider, tmp_path / "run")
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        cf.train(with_training(few(), start_from=str(tmp_path)), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    for wrong in ({"start_rate": 0.1}, {"thaw": "never"}):
        with pytest.raises(ValueError, match=r"of no use without training\.start_from"):
            cf.TrainingConfig(**wrong)
    with pytest.raises(ValueError, match=r"start_rate is of no use with training\.thaw=never"):
        cf.TrainingConfig(start_from="run", start_rate=0.1, thaw="never")


@pytest.mark.parametrize(
    "words", [["--from", "RUN"], ["--from=RUN"], ["--training.start_from", "RUN"]]
)
def test_the_command_line_takes_what_the_weights_need_from_their_run(folder, words):
    run = folder / "many"
    found = defaults_in(["train", *[word.replace("RUN", str(run)) for word in words]])
    usual = flatten(PRESETS["default"])
    assert (found["model.width"], found["model.layers"], found["data.encodings"]) == (
        16,
        2,
        "rwpe:4",
    )
    assert found["data.source"] == usual["data.source"]
    assert found["training.epochs"] == usual["training.epochs"]


def test_the_command_begins_with_a_run(folder, tmp_path, caplog, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["train", str(folder / "few.csv"), "--target", "u", "--training.max_steps", "1"]
    with caplog.at_level("INFO"):
        assert main([*words, "--from", str(folder / "many" / "last.safetensors"), "-o", "run"]) == 0
    assert cf.load("run").config.model.width == 16
    assert "many/last.safetensors: " in caplog.text
