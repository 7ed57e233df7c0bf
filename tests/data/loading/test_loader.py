import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.examples import cycle, path, vertex
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.store import open_ragged, save_ragged
from cellformer.data.loading.loader import ComplexDataset, Share, batches


@pytest.fixture
def ragged():
    complexes = [vertex(), path(3), cycle(4), cycle(5), path(2), cycle(6), cycle(7)]
    return RaggedComplexes.from_complexes(complexes, np.arange(7.0))


def epoch(loader, number=0):
    loader.sampler.set_epoch(number)
    return [batch.targets.ravel().tolist() for batch in loader]


def test_each_chosen_complex_comes_once_and_the_last_batch_is_smaller(ragged):
    loader = batches(ragged, np.array([5, 0, 3, 6, 2]), 2, shuffle=False)
    assert epoch(loader) == [[5.0, 0.0], [3.0, 6.0], [2.0]]
    assert len(loader) == 3
    shuffled = epoch(batches(ragged, np.arange(7), 3, shuffle=True))
    assert [len(batch) for batch in shuffled] == [3, 3, 1]
    assert sorted(number for batch in shuffled for number in batch) == list(range(7))


@pytest.mark.parametrize("resident", [False, True])
def test_processes_share_every_batch_and_one_that_is_left_over_counts_nothing(ragged, resident):
    complexes = ResidentComplexes.of(ragged, {}) if resident else ragged
    shares = [
        list(batches(complexes, np.arange(7), 6, shuffle=False, share=Share(rank, 2)))
        for rank in (0, 1)
    ]
    for rank, share in enumerate(shares):
        assert share[0].targets.ravel().tolist() == [rank, rank + 2, rank + 4]
        assert share[0].part.places.tolist() == [rank, rank + 2, rank + 4]
        assert [batch.part.total for batch in share] == [6, 1]
    assert shares[0][1].targets.tolist() == [[6.0]]
    assert shares[1][1].num_complexes == 1
    assert shares[1][1].targets.isnan().all()


def test_a_batch_is_the_union_of_its_complexes(ragged):
    (batch,) = batches(ragged, np.array([2, 0, 6]), 8, shuffle=False)
    assert isinstance(batch, CellBatch)
    expected = CellBatch.from_ragged(ragged.take([2, 0, 6]))
    assert batch.num_cells == expected.num_cells == (12, 11, 2)
    for rank in (1, 2):
        assert (batch.boundary(rank) != expected.boundary(rank)).nnz == 0


@pytest.mark.parametrize("options", [{}, {"batch_cells": 20}, {"batch_size": 2, "bucket": True}])
def test_resident_complexes_give_the_same_batches(ragged, options):
    chosen = np.array([5, 0, 3, 6, 2, 1])
    resident = ResidentComplexes.of(ragged, {})
    options = {"batch_size": 3, "shuffle": True, **options}
    for mine, theirs in zip(
        batches(resident, chosen, **options), batches(ragged, chosen, **options), strict=True
    ):
        assert mine.num_cells == theirs.num_cells
        assert torch.equal(mine.targets, theirs.targets)
        for rank in (1, 2):
            assert (mine.boundary(rank) != theirs.boundary(rank)).nnz == 0
    with pytest.raises(ValueError, match="set workers to 0"):
        batches(resident, chosen, 3, shuffle=False, workers=1)


def test_a_budget_counts_the_cells_of_all_ranks(ragged):
    loader = batches(ragged, np.array([1, 2, 3, 5]), 9, shuffle=False, batch_cells=20)
    assert [sum(batch.num_cells) for batch in loader] == [5 + 9, 11, 13]


def test_the_order_depends_on_seed_and_epoch_alone(ragged):
    loader = batches(ragged, np.arange(7), 2, shuffle=True, seed=3)
    orders = [epoch(loader, number) for number in range(4)]
    assert len({str(order) for order in orders}) == 4
    resumed = batches(ragged, np.arange(7), 2, shuffle=True, seed=3)
    assert epoch(resumed, 3) == orders[3]
    torch.rand(5)
    assert epoch(resumed, 1) == orders[1]
    assert epoch(batches(ragged, np.arange(7), 2, shuffle=True, seed=4), 3) != orders[3]


