import subprocess
import sys

import pytest

from cellformer.training.memory import keep_freed_memory

FAULTS = """
import resource, sys
import torch
from cellformer.training.memory import keep_freed_memory

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


@pytest.mark.skipif(
    sys.platform != "linux" or not keep_freed_memory(), reason="not the GNU C library"
)
def test_memory_that_was_freed_is_used_again_without_asking_the_system():
    assert page_faults("keep") < 1000 < page_faults("let go")
