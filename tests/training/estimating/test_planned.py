"""Sets and machines that one thinks of: what is played through against what can be said exactly."""

import heapq
import math

import numpy as np
import pytest

import cellformer as cf
from cellformer.cli.main import main
from cellformer.training.config import TrainingConfig
from cellformer.training.estimating.epoch_time import epoch_time
from cellformer.training.estimating.machines import Machines
from cellformer.training.estimating.planned import planned, table_of
from cellformer.training.estimating.preparing_time import RAY_SECONDS, preparation_time
from cellformer.training.estimating.rates import (
    PreparationRates,
    TrainingRates,
    measured_rates,
)
from tiny import SMILES

FAST = {"network": 1e9, "storage": 1e9}


def preparation(make, *, cut=0.0, stored=0.0, sent=0.0, opened=0.0, append=0.0, started=0.0):
    return PreparationRates(opened, cut, np.array(make, float), sent, stored, append, 0.0, started)


def training(cells, *, fixed=0.0, per_cell=1.0, parameters=0, share=1.0):
    return TrainingRates(parameters, np.array(cells, float), fixed, per_cell, 2.0, share)


def test_shards_are_made_as_a_list_is_scheduled():
    make = [1.0, 2.0, 5.0, 0.5]
    for processes in (1, 2, 7):
        found = preparation_time(preparation(make), 256 * 301, Machines(processes=processes))
        free = [0.0] * processes
        for seconds in np.random.default_rng(0).choice(make, 301):
            heapq.heappush(free, heapq.heappop(free) + seconds)
        assert found.make == pytest.approx(max(free), rel=1e-12)
        assert found.bound == "processes"
        assert found.busy > 0.9


def test_what_is_slowest_decides():
    many = Machines(processes=1000, **FAST)
    found = preparation_time(preparation([1.0], cut=0.5), 256 * 400, many)
    assert found.make == pytest.approx(400 * 0.5 + 1)
    assert found.bound == "handing out"
    slow = Machines(processes=1000, storage=256e-6)
    found = preparation_time(preparation([1.0], stored=1.0), 256 * 400, slow)
    # The first is made and written, and each is read and written by the one that appends it.
    assert found.make == pytest.approx(1 + 1 + 2 * 400)
    assert (found.bound, found.append) == ("appending", 800)
    assert found.busy == pytest.approx(800 / 802)
    assert found.disk_bytes == 2 * 256 * 400  # all shards were made before most are appended
    apart = Machines(nodes=2, processes=500, network=256 * 8e-9)
    found = preparation_time(preparation([1.0], sent=1.0), 256 * 100, apart)
    # The first shards are handed out, the last of them is made, and looked at.
    assert found.make == pytest.approx(100 + 1 + RAY_SECONDS, abs=100 * RAY_SECONDS)


def test_parts_that_grow_with_the_rows_are_added():
    rates = preparation([1.0], opened=0.25, append=0.5)
    found = preparation_time(rates, 2560, Machines(**FAST))
    assert (found.open, found.make, found.append) == (640, 1 + 1280, 1280)
    assert found.seconds == 640 + 1281
    few = preparation([1.0], opened=0.25, append=0.5 / 256)  # while the next one is made
    assert preparation_time(few, 2560, Machines(**FAST)).make == pytest.approx(10.5)
    short, long = (preparation_time(rates, 256 * n, Machines(**FAST)) for n in (20_000, 2_000_000))
    assert long.make == pytest.approx(100 * short.make, rel=1e-3)
    assert short.disk_bytes == 0  # of what was measured to take none


def test_workers_are_started_once_and_only_where_there_are_several():
    rates = preparation([1.0], started=7.0)
    assert preparation_time(rates, 256 * 300, Machines(processes=2)).make == 7 + 150
    assert preparation_time(rates, 256 * 300, Machines()).make == 300


def test_shards_of_a_large_set_are_larger():
    machines = Machines(nodes=2, processes=500, **FAST)
    few, many = (preparation_time(preparation([1e-6]), 2048 * n, machines) for n in (64, 6400))
    assert few.make == pytest.approx(8 * 64 * RAY_SECONDS, rel=0.01)  # which tells each of them
    assert many.make == pytest.approx(6400 * RAY_SECONDS, rel=0.01)


def test_shards_of_machines_that_fail_are_made_again():
    day = 86_400
    machines = Machines(failures=0.5, restart=60.0, **FAST)
    found = preparation_time(preparation([6 * 450.0]), 2048 * 5000, machines)
    rate = 0.5 / day
    expected = math.expm1(rate * 6 * 3600) * (1 / rate + 3600)  # each anew until it succeeds
    assert found.make / 5000 == pytest.approx(expected, rel=0.05)


def epochs(rates, rows, machines, *, stored=0.0, verify=0.0, **chosen):
    return epoch_time(rates, stored, verify, rows, machines, TrainingConfig(**chosen))


def test_an_epoch_of_one_process_is_its_steps():
    rates = training([10, 30], fixed=5.0, share=0.5)
    found = epochs(rates, 6400, Machines(**FAST), batch_size=64)
    assert found.steps == 50
    assert found.seconds == pytest.approx(50 * (5 + 64 * 20), rel=0.05)
    assert found.bound == "computing"
    assert found.step_bytes == pytest.approx(64 * 20 * 2, rel=0.05)
    assert epochs(rates, 10, Machines(**FAST), batch_size=64).steps == 1


