"""All tests that start Ray: a cluster of two machines that are processes of this one."""

import csv
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cellformer.basics.parts import trust
from cellformer.basics.parts.trust import allow_parts
from cellformer.cli.main import main
from cellformer.complexes.graph import Graph
from cellformer.data.dataset import Task
from cellformer.data.flat import in_memory
from cellformer.data.preparing import prepare as preparation
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.experiments.grid.reproduce import reproduce
from cellformer.experiments.ray import carrying, places
from cellformer.experiments.ray import cluster as ray_cluster
from cellformer.experiments.ray import processes as ray_processes
from cellformer.experiments.ray import runner as ray_runner
from cellformer.experiments.ray import shards as ray_shards
from cellformer.experiments.ray.processes import Board, RayProcesses
from cellformer.experiments.ray.runner import RayRunner
from cellformer.experiments.ray.shards import RayShards
from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.runner import Sequential
from cellformer.experiments.search.folder import SearchFolder, Trial
from cellformer.experiments.search.space import SearchSpace
from cellformer.experiments.search.tune import Found, Tuner
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.training.config import RunConfig
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.runs.summary import Summary
from cellformer.training.train import resume, train
from own_parts import TEXT, with_installed, write_atoms
from tiny import with_training

# Ray itself leaves the files of its logs, and pipes of processes that it ends, to the collector.
pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray, of the extra ray, is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.use_:DeprecationWarning"),
]

LEAVING = """
import os, pathlib, sys
from cellformer.experiments.ray.places import meeting_place
place = meeting_place(pathlib.Path(sys.argv[1]))
place.__enter__()
os._exit(0)
"""
NODE = {"num_cpus": 1, "object_store_memory": ray_cluster.OBJECT_STORE_BYTES}


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        import ray
        from ray.cluster_utils import Cluster

        made = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        try:
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@contextmanager
def unseen_place(folder):
    """What workers are told to look for is not there, as on a machine with another disk."""
    yield folder / "place"  # where Ray makes a folder


def files_of(folder):
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.*")}


@pytest.mark.parametrize("shared", [True, False])
def test_a_store_is_the_same_though_a_machine_is_lost(cluster, tmp_path, monkeypatch, shared):
    if not shared:
        monkeypatch.setattr(ray_shards, "meeting_place", unseen_place)
    monkeypatch.setattr("cellformer.data.preparing.shards.SHARD_ROWS", 4)
    graphs = [Graph.from_edges([(i, (i + 1) % n) for i in range(n)]) for n in range(3, 63)]
    source = in_memory(graphs, np.arange(60.0), Task("regression", ("size",), "mae"))
    second = cluster.add_node(**NODE) if shared else None
    made = []

    def losing_a_machine(tasks):
        for start, shard in RayShards(cluster.address)(tasks):
            made.append(start)
            if len(made) == 3 and shared:
                cluster.remove_node(second, allow_graceful=False)
            yield start, shard

    for folder, executor in (("alone", None), ("cluster", losing_a_machine)):
        preparation.prepare(source, InducedCycles(max_length=6), [RWBSPe(3)],
                            cache_dir=tmp_path / folder, executor=executor)  # fmt: skip
    assert sorted(made) == list(range(0, 60, 4))
    assert not list(tmp_path.glob("cluster/prepared/*.shards"))
    assert files_of(tmp_path / "alone" / "prepared") == files_of(tmp_path / "cluster" / "prepared")


def kill_worker_of(folder):
    """SIGKILL for the worker of the first job, once it has finished an epoch."""
    while not (folder / "curve.csv").exists():
        time.sleep(0.02)
    [told] = [file.read_text() for file in folder.parent.glob(".ray.*.tmp/0")]
    os.kill(int(told.split("process ")[1].rstrip(")")), signal.SIGKILL)


