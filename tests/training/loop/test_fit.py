import csv
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cellformer.cli.main import main
from cellformer.complexes.batches.batch import collate
from cellformer.complexes.examples import cycle
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.loading.loader import batches
from cellformer.encodings.encode import encode
from cellformer.encodings.rwpe import RWPe
from cellformer.lifting.lift import lift
from cellformer.lifting.rings import Rings
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.plans.general import general_sparse
from cellformer.model.plans.pairwise import pairwise_mixed
from cellformer.model.transformer import CellularTransformer
from cellformer.training.config import RunConfig
from cellformer.training.loop.fit import Loaders
from cellformer.training.loop.schedule import warmup_cosine
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import Summary
from cellformer.training.train import resume, train
from tiny import SMILES, with_training, write_molecules


def weights(folder, which="last"):
    return load_file(folder / f"{which}.safetensors")


def equal_bits(left, right):
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def curve(folder):
    with (folder / "curve.csv").open() as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def test_two_and_two_epochs_with_a_resume_equal_four_bit_for_bit(tiny, tmp_path):
    train(tiny, tmp_path / "whole")
    train(tiny, tmp_path / "halves", stop_after=2)
    assert RunFolder(tmp_path / "halves").states
    summary = resume(str(tmp_path / "halves"))
    assert resume(tmp_path / "halves") == summary == Summary.read(tmp_path / "halves")
    assert not RunFolder(tmp_path / "halves").states
    with (tmp_path / "halves" / "curve.csv").open(newline="", encoding="utf-8") as file:
        spent = sum(float(row["seconds"]) for row in csv.DictReader(file))
    assert summary.seconds == pytest.approx(spent, abs=0.1)
    for which in ("best", "last"):
        assert equal_bits(weights(tmp_path / "whole", which), weights(tmp_path / "halves", which))
    assert curve(tmp_path / "whole") == curve(tmp_path / "halves")
    assert len(curve(tmp_path / "whole")) == 4


