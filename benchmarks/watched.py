"""A command, and the memory of its processes while it runs. Linux only."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.timing import processor_seconds

EVERY = 0.1
"""Seconds between two looks."""
MOST_SAMPLES = 100
"""Samples over time that are kept."""


@dataclass
class Watched:
    """What a command took. Memory is what the system cannot take back: not the pages of files."""

    seconds: float = 0.0
    processor_s: float = 0.0
    main_bytes: int = 0  # at the peak of the main process
    worker_bytes: int = 0  # at the peak of any other program that it started
    with_files_bytes: int = 0  # the main process's, the pages of mapped files among it
    samples: list[tuple[float, int, int]] = field(default_factory=list)
    """Seconds, and the bytes of the main process and of the largest other one."""


def watch(command: Sequence[str], environment: Mapping[str, str]) -> Watched:
    """Runs a command to its end; raises SystemExit, with what it said, where it fails."""
    found, began = Watched(), time.monotonic()
    spent = processor_seconds()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    ended = threading.Event()
    looking = threading.Thread(target=_look, args=(process.pid, found, began, ended))
    looking.start()
    told, _ = process.communicate()
    ended.set()
    looking.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{told}")
    found.seconds = time.monotonic() - began
    found.processor_s = processor_seconds() - spent
    found.samples = _thinned(found.samples)
    return found


def _look(main: int, found: Watched, began: float, ended: threading.Event) -> None:
    while not ended.wait(EVERY):
        own, program = _status(main), _program(main)
        # Between its start and its program's, a process shares the pages of the one that starts it.
        started = [each for each in below(main) if _program(each) != program]
        others = max((_status(each)["kept"] for each in started), default=0)
        found.main_bytes = max(found.main_bytes, own["kept"])
        found.worker_bytes = max(found.worker_bytes, others)
        found.with_files_bytes = max(found.with_files_bytes, own["peak"])
        if own["kept"]:  # it has not ended
            found.samples.append((time.monotonic() - began, own["kept"], others))


def _status(process: int) -> dict[str, int]:
    """Bytes that a process keeps, and its peak with mapped files; 0 of one that has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {"kept": 0, "peak": 0}
    told = dict(line.split(":", 1) for line in lines)
    sizes = {name: 1024 * int(told.get(name, "0").split()[0])
             for name in ("RssAnon", "RssShmem", "VmHWM")}  # fmt: skip
    return {"kept": sizes["RssAnon"] + sizes["RssShmem"], "peak": sizes["VmHWM"]}


def _program(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def below(process: int) -> list[int]:
    """The processes that one has started, and those that these have."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            started = [int(each) for each in task.read_text().split()]
        except OSError:
            continue
        for each in started:
            found += [each, *below(each)]
    return found


def _thinned(samples: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """The largest of every few samples, at the time of the first of them."""
    step = -(-len(samples) // MOST_SAMPLES) or 1
    groups = [samples[at : at + step] for at in range(0, len(samples), step)]
    return [
        (round(some[0][0], 2), max(main for _, main, _ in some), max(other for *_, other in some))
        for some in groups
    ]


def environment(cache: Path, threads: int = 1) -> dict[str, str]:
    """That of this process, with a cache of its own and so many threads of linear algebra."""
    return os.environ | {"CELLFORMER_CACHE": str(cache), "OMP_NUM_THREADS": str(threads)}
