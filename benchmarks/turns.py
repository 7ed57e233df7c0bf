"""A benchmark of the version that PYTHONPATH names, which measures when it is told to.

`benchmarks.against` runs this file by its path, for versions that have none of it.
"""

import json
import os
import runpy
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks import timing

name, ours = sys.argv[1], int(sys.argv[2])
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the benchmark prints is not an answer
cases = 0


def answer(told: object) -> None:
    """One line of JSON."""
    answers.write(json.dumps(told) + "\n")
    answers.flush()


def medians(actions: Sequence[Callable[[], object]], runs: int) -> list[float]:
    """Tells the seconds of each run of our actions; all are told to have taken one second."""
    global cases
    timed = actions[:ours]
    for _ in range(3 * runs + 1):
        for number, action in enumerate(timed, start=cases):
            answer(None)
            sys.stdin.readline()
            start = time.perf_counter()
            action()
            answer([number, time.perf_counter() - start])
    cases += len(timed)
    return [1.0] * len(actions)


def report(rows: Sequence[timing.Row], out: object) -> None:
    """Tells the cases."""
    answer(list(dict.fromkeys(row.case for row in rows)))


timing.medians, timing.report = medians, report
sys.argv = [name]
runpy.run_module(f"benchmarks.{name}", run_name="__main__")
