import logging
import runpy
import threading

import numba
import numpy as np
import pytest
import torch

from cellformer.attention.cpu import compiled
from cellformer.attention.cpu.compiled import SMALL, Work, kernel, part_of_kernel, run


def add_parts(part, parts, total):
    """Every part writes its own number, so that none can be done twice or left out unseen."""
    if part < parts:
        total[part] += parts


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_part_is_done_once_on_any_number_of_threads(threads, count):
    threads(count)
    add = kernel(add_parts)
    for _ in range(20):
        total = np.zeros(64, np.int64)
        run([Work(add, SMALL + 1, (total,))])
        parts = np.count_nonzero(total)
        assert (total[:parts] == parts).all()
        assert parts == (count * compiled.PARTS_PER_THREAD if count > 1 else 1)


def test_little_work_is_done_in_one_part(threads):
    threads(2)
    total = np.zeros(8, np.int64)
    run([Work(kernel(add_parts), SMALL, (total,))])
    assert total.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


def test_works_share_the_parts_by_their_sizes_and_each_has_one(threads):
    threads(2)
    add, totals = kernel(add_parts), [np.zeros(64, np.int64) for _ in range(3)]
    sizes = (6 * SMALL, 2 * SMALL, 0)
    run([Work(add, size, (total,)) for size, total in zip(sizes, totals, strict=True)])
    assert [np.count_nonzero(total) for total in totals] == [6, 2, 1]
    run([])


def test_several_python_threads_may_run_kernels_at_once(threads):
    threads(2)
    add = kernel(add_parts)
    totals = [np.zeros(64, np.int64) for _ in range(8)]
    workers = [
        threading.Thread(target=run, args=([Work(add, SMALL + 1, (total,))],)) for total in totals
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(total.tolist() == totals[0].tolist() for total in totals)


def test_compiling_is_told_in_the_log_once_and_for_all_processes(tmp_path, caplog):
    source = tmp_path / "fresh.py"
    source.write_text("def fresh(part, parts, total):\n    total[0] = parts\n")
    caplog.set_level(logging.INFO, logger="cellformer")
    for _ in range(2):  # as two processes would
        quick = kernel(runpy.run_path(str(source))["fresh"])
        for _ in range(3):
            run([Work(quick, 0, (np.zeros(8, np.int64),))])
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith("compiled fresh for this machine in ")
    assert str(tmp_path) in message


def test_without_a_folder_for_the_cache_it_is_compiled_without(monkeypatch):
    plain = numba.njit

    def nowhere(*arguments, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return plain(*arguments, **options)

    monkeypatch.setattr(numba, "njit", nowhere)
    total = np.zeros(8, np.int64)
    run([Work(kernel(add_parts), 0, (total,))])
    assert total[0] == 1


def test_a_part_of_a_kernel_is_called_by_compiled_code_alone():
    double = part_of_kernel(lambda number: 2 * number)
    assert numba.njit(lambda number: double(number) + 1)(3) == 7
    with pytest.raises(TypeError, match="not callable"):
        double(3)
    with pytest.raises(TypeError, match="not callable"):
        double(3.0)  # of a kind that no compiled code asked for


def test_another_numba_compiles_parts_in_its_own_way(monkeypatch):
    monkeypatch.setattr(compiled, "LINKED_BY", "0.1.")
    double = part_of_kernel(lambda number: 2 * number)
    assert numba.njit(lambda number: double(number) + 1)(3) == 7
    assert double(3) == 6
