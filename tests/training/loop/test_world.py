"""Two processes that torchrun starts, against one; and two that are started here."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cellformer.cli.main import main
from cellformer.complexes.batches.batch import collate
from cellformer.complexes.graph import Graph
from cellformer.data.dataset import Task
from cellformer.data.readers.npz import write_npz
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.world import World, joined, launched, lost_contact
from cellformer.training.runs.scaling import Scaling
from cellformer.training.train import train
from own_parts import check_kept
from tiny import SMILES, with_training

TWO = Path(__file__).parent / "two_processes.py"


def weights(folder):
    return load_file(folder / "last.safetensors")


def equal_bits(left, right):
    left, right = weights(left), weights(right)
    return all(torch.equal(tensor, right[name]) for name, tensor in left.items())


def curve(folder):
    with (folder / "curve.csv").open() as file:
        return [
            {name: float(value) for name, value in row.items() if name != "seconds"}
            for row in csv.DictReader(file)
        ]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """Steps of 5, 5, 5 and 1 complexes, two targets of which some are missing, random signs."""
    graphs = [Graph.from_smiles(text) for text in SMILES]
    rows = np.arange(len(graphs))
    y = np.array([[graph.num_vertices, len(graph.edges)] for graph in graphs], float)
    y[::3, 1] = np.nan
    path = tmp_path_factory.mktemp("set") / "molecules.npz"
    split = {"train": rows[:16], "val": rows[16:21], "test": rows[21:]}
    write_npz(path, graphs, y, split, target_names=("vertices", "edges"))
    return RunConfig(
        data=DataConfig(source=str(path), encodings="bspe:3+rwpe:2"),
        attention="general-sparse",
        # Without biases: that of keys has no effect, so what it learns is rounding errors.
        model=ArchitectureConfig(width=16, layers=2, heads=2, dropout=0.0, attention_dropout=0.0,
                                 projection_bias=False),
        optimizer=OptimizerConfig(peak_rate=1e-3),
        training=TrainingConfig(epochs=5, batch_size=5, device="cpu"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def two(config, tmp_path_factory, parts_folder):
    """A folder with what two processes did and told, on an empty cache; see two_processes.py."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "config.json").write_text(json.dumps(asdict(config)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
               "2", "--max-restarts", "1", str(TWO), str(folder / "config.json"),
               str(folder)]  # fmt: skip
    paths = filter(None, [str(parts_folder), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CELLFORMER_CACHE": str(folder / "cache"),
                   "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
                   "PYTHONPATH": os.pathsep.join(paths)}  # fmt: skip
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    told = [json.loads((folder / f"told-{rank}.json").read_text()) for rank in (0, 1)]
    return folder, told, ended


def test_two_processes_learn_what_one_learns_with_the_same_batches(config, two, tmp_path):
    folder, (first, second), _ = two
    train(config, tmp_path / "one")
    one, both = weights(tmp_path / "one"), weights(folder / "whole")
    for name, tensor in one.items():
        torch.testing.assert_close(both[name], tensor, rtol=0, atol=1e-5)
    rows, other_rows = curve(tmp_path / "one"), curve(folder / "whole")
    assert rows[-1]["step"] == 20
    for row, other in zip(rows, other_rows, strict=True):
        assert other == pytest.approx(row, rel=1e-4, abs=1e-5)
    assert first["scores"] == second["scores"]  # made once, and told to the other
    assert first["sizes"] == [3, 3, 3, 1] * 5
    assert second["sizes"] == [2, 2, 2, 1] * 5  # the last one counts nowhere


def test_every_sample_is_scored_once(two):
    _, (first, second), _ = two
    assert first["scored"] == [[3, 5]] * 5  # own, of all
    assert second["scored"] == [[2, 5]] * 5


def test_two_processes_on_an_empty_cache_prepare_once(two):
    folder, _, ended = two
    for name in ("molecules", "own", "rows"):
        assert ended.stderr.count(f"Preparing {name}: 24 items") == 1
    assert len([path for path in (folder / "cache" / "prepared").iterdir() if path.is_dir()]) == 3


def test_parts_of_an_installed_distribution_train_in_two_processes(two):
    folder, _, _ = two
    check_kept(folder / "others")
    sessions = json.loads((folder / "others" / "summary.json").read_text())["sessions"]
    assert [session["machine"]["processes"] for session in sessions] == [2]


def test_kernels_and_running_means_train_in_two_processes(two):
    folder, (first, second), _ = two
    assert first["table"] == second["table"]
    kept = weights(folder / "table")
    assert any(tensor.dtype == torch.int16 for tensor in kept.values())  # of the kernels
    running = [tensor for name, tensor in kept.items() if name.endswith("running_mean")]
    assert running
    assert all(tensor.any() for tensor in running)


def test_a_signal_to_one_stops_both_at_one_step_and_they_resume_to_the_same_bits(two):
    folder, told, _ = two
    assert [each["stopped"] for each in told] == [[signal.SIGTERM, 6]] * 2
    assert equal_bits(folder / "stopped", folder / "uninterrupted")
    assert curve(folder / "stopped") == curve(folder / "uninterrupted")
    assert not equal_bits(folder / "stopped", folder / "whole")  # dropout was on


def test_an_error_in_one_process_is_told_once_and_ends_both(two):
    _, (first, second), _ = two
    assert (first["taken"], second["taken"]) == ("FileExistsError", "PeerError")
    assert (first["together"], second["together"]) == ("PeerError", "IndexError")


def test_where_one_process_is_killed_both_end_and_go_on_when_they_are_started_again(two):
    folder, _, _ = two
    assert equal_bits(folder / "killed", folder / "whole")
    assert curve(folder / "killed") == curve(folder / "whole")
    assert len(json.loads((folder / "killed" / "summary.json").read_text())["sessions"]) == 2


def test_a_training_starts_processes_itself_and_goes_on_after_a_signal(
    config, two, tmp_path, capsys, monkeypatch
):
    config = with_training(config, processes=2)
    (tmp_path / "config.json").write_text(json.dumps(asdict(config)))
    folder = tmp_path / "run"
    command = ["train", config.data.source, "-o", str(folder), "--config",
               str(tmp_path / "config.json"), "--resume", "auto"]  # fmt: skip
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    asked = threading.Thread(target=ask_to_stop, args=(folder / "curve.csv",))
    asked.start()
    assert main(command) == 75
    asked.join()
    assert f"--resume {folder}" in capsys.readouterr().err
    assert not (folder / "summary.json").exists()
    assert main(command) == 0
    assert f"Everything about this run is in {folder}" in capsys.readouterr().out
    assert equal_bits(folder, two[0] / "whole")
    assert (
        json.loads((folder / "summary.json").read_text())["sessions"][-1]["machine"]["processes"]
        == 2
    )
    assert main(command) == 0  # finished


def ask_to_stop(file):
    """Signals this process when the file is there."""
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGUSR1)


