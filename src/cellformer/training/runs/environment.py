"""Where and by what program a run was trained, from the moment when it began."""

import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import torch

from cellformer.basics.decoding import decoded
from cellformer.basics.sealed import FaultError, read_sealed
from cellformer.training.runs.run_folder import RunFolder, write_json

PACKAGE = Path(__file__).resolve().parents[1]
CURE = "delete it; only the dates and machines of earlier sessions are lost"
PACKAGES = ("cellformer", "torch", "lightning", "numpy", "scipy", "rdkit")


@dataclass(frozen=True)
class SourceState:
    """The state of a git checkout."""

    commit: str
    """The commit that it stands at."""
    dirty: bool
    """Whether files of the package differ from that commit."""


@dataclass(frozen=True)
class Machine:
    """What computes."""

    platform: str
    """The operating system."""
    processor: str
    """The name of the processor."""
    threads: int
    """Threads of torch in a process."""
    gpus: tuple[str, ...]
    """The names of the GPUs that are there."""
    processes: int
    """Processes that train together."""


@dataclass(frozen=True)
class Session:
    """One stretch of a training, from where it began or went on to its end or interruption."""

    began: str | None
    """When, as in 2026-01-31T12:00:00+00:00; None for a run from before this was kept."""
    source: SourceState | None
    """The source of the program; None where it did not run from a git checkout."""
    versions: Mapping[str, str | None]
    """Of Python and of the packages that count; None for one that was not installed."""
    machine: Machine
    """Where."""


def begin_session(folder: RunFolder, processes: int = 1) -> None:
    """Adds to sessions.json what trains now, in so many processes together.

    A run that was interrupted has several sessions.
    """
    now = Session(
        datetime.now(UTC).isoformat(timespec="seconds"),
        source_state(),
        {"python": platform.python_version()} | {n: _version(n) for n in PACKAGES},
        replace(machine(), processes=processes),
    )
    told = [asdict(each) for each in (*read_sessions(folder), now)]
    write_json(folder.sessions, {"sessions": told})


def read_sessions(folder: RunFolder) -> tuple[Session, ...]:
    """The sessions so far, the first one first; none for a run of an older version.

    Raises ValueError, naming file and field, where one is off.
    """
    if not folder.sessions.exists():
        return ()
    told = read_sealed(folder.sessions, CURE)
    if isinstance(told, dict):  # a bare list in files of before
        told = told.get("sessions")
    if not isinstance(told, list):
        raise FaultError(f"{folder.sessions} holds no list of sessions", CURE)
    return tuple(decoded(Session, each, f"{folder.sessions}[{n}]") for n, each in enumerate(told))


@cache
def source_state(package: Path = PACKAGE) -> SourceState | None:
    """The commit of the source that runs, and whether files of it differ from the commit.

    None where the package is not part of a git checkout, or git is not there. It is found out once
    per process: a checkout may move on while an older state of it is still at work.
    """
    try:
        if not _git(package, "ls-files", "__init__.py"):
            return None  # it lies in somebody else's checkout, as in a virtual environment
        commit = _git(package, "rev-parse", "HEAD")
        dirty = bool(_git(package, "status", "--porcelain", "--", "."))
    except (OSError, subprocess.SubprocessError):
        return None
    return SourceState(commit, dirty)


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(folder), *arguments],
        capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout.strip()


def machine() -> Machine:
    """What computes here, in one process."""
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return Machine(platform.platform(), _processor(), torch.get_num_threads(), tuple(devices), 1)


@cache
def _version(package: str) -> str | None:
    """None where a package runs from its source, or is not there because nothing needed it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor()