def test_a_loader_of_its_own_goes_on_with_the_order_of_the_next_epoch(tiny, tmp_path):
    config = with_training(tiny, epochs=3)
    train(config, tmp_path / "whole")
    workers = with_training(config, loader_workers=1)
    train(workers, tmp_path / "halves", stop_after=2)
    resume(tmp_path / "halves")
    for which in ("best", "last"):
        assert equal_bits(weights(tmp_path / "whole", which), weights(tmp_path / "halves", which))
    assert curve(tmp_path / "whole") == curve(tmp_path / "halves")


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(tiny, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(with_training(tiny, epochs=2, seed=seed), tmp_path / name)
    assert equal_bits(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not equal_bits(weights(tmp_path / "a"), weights(tmp_path / "c"))


def test_a_run_that_was_killed_within_its_first_epoch_starts_again(tiny, tmp_path):
    train(tiny, tmp_path / "whole")
    train(tiny, tmp_path / "killed", stop_after=1)
    for name in ("summary.json", "resume.ckpt"):
        (tmp_path / "killed" / name).unlink()
    resume(tmp_path / "killed")
    assert equal_bits(weights(tmp_path / "whole"), weights(tmp_path / "killed"))
    assert curve(tmp_path / "whole") == curve(tmp_path / "killed")


@pytest.mark.parametrize("attention", ["general-sparse", "pairwise-mixed"])
def test_complexes_on_the_device_give_the_same_bits(attention, tiny, tmp_path):
    tiny = replace(with_training(tiny, epochs=2), attention=attention)
    for resident in (True, False):
        train(with_training(tiny, resident=resident), tmp_path / str(resident))
    assert equal_bits(weights(tmp_path / "True"), weights(tmp_path / "False"))
    assert curve(tmp_path / "True") == curve(tmp_path / "False")


@pytest.mark.parametrize("options", [{"bucket": True}, {"window": 9}])
def test_batches_of_a_budget_resume_to_the_same_bits(options, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("cellformer.training.loop.fit.SHARD", 4)
    tiny = with_training(tiny, batch_size=16, batch_cells=60, epochs=3, **options)
    train(tiny, tmp_path / "whole")
    train(tiny, tmp_path / "halves", stop_after=2)
    (tmp_path / "halves" / "summary.json").unlink()
    resume(tmp_path / "halves")
    assert equal_bits(weights(tmp_path / "whole"), weights(tmp_path / "halves"))
    steps = [int(row["step"]) for row in curve(tmp_path / "whole")]
    assert steps == [steps[0] * number for number in (1, 2, 3)]
    assert steps[0] > 2


def test_the_order_knows_the_epoch_before_a_worker_asks_for_a_batch():
    ragged = RaggedComplexes.from_complexes([cycle(3), cycle(4)])
    made = [batches(ragged, np.arange(2), 1, shuffle=shuffle) for shuffle in (True, False)]
    loaders = Loaders(*made)
    progress = SimpleNamespace(current=SimpleNamespace(ready=1))
    loop = SimpleNamespace(
        epoch_loop=SimpleNamespace(batch_progress=progress),
        epoch_progress=SimpleNamespace(current=SimpleNamespace(ready=6)),
    )
    loaders.trainer = SimpleNamespace(current_epoch=5, fit_loop=loop)
    assert loaders.train_dataloader().sampler.epoch == 5
    assert len(list(made[0])) == 1  # the other one was done
    progress.current.ready = 2
    assert loaders.train_dataloader().sampler.epoch == 6
    assert len(list(made[0])) == 2
    assert loaders.val_dataloader() is made[1]


def test_a_folder_that_holds_a_run_is_not_overwritten(tiny, tmp_path):
    train(with_training(tiny, epochs=1), tmp_path / "run")
    before = weights(tmp_path / "run")
    with pytest.raises(FileExistsError, match="--resume"):
        train(with_training(tiny, epochs=1, seed=3), tmp_path / "run")
    assert equal_bits(before, weights(tmp_path / "run"))


def test_resuming_a_finished_run_changes_nothing(tiny, tmp_path):
    summary = train(with_training(tiny, epochs=1), tmp_path / "run")
    stamp = (tmp_path / "run" / "last.safetensors").stat().st_mtime_ns
    assert resume(tmp_path / "run") == summary == Summary.read(tmp_path / "run")
    assert (tmp_path / "run" / "last.safetensors").stat().st_mtime_ns == stamp


def test_a_run_that_another_process_finishes_meanwhile_is_finished(tiny, tmp_path, monkeypatch):
    run, hidden = tmp_path / "run", tmp_path / "summary.json"
    summary = train(with_training(tiny, epochs=1), run)
    (run / "summary.json").rename(hidden)
    back = "cellformer.training.train.check_logger"
    monkeypatch.setattr(back, lambda _: hidden.rename(run / hidden.name))
    assert resume(run) == summary == Summary.read(run)


def test_a_finished_run_keeps_its_state_where_asked_to(tiny, tmp_path, caplog):
    train(with_training(tiny, epochs=2, keep_state=True), tmp_path / "kept")
    assert {path.name for path in RunFolder(tmp_path / "kept").states} == {
        "resume.ckpt", "resume-before.ckpt"}  # fmt: skip
    summary = train(with_training(tiny, epochs=2), tmp_path / "run")
    assert RunFolder(tmp_path / "run").states == ()
    with caplog.at_level(logging.INFO):
        assert resume(tmp_path / "run") == summary
    assert "its state was not kept (training.keep_state)" in caplog.text


def test_the_summary_tells_scores_baseline_and_where_they_come_from(tiny, tmp_path):
    summary = train(with_training(tiny, epochs=3), tmp_path / "run")
    sizes = np.array([len(row) for row in SMILES])
    assert summary.complexes == {"train": 16, "val": 4, "test": len(sizes) - 20}
    rows = curve(tmp_path / "run")
    best = min(rows, key=lambda row: float(row["val_mae"]))
    assert summary.best_epoch == int(best["epoch"]) + 1
    assert summary.scores["best"]["val"]["mae"] == pytest.approx(float(best["val_mae"]), rel=1e-5)
    assert summary.scores["last"]["val"]["mae"] == pytest.approx(
        float(rows[-1]["val_mae"]), rel=1e-5
    )
    assert summary.baseline["test"]["mae"] > 0
    assert summary.parameters > 0
    assert summary.session.versions["torch"] == torch.__version__


def test_training_ends_at_max_steps_with_a_validation(tiny, tmp_path):
    train(with_training(tiny, max_steps=5), tmp_path / "run")  # 4 steps an epoch
    rows = curve(tmp_path / "run")
    assert [int(row["step"]) for row in rows] == [4, 5]
    assert all(float(row["val_mae"]) > 0 for row in rows)


def test_training_stops_early_without_progress(tiny, tmp_path):
    still = replace(tiny, optimizer=replace(tiny.optimizer, peak_rate=1e-12))
    train(with_training(still, epochs=30, patience=2), tmp_path / "run")
    assert len(curve(tmp_path / "run")) <= 6


@pytest.mark.parametrize("plan", [pairwise_mixed(), general_sparse()], ids=["mixed", "general"])
def test_sixteen_molecules_are_overfitted_in_a_plain_loop(plan):
    graphs = [Graph.from_smiles(text) for text in SMILES[:16]]
    batch = collate([encode(lift(graph, Rings()), RWPe(4)) for graph in graphs])
    target = torch.linspace(-2, 2, 16)[torch.randperm(16, generator=torch.manual_seed(0))][:, None]
    config = ModelConfig.for_batch(
        batch, ArchitectureConfig(width=32, layers=2, heads=4, attention_dropout=0.0)
    )
    model = CellularTransformer(config, plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    for step in range(400):
        loss = (model(batch) - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * warmup_cosine(step, 400, 0.1)
        optimizer.step()
    assert (model.eval()(batch) - target).abs().mean() < 0.05


def test_an_undefined_validation_score_never_selects_an_epoch(tiny, tmp_path):
    y = np.array([0, 1] * 8 + [1] * 4 + [0] * (len(SMILES) - 20))
    write_molecules(tmp_path / "molecules.npz", y)
    summary = train(with_training(tiny, epochs=2), tmp_path / "run")
    assert summary.scores["last"]["val"]["rocauc"] is None
    assert "best" not in summary.scores
    assert not (tmp_path / "run" / "best.safetensors").exists()
    assert all(row["val_rocauc"] == "nan" for row in curve(tmp_path / "run"))


def test_all_kinds_of_tasks_train(tiny, tmp_path):
    rng = np.random.default_rng(0)
    rows = len(SMILES)
    several = rng.normal(size=(rows, 2))
    several[::3, 1] = np.nan
    for name, y, options in (
        ("binary", rng.integers(0, 2, rows), {}),
        ("classes", rng.integers(0, 3, rows), {}),
        ("several", several, {"target_names": ("a", "b")}),
    ):
        source = write_molecules(tmp_path / f"{name}.npz", y, **options)
        config = replace(tiny, data=replace(tiny.data, source=str(source)))
        summary = train(with_training(config, epochs=1), tmp_path / name)
        assert np.isfinite(float(curve(tmp_path / name)[0]["train_loss"]))
        assert summary.metric in ("rocauc", "accuracy", "mae")


def test_data_without_a_validation_part_are_refused(tiny, tmp_path):
    config = replace(tiny, data=replace(tiny.data, split="random", fractions=(1.0, 0.0, 0.0)))
    with pytest.raises(ValueError, match="no labeled complex is left in the val part"):
        train(config, tmp_path / "run")
    assert not RunFolder(tmp_path / "run").config.exists()


def _heed_ctrl_c():
    """A process that a shell started in the background ignores it, and so would its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_signal_leaves_a_run_that_resumes_to_the_same_end(tiny, tmp_path, capsys):
    config = with_training(tiny, epochs=20, batch_size=16)  # quick epochs, and enough of them
    (tmp_path / "config.json").write_text(json.dumps(asdict(config)))
    train(config, tmp_path / "whole")
    for number, stop in (signal.SIGTERM, stop_this_process), (signal.SIGINT, stop_another):
        folder = tmp_path / f"stopped-{number}"
        command = ["train", config.data.source, "-o", str(folder), "--config",
                   str(tmp_path / "config.json")]  # fmt: skip
        status, errors = stop(command, folder, number)
        assert status == 75, errors
        assert f"--resume {folder}" in (errors or capsys.readouterr().err)
        assert not (folder / "summary.json").exists()
        resume(folder)
        assert RunConfig.from_json(folder / "config.json") == config
        assert equal_bits(weights(folder), weights(tmp_path / "whole"))
        assert curve(folder) == curve(tmp_path / "whole")


def stop_this_process(command, folder, number):
    """Sends the signal when the training has ended an epoch; returns its exit code."""

    ended = threading.Event()

    def ask():
        wait_for(folder / "resume.ckpt", lambda: not ended.is_set())
        if not ended.is_set():
            os.kill(os.getpid(), number)

    asked = threading.Thread(target=ask)
    asked.start()
    try:
        return main(command), ""
    finally:
        ended.set()
        asked.join()


def stop_another(command, folder, number):
    """The same with a process of its own; also returns what it told."""
    # The bits of a sum depend on the number of threads, and these tests use one.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "cellformer", *command],
        stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=_heed_ctrl_c,
    )  # fmt: skip
    wait_for(folder / "resume.ckpt", lambda: process.poll() is None)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def wait_for(file, going_on):
    deadline = time.monotonic() + 120
    while not file.exists() and going_on():
        assert time.monotonic() < deadline
        time.sleep(0.02)
