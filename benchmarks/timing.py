"""Timing side by side, and the table and file that come of it."""

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from cellformer.basics.files import replace_atomically

PACKAGES = ("cellformer", "torch", "numba", "numpy", "torch-geometric", "toponetx")


@dataclass(frozen=True)
class Row:
    """Medians in seconds, of ``runs`` runs each; the ratio is the peer's over ours."""

    case: str
    peer: str
    ours_s: float
    peer_s: float
    ratio: float
    runs: int


def medians(actions: Sequence[Callable[[], object]], runs: int) -> list[float]:
    """The median seconds of each action, the runs taking turns, after one that is not counted.

    Taking turns lets whatever else the machine does fall on all of them alike.
    """
    for action in actions:
        action()
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(runs):
        for action, taken in zip(actions, seconds, strict=True):
            start = time.perf_counter()
            action()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]


def rows_of(
    case: str, ours: Callable[[], object], peers: dict[str, Callable[[], object]], runs: int
) -> list[Row]:
    """Times ours and all peers together."""
    ours_s, *peers_s = medians([ours, *peers.values()], runs)
    return [
        Row(case, name, ours_s, peer_s, peer_s / ours_s, runs)
        for name, peer_s in zip(peers, peers_s, strict=True)
    ]


def processor_seconds() -> float:
    """What the processor spent on this process and the ended ones that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def data_folder() -> Path:
    """Where the real data sets lie; raises SystemExit, saying what to do, if that is not told."""
    folder = os.environ.get("CELLFORMER_DATA")
    if not folder:
        raise SystemExit("set CELLFORMER_DATA to the folder of the data sets")
    return Path(folder)


def machine() -> dict[str, object]:
    """What the figures depend on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
    }


def versions() -> dict[str, str]:
    """Of Python and of the packages timed."""
    return {"python": platform.python_version()} | {
        package: metadata.version(package) for package in PACKAGES
    }


def parser(description: str, runs: int) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    options.add_argument("--runs", type=int, default=runs, help="runs of which the median is taken")
    return options


def report(rows: Sequence[Row], out: Path | None) -> None:
    """Prints a table and writes the file, if one is wanted."""
    described = machine()
    print(", ".join(f"{name} {value}" for name, value in described.items()))
    case, peer = (max(len(getattr(row, name)) for row in rows) for name in ("case", "peer"))
    print(f"{'case':{case}} {'peer':{peer}} {'ours':>11} {'peer':>11} {'ratio':>7} {'runs':>5}")
    for row in rows:
        print(
            f"{row.case:{case}} {row.peer:{peer}} {1e3 * row.ours_s:8.1f} ms "
            f"{1e3 * row.peer_s:8.1f} ms {row.ratio:7.3g} {row.runs:5}"
        )
    write_figures(rows, out)


def write_json(path: Path, told: object) -> None:
    """Writes a file whole or not at all."""
    with replace_atomically(path) as unfinished:
        unfinished.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def write_figures(rows: Sequence[Any], out: Path | None) -> None:
    """Writes rows, which are dataclasses, with all that they depend on, if a file is wanted."""
    if out:
        figures = {
            "machine": machine(),
            "versions": versions(),
            "rows": [asdict(row) for row in rows],
        }
        out.write_text(json.dumps(figures, indent=2) + "\n")