def test_the_global_random_state_is_left_alone(ragged):
    before = torch.get_rng_state()
    epoch(batches(ragged, np.arange(7), 2, shuffle=True))
    assert torch.equal(torch.get_rng_state(), before)


def test_no_complexes_give_no_batches(ragged):
    loader = batches(ragged, np.zeros(0, np.int64), 4, shuffle=True)
    assert len(loader) == 0
    assert epoch(loader) == []


def test_what_cannot_be_loaded_is_refused(ragged):
    with pytest.raises(ValueError, match="batch_size"):
        batches(ragged, np.arange(7), 0, shuffle=False)
    for index in (-1, 7):
        with pytest.raises(IndexError, match="outside the 7 complexes"):
            batches(ragged, np.array([index]), 2, shuffle=False)


def test_a_stored_collection_is_reopened_in_another_process(ragged, tmp_path):
    save_ragged(ragged, tmp_path / "store")
    stored, _ = open_ragged(tmp_path / "store")
    other = RaggedComplexes(stored.ranks, stored.encoding_signs, np.float32(np.ones((7, 1))))
    make, arguments = ComplexDataset(other, np.arange(7)).__reduce__()
    assert not any(isinstance(argument, RaggedComplexes) for argument in arguments)
    again = make(*arguments)
    assert isinstance(again.complexes.ranks[0].faces, np.memmap)
    assert again[[3, 1]].targets.tolist() == [[1.0], [1.0]]
    assert again[[2]].num_cells == (4, 4, 1)


def is_running(process):
    try:
        return "(zombie)" not in Path("/proc", process, "status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked for there")
def test_a_loader_that_is_starting_ends_with_the_process_that_asked_for_it(ragged, tmp_path):
    save_ragged(ragged, tmp_path / "store")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os
        import sys
        import threading
        import time
        from multiprocessing import active_children
        import numpy as np
        from cellformer.complexes.many.store import open_ragged
        from cellformer.data.loading.loader import batches

        def die():  # when the loader has all that it needs, but is still importing
            while not active_children():
                time.sleep(0.001)
            time.sleep(0.2)
            print(*[child.pid for child in active_children()], flush=True)
            os.kill(os.getpid(), 9)

        if __name__ == "__main__":
            stored, _ = open_ragged(sys.argv[1])
            threading.Thread(target=die, daemon=True).start()
            for _ in batches(stored, np.arange(7), 2, False, workers=1):
                pass
        """)
    )
    command = [sys.executable, str(script), str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -9, done.stderr
    (loader,) = done.stdout.split()
    deadline = time.monotonic() + 60
    while is_running(loader) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(loader)


def test_spawned_workers_give_the_same_batches_with_few_files_and_past_signals(tmp_path):
    # In a process of its own, as the hook that checks shapes does not reach spawned ones.
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import resource
        import subprocess
        import sys
        from multiprocessing import active_children
        import numpy as np
        from cellformer.basics.stopping import SIGNALS
        from cellformer.complexes.examples import cycle
        from cellformer.complexes.many.ragged import RaggedComplexes
        from cellformer.complexes.many.store import open_ragged, save_ragged
        from cellformer.data.loading.loader import batches

        if __name__ == "__main__":
            made = [cycle(n) for n in range(3, 12)]
            ragged = RaggedComplexes.from_complexes(made, np.arange(9.0))
            save_ragged(ragged, sys.argv[1])
            stored, _ = open_ragged(sys.argv[1])
            results = []
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
            for workers in (0, 2):
                loader = batches(stored, np.arange(9), 2, True, seed=1, workers=workers)
                for number in range(2):
                    loader.sampler.set_epoch(number)
                    results.append([
                        (batch.targets.ravel().tolist(), batch.boundaries[0].toarray().tolist())
                        for batch in loader
                    ])
                    for child in active_children():  # the whole group gets them
                        for signal in SIGNALS:
                            subprocess.run(["/bin/kill", f"-{signal}", str(child.pid)])
            assert results[:2] == results[2:]
            assert results[0] != results[1]
        """)
    )
    command = [sys.executable, str(script), str(tmp_path / "store")]
    subprocess.run(command, check=True, timeout=120, stdin=subprocess.DEVNULL)