def test_jobs_end_as_in_one_process_though_a_worker_is_killed(
    cluster, tiny, tmp_path, caplog, monkeypatch
):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(trust, "_allowed", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "parts_for_ray.py").write_text(TEXT)
    allow_parts(str(tmp_path / "parts_for_ray.py"))
    short = with_training(tiny, epochs=2)
    own = replace(short.data, lifting="parts_for_ray:SmallRings(longest=6)")
    configs = {
        "long": with_training(tiny, epochs=30, batch_size=16),
        "short": short,
        "own": replace(short, data=own),
    }
    outcomes = {}

    def jobs(root):
        return [Job(config, tmp_path / root / name) for name, config in configs.items()]

    finished = Job(with_training(tiny, epochs=1), tmp_path / "ray" / "finished")
    kept = finished.perform()
    wrong = Job(configs["short"], finished.folder)  # holds a run of another configuration
    killer = threading.Thread(target=kill_worker_of, args=[tmp_path / "ray" / "long"])
    killer.start()
    RayRunner(cluster.address)(
        [*jobs("ray"), finished, wrong], lambda j, o: outcomes.update({j: o})
    )
    killer.join()

    assert "long: goes on on" in caplog.text
    assert outcomes[finished].summary == kept
    assert "another configuration" in outcomes[wrong].error
    expected = {}
    Sequential()(jobs("one"), lambda job, outcome: expected.update({job.folder.name: outcome}))
    for job in jobs("ray"):
        summary = outcomes[job].summary
        assert summary == Summary.read(job.folder)
        assert summary.scores == expected[job.folder.name].summary.scores
    assert not list(tmp_path.glob("ray/.ray.*"))


def wait_for(done):
    deadline = time.monotonic() + 120
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)


def weights(folder):
    return load_file(folder / "last.safetensors")