def test_data_in_memory_are_not_sent_to_other_processes(config, tmp_path):
    from cellformer.data.sources import open_source

    opened = open_source(config.data.source)
    with pytest.raises(ValueError, match="start this script with torchrun"):
        train(with_training(config, processes=2), tmp_path / "run", data=opened)


def test_who_started_the_process_is_read_off_its_environment(monkeypatch):
    assert launched() is None
    monkeypatch.setenv("SLURM_NTASKS", "4")  # a batch script, which has no step
    assert launched() is None
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    with pytest.raises(ValueError, match="ntasks-per-node"):
        launched()
    for name, value in {"NTASKS_PER_NODE": 2, "PROCID": 3, "LOCALID": 1, "NODEID": 1}.items():
        monkeypatch.setenv(f"SLURM_{name}", str(value))
    environment = launched()
    assert environment.world_size() == 4
    assert environment.global_rank() == 3
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "any")
    monkeypatch.setenv("RANK", "1")
    assert launched().global_rank() == 1


def test_restarts_that_would_connect_to_processes_that_are_gone_are_refused(monkeypatch):
    told = {"RANK": 0, "LOCAL_RANK": 0, "GROUP_RANK": 0, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2,
            "MASTER_ADDR": "localhost", "MASTER_PORT": 1, "TORCHELASTIC_RUN_ID": "run",
            "TORCHELASTIC_MAX_RESTARTS": 3, "TORCHELASTIC_USE_AGENT_STORE": True}  # fmt: skip
    for name, value in told.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(ValueError, match="TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"), joined("cpu"):
        pass


def test_processes_of_a_step_drop_different_cells():
    batch = collate([InducedCycles()(Graph.from_smiles("C"))])
    drawn = []
    for rank in (0, 1, 2):
        module = CellularModule(torch.nn.Linear(1, 1), Task("regression", ("a",), "mae"),
                                Scaling.none(1), seed=5, world=World(rank, 3))  # fmt: skip
        module.on_train_batch_start(batch, 0)
        drawn.append(tuple(torch.rand(8).tolist()))
    assert len(set(drawn)) == 3


def test_one_process_alone_has_all_and_waits_for_nobody():
    world = World()
    rows = torch.ones(2, 1)
    assert world.gathered(rows) is rows
    assert world.summed(rows[0]).tolist() == [1]
    assert world.largest(3) == 3
    assert world.from_first(lambda: 4) == world.together(lambda: 4) == 4
    assert lost_contact(RuntimeError("[pair.cc:537] Connection closed by peer"))
    assert not lost_contact(RuntimeError("out of memory"))
    assert replace(world, rank=1, size=3).share.size == 3
