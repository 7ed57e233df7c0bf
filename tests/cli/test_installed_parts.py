"""Parts in a distribution that is installed, by their names in commands."""

import pytest

import cellformer as cf
from cellformer.basics.parts import trust
from cellformer.cli.main import main
from own_parts import check_kept, write_atoms
from tiny import SMILES


@pytest.fixture
def source(tmp_path):
    return str(write_atoms(tmp_path / "atoms.list"))


@pytest.fixture
def options(installed_parts):
    """What `with_installed` says, but for attention and encodings, as options."""
    parts = {"--data.reader": "read(scale=2.0)", "--data.lifting": "SmallRings(longest=6)",
             "--model.readout": "Largest(scale=2.0)"}  # fmt: skip
    named = [
        word for option, part in parts.items() for word in (option, f"{installed_parts}:{part}")
    ]
    return [*named, "--model.width", "8", "--model.heads", "2", "--model.layers", "1"]


def test_they_train_resume_and_predict(
    source, options, installed_parts, tmp_path, capsys, monkeypatch
):
    whole, run = tmp_path / "whole", tmp_path / "run"
    named = ["--attention", f"{installed_parts}:Twice(max_rank=2)", "--data.encodings",
             f"{installed_parts}:Degrees(size=2)+rwpe:2", "--training.epochs", "2"]  # fmt: skip
    assert main(["train", source, "-o", str(whole), *options, *named]) == 0
    check_kept(whole)
    cf.train(cf.RunConfig.from_json(whole / "config.json"), run, stop_after=1)
    (run / "summary.json").unlink()
    monkeypatch.setattr(trust, "_allowed", {})
    assert main(["train", "--resume", str(run)]) == 1
    assert f"add --import {installed_parts}" in capsys.readouterr().err
    assert main(["train", "--resume", str(run), "--import", installed_parts]) == 0
    assert (run / "last.safetensors").read_bytes() == (whole / "last.safetensors").read_bytes()
    capsys.readouterr()
    assert main(["predict", str(run), source, "--import", installed_parts]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SMILES) + 1


def test_the_grid_is_trained_with_them(source, options, installed_parts, tmp_path, capsys):
    words = ["reproduce", "--datasets", source, "-o", str(tmp_path / "results"), *options,
             "--attentions", f"{installed_parts}:Twice(max_rank=2)", "--encodings",
             f"{installed_parts}:Degrees(size=2)", "--epochs", "1"]  # fmt: skip
    assert main(words) == 0
    told = capsys.readouterr().out
    row = f"| {installed_parts}:Twice(max_rank=2) | {installed_parts}:Degrees(size=2) |"
    assert row in told
    (run,) = (tmp_path / "results").glob("*/*/*Degrees*/seed-0")
    check_kept(run)
