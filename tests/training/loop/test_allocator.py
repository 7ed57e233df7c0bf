import os
import subprocess
import sys

import pytest

from cellformer.training.loop import allocator as memory
from cellformer.training.loop.allocator import ask_for_large_pages, keep_freed_memory

of_gnu = pytest.mark.skipif(
    sys.platform != "linux" or not keep_freed_memory(), reason="not the GNU C library"
)

FAULTS = """
import resource, sys
import torch
from cellformer.training.loop.allocator import keep_freed_memory

if sys.argv[1] == "keep":
    assert keep_freed_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def step():
    for _ in range(4):
        large = [torch.ones(12_000_000) for _ in range(2)]
        del large

for _ in range(5):  # until the heap is large enough for all that comes between
    step()
before = faults()
step()
print(faults() - before)
"""


def page_faults(how):
    output = subprocess.run(
        [sys.executable, "-c", FAULTS, how], check=True, capture_output=True, text=True
    )
    return int(output.stdout)


@of_gnu
def test_memory_that_was_freed_is_used_again_without_asking_the_system():
    assert page_faults("keep") < 1000 < page_faults("let go")


HELD = """
from pathlib import Path
import numpy as np
from cellformer.training.loop.allocator import freed_memory_kept

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def use():
    some = [np.ones(1_000_000) for _ in range(20)]
    between = np.ones(1000)  # keeps what is below it from the top of the heap
    del some
    return between

before = held()
with freed_memory_kept():
    kept = use()
    within = held()
print(within - before, held() - before)
"""


@of_gnu
def test_memory_goes_back_when_the_steps_are_over():
    told = subprocess.run([sys.executable, "-c", HELD], check=True, capture_output=True, text=True)
    within, after = map(int, told.stdout.split())
    assert within > 150e6 > 20e6 > after


@pytest.mark.parametrize(
    ("system", "before", "after"),
    [
        ("always [madvise] never", None, "1"),
        ("always [madvise] never", "0", "0"),
        ("always madvise [never]", None, None),
        (None, None, None),
    ],
)
def test_large_pages_are_asked_for_where_there_are_any(
    tmp_path, monkeypatch, system, before, after
):
    monkeypatch.setattr(memory, "LARGE_PAGES", tmp_path / "enabled")
    if system is not None:
        memory.LARGE_PAGES.write_text(system)
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", before or "")
    if before is None:
        monkeypatch.delenv("THP_MEM_ALLOC_ENABLE")
    ask_for_large_pages()
    assert os.environ.get("THP_MEM_ALLOC_ENABLE") == after


def test_the_command_asks_before_pytorch_looks():
    code = (
        "import sys, os; from cellformer.cli.main import main\n"
        "try: main(['info', '--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