def lose_a_machine_and_stop(cluster, node, curve, log):
    """Then a signal, once the training has gone on elsewhere."""
    wait_for(curve.exists)
    cluster.remove_node(node, allow_graceful=False)
    wait_for(lambda: "training in one process on" in log.text)
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_training_goes_on_where_a_machine_is_lost_and_none_sees_its_folder_and_can_be_stopped(
    cluster, tiny, tmp_path, caplog, monkeypatch
):
    monkeypatch.setenv("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "2")
    caplog.set_level(logging.INFO)
    model = replace(tiny.model, dropout=0.0, attention_dropout=0.0, projection_bias=False)
    config = with_training(replace(tiny, model=model), epochs=24, processes=2)
    monkeypatch.setattr(ray_processes, "meeting_place", unseen_place)
    node = cluster.add_node(**NODE)
    folder = tmp_path / "ray"
    losing = threading.Thread(
        target=lose_a_machine_and_stop, args=[cluster, node, folder / "curve.csv", caplog]
    )
    losing.start()
    with pytest.raises(TrainingInterrupted, match=f"--resume {folder}"):
        train(config, folder, launcher=RayProcesses(cluster.address))
    losing.join()

    assert "training in 2 processes, the first on" in caplog.text
    assert not (folder / "summary.json").exists()
    assert "its files come and go through Ray" in caplog.text
    with monkeypatch.context() as patch:  # in this process alone, as on a machine of its own
        patch.setattr("cellformer.training.train.launched", lambda: "nobody else")
        summary = resume(folder)
    alone = train(with_training(config, processes=1), tmp_path / "one")
    assert summary.best_epoch == alone.best_epoch
    for part, scores in alone.scores["best"].items():
        assert summary.scores["best"][part] == pytest.approx(scores, rel=1e-3)
    for name, tensor in weights(tmp_path / "one").items():
        torch.testing.assert_close(weights(folder)[name], tensor, rtol=0, atol=1e-3)


def test_a_board_gives_up_where_no_new_state_is_kept():
    board = Board(retries=1)
    assert board.begin([], 2, "here")
    assert board.begin([], 2, "here")
    assert board.begin([(1, 2)], 1, "there")
    assert board.begin([(1, 2)], 1, "there")
    assert not board.begin([(1, 2)], 1, "there")
    failure, stopped = board.outcome()
    assert "lost 2 times" in str(failure)
    assert not stopped
    board.fail(ValueError("later"))
    assert board.outcome() == (failure, 0)
    assert [text for _, text in board.news()][-1] == "training in one process on there"
    assert board.news() == []


def test_a_search_with_parts_of_others_goes_on_where_it_was_left(
    cluster, tiny, tmp_path, installed_parts, monkeypatch
):
    monkeypatch.setattr("cellformer.experiments.search.tune.meeting_place", unseen_place)
    source = write_atoms(tmp_path / "atoms.list")
    base = with_installed(with_training(tiny, epochs=3), source)
    allow_parts(installed_parts)
    given = {
        "optimizer.peak_rate": {"log_uniform": ["1e-4", 0.1]},
        "data.encodings": {"choice": ["rwpe:2", "zeros", "nowhere.parts:X"]},
    }
    space = SearchSpace.parse(given, base, "space")
    folder = SearchFolder(tmp_path / "search")
    folder.open(base, space)
    values = {"optimizer.peak_rate": 0.01, "data.encodings": "rwpe:2"}
    Job(space.config(base, values), folder.run(0)).perform()
    folder.write(Trial(0, values, "finished", 1e9, 3))
    left = {"optimizer.peak_rate": 0.02, "data.encodings": "zeros"}
    folder.write(Trial(1, left))
    folder.write(Trial(2, {"optimizer.peak_rate": 0.02, "data.encodings": "nowhere.parts:X"}))
    before = (folder.run(0) / "summary.json").stat().st_mtime_ns

    (tmp_path / "base.json").write_text(json.dumps(asdict(base)))
    (tmp_path / "space.yaml").write_text(json.dumps(given))
    command = ["tune", str(source), "--config", str(tmp_path / "base.json"), "--space",
               str(tmp_path / "space.yaml"), "-o", str(folder.path), "--trials", "4", "--grace",
               "3", "--ray", cluster.address, "--import", installed_parts]  # fmt: skip
    assert main(command) == 0

    found = Found(folder, "mae", False, folder.trials())
    assert [trial.number for trial in found.trials] == [0, 1, 2, 3]
    assert (folder.run(0) / "summary.json").stat().st_mtime_ns == before
    assert (found.trials[1].values, found.trials[1].state) == (left, "finished")
    config = RunConfig.from_json(folder.run(1) / "config.json")
    assert config == space.config(base, left)
    with (folder.run(1) / "curve.csv").open() as file:
        scores = [float(row["val_mae"]) for row in csv.DictReader(file)]
    assert found.trials[1].score == min(scores)
    assert found.trials[1].epochs == len(scores) == 3
    assert found.trials[2].state == "failed"
    assert "nowhere.parts:X" in found.trials[2].error
    assert found.best.number in (1, 3)
    told = json.loads((folder.run(1) / "model.json").read_text())
    assert told["versions"][installed_parts]["version"] == "parts-of-others 1.2"
    table = folder.table.read_text().splitlines()
    assert len(table) == 5
    assert table[0].endswith("optimizer.peak_rate,data.encodings")
    with pytest.raises(ValueError, match="another"):
        Tuner(address=cluster.address)(with_training(base, epochs=4), space, folder.path)


def test_a_machine_that_the_cluster_has_given_up_waits_no_longer(monkeypatch):
    import ray

    nodes = [{"NodeID": "other", "Alive": True}, {"NodeID": "here", "Alive": True}]
    here = type("Context", (), {"get_node_id": lambda self: "here"})
    monkeypatch.setattr(ray, "get_runtime_context", here)
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    connection = ray_cluster.Connection()
    connection.check()
    nodes[1]["Alive"] = False
    connection.check()  # too soon to ask again
    connection.next = 0.0
    with pytest.raises(ConnectionError, match="give the same command again"):
        connection.check()


@pytest.fixture
def stuck():
    """What Ray does where a process was killed that it waits for."""
    over = threading.Event()
    yield lambda *given, **named: over.wait()
    over.set()


def test_a_start_of_ray_without_an_end_is_told(monkeypatch, stuck):
    import ray

    monkeypatch.setattr(ray, "init", stuck)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray_cluster, "SECONDS_TO_BEGIN", 0.1)
    told = pytest.raises(ConnectionError, match=r"be started: it says nothing .* again")
    with told, ray_cluster.connected("local", 1.0):
        pass


