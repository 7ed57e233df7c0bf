import logging
import os
import shutil
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cellformer.basics.sealed import FaultError
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from cellformer.training.runs.curve import read_curve
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.train import resume, train
from tiny import write_molecules


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """As `tiny`, smaller and for all tests of this file; averages of weights are kept."""
    file = write_molecules(tmp_path_factory.mktemp("data") / "m.npz", np.arange(24.0))
    return RunConfig(
        data=DataConfig(source=str(file), encodings="rwpe:2"),
        model=ArchitectureConfig(width=8, layers=1, heads=2, dropout=0.1, norm="batch"),
        optimizer=OptimizerConfig(peak_rate=1e-2, averaging=0.9),
        training=TrainingConfig(epochs=4, batch_size=8, device="cpu", keep_state=True),
    )


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory):
    """An uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(config, folder)
    return folder


@pytest.fixture(scope="module")
def stopped(config, tmp_path_factory):
    """The same after three epochs."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    train(config, folder, stop_after=3)
    (folder / "summary.json").unlink()
    return folder


@pytest.fixture
def run(stopped, tmp_path):
    shutil.copytree(stopped, tmp_path / "run")
    return tmp_path / "run"


def damage(file):
    """Changes a bit; of an archive in its largest part, as there are bytes unread between parts."""
    data = bytearray(file.read_bytes())
    place = len(data) // 2
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            inside = max(map(archive.read, archive.namelist()), key=len)
        place = data.index(inside) + len(inside) // 2
    data[place] ^= 16
    file.write_bytes(data)


def assert_same_result(run, whole):
    for which in ("best", "last"):
        left, right = (load_file(each / f"{which}.safetensors") for each in (run, whole))
        assert left.keys() == right.keys()
        assert all(torch.equal(left[name], right[name]) for name in left)
    left, right = ([{n: v for n, v in row.items() if n != "seconds"} for row in
                    read_curve(each / "curve.csv")] for each in (run, whole))  # fmt: skip
    assert left == right


def warnings_in(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("cut", [False, True])
def test_a_damaged_state_is_told_and_the_one_before_leads_to_the_same_bits(run, whole, caplog, cut):
    newest = run / "resume.ckpt"
    os.truncate(newest, newest.stat().st_size // 2) if cut else damage(newest)
    resume(run)
    (told,) = warnings_in(caplog)
    assert told.startswith(f"{newest} is damaged (")
    assert told.endswith(f"it is kept as {newest}.damaged, and training goes on from "
                         f"{newest.with_name('resume-before.ckpt')}")  # fmt: skip
    assert_same_result(run, whole)
    assert (run / "resume.ckpt.damaged").exists()


def test_of_states_in_each_others_place_the_newer_one_is_gone_on_from(run, caplog):
    newest, before = run / "resume.ckpt", run / "resume-before.ckpt"
    shutil.copytree(run, run.with_name("more"))
    newest.rename(run / "newest")
    before.rename(newest)
    (run / "newest").rename(before)
    for folder in (run, run.with_name("more")):
        resume(folder, epochs=6)
    (told,) = warnings_in(caplog)
    assert told.startswith(f"{newest} is older than {before}; it is kept as {newest}.older")
    assert_same_result(run, run.with_name("more"))


def test_where_both_states_are_damaged_both_are_named_with_what_to_do(run):
    for name in ("resume.ckpt", "resume-before.ckpt"):
        damage(run / name)
    expected = r"resume\.ckpt is damaged .* and .*resume-before\.ckpt is damaged .*--config"
    with pytest.raises(FaultError, match=expected) as told:
        resume(run)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["best", "last"])
def test_damaged_weights_are_written_anew_from_a_state_that_has_them(run, whole, caplog, name):
    damage(RunFolder(run).weights(name))
    resume(run)
    (told,) = warnings_in(caplog)
    assert f"{name}.safetensors is damaged" in told
    assert "written anew" in told
    assert_same_result(run, whole)


def test_missing_weights_that_no_state_has_are_named(run):
    best = torch.load(run / "resume.ckpt", weights_only=True)["callbacks"]["Checkpoints"]
    assert best["best_epoch"] == 2  # of 0, 1, 2: both states are from epoch 2 and before
    (run / "best.safetensors").unlink()
    state = torch.load(run / "resume.ckpt", weights_only=True)
    state["callbacks"]["Checkpoints"]["best_epoch"] = 0
    torch.save(state, run / "resume.ckpt")
    expected = r"best\.safetensors is missing; no state has the weights after epoch 1 any more"
    with pytest.raises(FaultError, match=expected):
        resume(run)


def test_a_state_of_another_model_is_named_in_a_line(run):
    torch.save(torch.load(run / "resume.ckpt", weights_only=True) | {"state_dict": {}},
               run / "resume.ckpt")  # fmt: skip
    with pytest.raises(ValueError, match=r"resume\.ckpt is of another model than") as told:
        resume(run)
    assert "\n" not in str(told.value)


def test_a_state_that_would_run_code_is_not_read(run, whole, caplog):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(run / "ran"),)

    torch.save({"state_dict": Evil()}, run / "resume.ckpt")
    resume(run)
    assert "resume.ckpt is damaged (UnpicklingError" in caplog.text
    assert not (run / "ran").exists()
    assert_same_result(run, whole)


class Killed(BaseException):
    """As if the process was gone."""


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("last.safetensors", 2),
        ("resume-before.ckpt", 1),  # the newest state is still there
        ("resume.ckpt", 2),  # the newest one was moved, the new one is not there yet
        ("resume.ckpt", 3),
        ("summary.json", 1),
    ],
)
def test_killed_between_any_two_files_nothing_looks_damaged_and_the_bits_are_the_same(
    config, whole, tmp_path, monkeypatch, caplog, name, time
):
    replace, left = os.replace, [time]

    def killed(source, target, **options):
        if os.path.basename(target) == name:
            left[0] -= 1
            if not left[0]:
                raise Killed
        replace(source, target, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            train(config, tmp_path / "run")
    resume(tmp_path / "run")
    assert warnings_in(caplog) == []
    assert_same_result(tmp_path / "run", whole)


def test_a_damaged_curve_is_written_anew_when_training_goes_on(run, whole):
    (run / "curve.csv").write_bytes((run / "curve.csv").read_bytes().replace(b"val", b"vam"))
    resume(run)
    assert_same_result(run, whole)


def test_runs_of_earlier_versions_have_one_state(run, whole, caplog):
    (run / "resume-before.ckpt").unlink()
    resume(run)
    assert warnings_in(caplog) == []
    assert_same_result(run, whole)


def test_a_training_keeps_its_two_newest_states(whole):
    steps = [torch.load(whole / name, weights_only=True)["global_step"]
             for name in ("resume-before.ckpt", "resume.ckpt")]  # fmt: skip
    assert steps == [6, 8]