def test_a_batch_is_shared_and_all_wait_for_the_largest_part():
    alike = training([10], fixed=5.0)
    for processes, share in ((1, 8), (2, 4), (8, 1), (100, 1)):
        found = epochs(alike, 800, Machines(processes=processes, latency=0.0), batch_size=8)
        assert found.seconds == pytest.approx(100 * (5 + 10 * share))
    unlike = training([1, 99], fixed=0.0)
    found = epochs(unlike, 800, Machines(processes=8, latency=0.0), batch_size=8)
    assert found.seconds == pytest.approx(100 * 99, rel=0.02)  # one of eight is nearly always large
    assert found.part == pytest.approx(50 / 99, rel=0.05)


def test_gradients_go_round_and_storage_and_checks_take_their_time():
    rates = training([0.0], per_cell=0.0, parameters=1000)
    found = epochs(rates, 100, Machines(4, 2, network=8e-6, latency=0.5), batch_size=100)
    assert found.seconds == pytest.approx(2 * 7 / 8 * 4000 / 1000 + 2 * 3 * 0.5)
    assert found.bound == "network"
    found = epochs(training([1.0]), 100, Machines(storage=1.0), batch_size=100, stored=1e6)
    assert (found.seconds, found.bound) == (100, "computing")
    found = epochs(training([1.0]), 100, Machines(storage=0.5), batch_size=100, stored=1e6)
    assert (found.seconds, found.part) == (200, 0.5)
    assert found.open == 200
    assert epochs(rates, 100, Machines(3, storage=1.0), batch_size=1, stored=1e6).open == 300
    assert epochs(training([1.0]), 100, Machines(), batch_size=1, verify=7.0).open == 700


def test_a_failure_costs_what_was_done_since_the_last_state():
    rates, machines = training([1.0]), Machines(100, failures=0.1, latency=0.0, **FAST)
    found = epochs(rates, 12_800_000, machines, batch_size=100, state_minutes=1e9)
    rate = 100 * 0.1 / 86_400
    assert found.seconds == pytest.approx(math.expm1(rate * 128_000) * (1 / rate + 300))
    assert found.bound == "failures"
    often = epochs(rates, 12_800_000, machines, batch_size=100, state_minutes=10.0)
    segment = math.expm1(rate * 600) * (1 / rate + 300)
    assert often.seconds == pytest.approx(128_000 / 600 * segment)
    assert often.bound == "computing"


@pytest.fixture(scope="module")
def rates(tmp_path_factory):
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    file.write_text("smiles,y\n" + "".join(f"{s},{i}\n" for i, s in enumerate(20 * SMILES)))
    config = cf.RunConfig(
        data=cf.DataConfig(source=str(file), target=("y",), molecule_descriptors="none"),
        model=cf.ArchitectureConfig(width=16, layers=1, heads=2),
    )
    return measured_rates(config, seconds=0.0), config


def test_what_is_measured_is_of_the_set(rates):
    found, config = rates
    assert found.rows == 20 * len(SMILES)
    assert found.looked == found.rows  # in its only two shards, of which the second is shorter
    assert len(found.training.cells) == found.rows
    assert (found.preparation.make_seconds > 0).all()
    assert found.training.train_share == 0.8
    stored = cf.Preparation(molecule_descriptors="none").stored(
        cf.Preparation().open(config.data.source, target=("y",))
    )
    assert sorted(found.training.cells) == sorted(stored.complexes.num_cells.sum(axis=1))


def test_a_table_has_a_row_for_each_set_and_number_of_machines(rates):
    found, config = rates
    machines = [Machines(nodes, 4) for nodes in (1, 10)]
    table = table_of(planned(found, config.training, [10**6, 10**8], machines))
    assert table["rows"].tolist() == [10**6, 10**6, 10**8, 10**8]
    assert table["nodes"].tolist() == [1, 10, 1, 10]
    assert table["disk_gb"][2] == pytest.approx(100 * table["disk_gb"][0], rel=0.05)
    assert table["prepare_hours"][2] == pytest.approx(100 * table["prepare_hours"][0], rel=0.02)
    with pytest.raises(ValueError, match="at least one row, got 0"):
        planned(found, config.training, [0], machines)


def test_the_command_line_tells_it_and_writes_the_table(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(
        "smiles,y\n" + "".join(f"{s},{i}\n" for i, s in enumerate(SMILES))
    )
    command = ["estimate", "rows.csv", "--target", "y", "--rows", "1e6", "--nodes", "1", "4",
               "--node-processes", "8", "--seconds", "0.1", "--model.width", "16", "-o",
               "plan.csv"]  # fmt: skip
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "1,000,000 rows, 4 machines of 8 processes:" in told
    assert (tmp_path / "plan.csv").read_text().count("\n") == 3
    assert not list(tmp_path.glob("*.tmp"))
    for words, message in (
        (["--nodes", "0"], "nodes must be at least 1"),
        (["--rows", "-1"], "rows must be positive and finite"),
        (["--seconds", "0"], "seconds must be positive"),
        (["--network", "0"], "network must be positive"),
        (["--failures", "-1"], "failures must be finite and not negative"),
        (["-o", "plan.txt"], "does not end in .csv"),
    ):
        assert main([*command[:-2], *words]) == 1
        assert message in capsys.readouterr().err