def test_work_is_done_though_ray_does_not_end(monkeypatch, stuck, caplog):
    import ray

    here = type("Context", (), {"get_node_id": lambda self: "here"})
    monkeypatch.setattr(ray, "init", lambda *given, **named: None)
    monkeypatch.setattr(ray, "get_runtime_context", here)
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 1}}])
    monkeypatch.setattr(ray, "shutdown", stuck)
    monkeypatch.setattr(ray_cluster, "SECONDS_TO_END", 0.1)
    with ray_cluster.connected("local", 1.0) as connection:
        assert connection.machine == "here"
    assert "Ray does not end" in caplog.text


@pytest.fixture
def asker(cluster, tmp_path, monkeypatch):
    """This process in the place of a worker that sees nothing of the machine that asks."""
    monkeypatch.setattr(carrying, "sees", lambda place: False)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "place").mkdir()
    with ray_cluster.connected(cluster.address, 1.0) as connection:
        yield carrying.Asker(tmp_path / "place", connection.machine, str(tmp_path))


def test_what_a_worker_keeps_elsewhere_comes_back_as_it_was_written(asker, tmp_path):
    folder = tmp_path / "runs" / "a run"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "old").write_bytes(bytes(range(256)) * 40_000)  # more than a piece
    (folder / "gone").write_text("gone")
    (folder / "resume.ckpt").write_text("first")
    with carrying.at_work(asker, "work", folder) as work:
        own = work.folder
        assert own.name == folder.name
        assert files_of(own) == {f: d for f, d in files_of(folder).items() if f.name != ".lock"}
        assert (tmp_path / "place" / "work").read_text() == work.where
        before = (own / "resume.ckpt").stat().st_mtime_ns
        assert before == (folder / "resume.ckpt").stat().st_mtime_ns
        (own / "gone").unlink()
        (own / "resume.ckpt").replace(own / "resume-before.ckpt")
        (own / "resume.ckpt").write_text("second")
        (own / "deep" / "new").write_bytes(b"")
        work.send()
        assert (folder / "resume-before.ckpt").stat().st_mtime_ns == before  # only renamed
        assert (folder / "resume.ckpt").read_text() == "second"
        (own / "late").write_text("late")
    assert not own.exists()
    found = {str(file): data for file, data in files_of(folder).items() if file.name != ".lock"}
    assert found == {"resume-before.ckpt": b"first", "resume.ckpt": b"second"}
    left = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
    assert left - {".lock"} == {*found, "deep/old", "deep/new", "late"}
    assert (folder / "deep" / "old").stat().st_size == 256 * 40_000
    with carrying.at_work(asker, "1", folder, writes=False) as work:
        (work.folder / "own").touch()
    assert not (folder / "own").exists()


def test_a_job_elsewhere_is_stopped_and_goes_on_with_the_same_result(
    asker, tiny, tmp_path, monkeypatch
):
    job = Job(with_training(tiny, epochs=3), tmp_path / "elsewhere")
    kept = []
    send = carrying.Carried.send

    def send_and_stop(carried):
        send(carried)
        kept.append(sorted(file.name for file in job.folder.glob("*.ckpt")))
        if len(kept) == 2:
            raise OSError("the network is gone")

    with monkeypatch.context() as patch:
        patch.setattr(carrying.Carried, "send", send_and_stop)
        assert "the network is gone" in ray_runner._perform(job, asker, "0").error
    assert kept[:2] == [["resume.ckpt"], ["resume-before.ckpt", "resume.ckpt"]]
    outcome = ray_runner._perform(job, asker, "0")
    assert outcome.summary == Summary.read(job.folder)
    expected = Job(job.config, tmp_path / "here").perform()
    assert outcome.summary.scores == expected.scores
    torch.testing.assert_close(weights(job.folder), weights(tmp_path / "here"), rtol=0, atol=0)


