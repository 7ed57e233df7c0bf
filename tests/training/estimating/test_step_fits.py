"""What is said of a training that does not fit into memory, before it begins."""

import re
from pathlib import Path

import numpy as np
import pytest

from cellformer.cli.main import main
from cellformer.training.estimating import step_fits
from tiny import SMILES, write_molecules


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_molecules(tmp_path / "set.npz", np.arange(float(len(SMILES))))
    return ["train", "set.npz", "--epochs", "1", "--data.encodings", "rwpe:2", "--model.width",
            "64", "--model.heads", "2", "-o", "run", "--training.device", "cpu"]  # fmt: skip


def with_free(monkeypatch, gigabytes):
    monkeypatch.setattr(step_fits, "free_memory", lambda: 1e9 * gigabytes)


def test_what_cannot_fit_is_refused_with_a_way_out(words, monkeypatch, capsys):
    with_free(monkeypatch, 0.0016)
    assert main([*words, "--model.layers", "2"]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    found = re.search(
        r"training takes about 0\.0 GB of memory, .* parameters, and 0\.0 GB are free; "
        r"set training\.batch_size to (\d+), or choose a smaller model\.width",
        told,
    )
    assert 0 < int(found[1]) < 64
    assert not Path("run").exists()
    with_free(monkeypatch, 1e-4)  # not even the parameters
    assert main(words) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert "are free; choose a smaller model.width or fewer model.layers" in told


def test_what_may_not_fit_is_begun_with_a_warning(words, monkeypatch, capsys, caplog):
    monkeypatch.setattr(step_fits, "LEAST", 0.0)
    with_free(monkeypatch, 0.0016)
    assert main([*words, "--model.layers", "2"]) == 0
    assert "where memory runs out, the system ends the process" in caplog.text


def test_nobody_looks_closer_where_all_fits(words, monkeypatch):
    monkeypatch.setattr(step_fits, "step_memory", None)
    with_free(monkeypatch, 16)
    assert main([*words, "--model.layers", "2"]) == 0
