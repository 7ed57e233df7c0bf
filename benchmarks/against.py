"""This version against an earlier one: two processes take turns, one measurement of each.

A processor that is shared with others changes its speed within seconds, so that runs one after the
other tell little. Here every measurement of one version has one of the other right beside it; what
counts is the median of their ratios.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import machine, versions, write_json

ROOT = Path(__file__).parents[1]
TURNS = Path(__file__).with_name("turns.py")
OURS = {"attention": 1, "step": 1, "pairs": 1, "epoch": -1, "prepare": 1}
"""Of each benchmark, up to which of the actions that it times together they are ours."""
MEMORY = ("encode_s", "batch_s", "step_s", "peak_bytes")


@dataclass(frozen=True)
class Compared:
    """The earlier version's figure over this one's: above 1 where this one is faster or smaller."""

    case: str
    before: float
    now: float
    """Medians, in seconds or bytes."""
    ratio: float
    """The median of the ratios of neighbors."""
    best_ratio: float
    """Of the least figure of each."""
    runs: int


def compared(case: str, before: list[float], now: list[float]) -> Compared:
    """The figures of both in the order in which they were measured."""
    ratios = [old / new for old, new in zip(before, now, strict=True)]
    return Compared(
        case,
        statistics.median(before),
        statistics.median(now),
        statistics.median(ratios),
        min(before) / min(now),
        len(now),
    )


def order(turn: int) -> tuple[int, int]:
    """Which of both versions is measured first and second: each as often as the other."""
    return (0, 1) if turn % 2 else (1, 0)


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A folder with the files of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "archive", commit, "src", "benchmarks"],
            cwd=ROOT, capture_output=True, check=True,
        )  # fmt: skip
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder)


def environment(tree: Path, caches: Path) -> dict[str, str]:
    """What a version runs in: its own code, and a cache that no other version reads."""
    return os.environ | {
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "CELLFORMER_CACHE": str(caches / tree.name),
    }


class Taking:
    """A benchmark of one version, which waits before each measurement until it is told to."""

    def __init__(self, tree: Path, caches: Path, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(TURNS), name, str(OURS[name])],
            env=environment(tree, caches),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def told(self) -> list[str | float] | None:
        """The names of all cases at its end; None where it is ready for the next measurement."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args!r} ended with {self.process.wait()}")
        told: list[str | float] | None = json.loads(line)
        return told

    def measure(self) -> list[float]:
        """The number of the case, and its seconds."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        told = self.told()
        assert told is not None
        return [float(number) for number in told]

    def end(self) -> None:
        """Also where it has not come to its end."""
        with self.process:
            self.process.kill()


def taking_turns(name: str, trees: list[Path], caches: Path) -> list[Compared]:
    """Every case of a benchmark."""
    with ExitStack() as stack:
        both = [Taking(tree, caches, name) for tree in trees]
        for each in both:
            stack.callback(each.end)
        taken: list[dict[float, list[float]]] = [{}, {}]
        turn = 0
        while True:
            names, others = (each.told() for each in both)
            if names is not None or others is not None:
                break
            for at in order(turn):
                case, seconds = both[at].measure()
                taken[at].setdefault(case, []).append(seconds)
            turn += 1
        if names is None or names != others or len(names) != len(taken[0]):
            raise SystemExit(f"{name}: the versions have different cases, {names} and {others}")
    before, now = taken
    return [
        compared(f"{name}: {told}", before[case][1:], now[case][1:])  # the first warms up
        for case, told in enumerate(names)
    ]


def memory(trees: list[Path], caches: Path, runs: int, cells: int = 100_000) -> list[Compared]:
    """What `benchmarks.memory` measures of one complex, a process each time."""
    command = [sys.executable, "-m", "benchmarks.memory", f"--cells={cells}"]
    command += ["--attention=pairwise-sparse", "--implementation=fused"]
    taken: list[list[dict[str, float]]] = [[], []]
    for turn in range(runs):
        for at in order(turn):
            told = subprocess.run(
                command, env=environment(trees[at], caches), cwd=trees[at],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            taken[at].append(json.loads(told.stdout))
    return [
        compared(f"memory: {cells} cells, {name}", *([run[name] for run in of] for of in taken))
        for name in MEMORY
    ]


def main() -> None:
    """All benchmarks that are asked for, one after the other."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("commit", help="of the earlier version")
    options.add_argument("names", nargs="*", default=[*OURS, "memory"], help="benchmarks")
    options.add_argument("--runs", type=int, default=9, help="of memory; others have their own")
    options.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    chosen = options.parse_args()
    rows: list[Compared] = []
    with checked_out(chosen.commit) as before, tempfile.TemporaryDirectory() as caches:
        trees = [before, ROOT]
        for name in chosen.names:
            if name == "memory":
                found = memory(trees, Path(caches), chosen.runs)
            else:
                found = taking_turns(name, trees, Path(caches))
            for row in found:
                print(
                    f"{row.case:50} {row.before:10.4g} {row.now:10.4g} {row.ratio:7.3f} "
                    f"{row.best_ratio:7.3f} {row.runs:4}",
                    flush=True,
                )
            rows += found
            if chosen.out:
                told = {"machine": machine(), "versions": versions(), "before": chosen.commit}
                write_json(chosen.out, told | {"rows": [vars(row) for row in rows]})


if __name__ == "__main__":
    main()