def test_data_that_a_worker_has_not_are_to_be_given_by_a_url(asker, tiny, tmp_path):
    source = replace(tiny.data, source="nowhere.csv", target=("y",))
    outcome = ray_runner._perform(Job(replace(tiny, data=source), tmp_path / "run"), asker, "0")
    assert "nowhere.csv" in outcome.error
    assert "URL that all machines can read" in outcome.error


def test_what_a_killed_process_left_behind_is_removed(tmp_path):
    ended = subprocess.run([sys.executable, "-c", LEAVING, tmp_path], check=True)
    assert not ended.returncode
    [left] = tmp_path.iterdir()
    with places.meeting_place(tmp_path) as first, places.meeting_place(tmp_path) as place:
        assert set(tmp_path.iterdir()) == {first, place}
        assert left not in (first, place)
        assert places.sees(place)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("missing", [True, False])
def test_a_grid_begun_again_removes_what_was_left_behind(tmp_path, tiny, missing):
    subprocess.run([sys.executable, "-c", LEAVING, tmp_path / "grid"], check=True)
    job = Job(with_training(tiny, epochs=1), tmp_path / "grid" / "deep" / "run")
    if not missing:
        job.perform()
    assert list((tmp_path / "grid").glob(".*"))
    reproduce([job], tmp_path / "grid", Sequential())
    assert not list((tmp_path / "grid").glob(".*"))


def test_workers_get_threads_and_the_source_of_their_driver(monkeypatch, tmp_path):
    monkeypatch.setenv("CELLFORMER_CACHE", "relative")
    monkeypatch.chdir(tmp_path)
    told = ray_cluster.worker_environment(2.5, 0.0)
    assert told["CUDA_VISIBLE_DEVICES"] == ""
    assert told["OMP_NUM_THREADS"] == "2"
    assert told["CELLFORMER_CACHE"] == str(tmp_path / "relative")
    told = ray_cluster.worker_environment(0.25, 1.0)
    assert told["OMP_NUM_THREADS"] == "1"
    assert "CUDA_VISIBLE_DEVICES" not in told
    monkeypatch.setattr(trust, "_allowed", {"a.b": "a.b", "c": str(tmp_path / "c.py")})
    told = ray_cluster.worker_environment(1.0, 0.0)
    assert told[ray_cluster.PARTS] == os.pathsep.join(["a.b", str(tmp_path / "c.py")])
    assert str(tmp_path) in told["PYTHONPATH"].split(os.pathsep)


@pytest.mark.parametrize("slot", [{"cpus": 0.0}, {"cpus": 1.0, "gpus": -1.0}])
def test_a_slot_without_cores_is_refused(slot):
    with pytest.raises(ValueError, match="a slot needs"), ray_cluster.connected("local", **slot):
        pass


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"minutes": 0.0}, {"reduction": 1.0}])
def test_a_search_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(Tuner(), **wrong)


def test_a_large_table_is_answered_by_workers_as_it_is_here(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cellformer.data.tables.table.PIECE_ROWS", 16)
    rows = [f"{'C' * (n % 7 + 1)}{'NO'[n % 2]},{n}" for n in range(60)]
    rows[20] = "no molecule,20"
    (tmp_path / "rows.csv").write_text("\n".join(["smiles,y", *rows]) + "\n")
    words = ["--training.epochs", "1", "--model.width", "8", "--model.layers", "1", "--device",
             "cpu", "--training.logger", "none"]  # fmt: skip
    assert main(["train", "rows.csv", "--target", "y", "-o", "run", "--ensemble", "2", *words]) == 0
    assert main(["predict", "run", "rows.csv", "-o", "here.csv", "--interval", "0.5"]) == 0
    shared = ["predict", "run", "rows.csv", "--ray", cluster.address]
    assert main([*shared, "-o", "there.csv", "--interval", "0.5"]) == 0
    assert "1 of 60 rows could not be predicted" in capsys.readouterr().err
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    assert main([*shared, "-o", "none.csv", "--on-error", "fail"]) == 1
    assert "row 20 (counted from 0)" in capsys.readouterr().err
    assert not (tmp_path / "none.csv").exists()
