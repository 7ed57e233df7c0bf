"""Where and by what program a run was trained, from the moment when it began."""

import json
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from cellformer.training.runs.run_folder import RunFolder, write_json

PACKAGE = Path(__file__).resolve().parents[1]
PACKAGES = ("cellformer", "torch", "lightning", "numpy", "scipy", "rdkit")


def begin_session(folder: RunFolder, processes: int = 1) -> None:
    """Adds to sessions.json what trains now, in so many processes together.

    A run that was interrupted has several sessions.
    """
    now = {
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source_state(),
        "versions": {"python": platform.python_version()} | {n: _version(n) for n in PACKAGES},
        "machine": machine() | {"processes": processes},
    }
    write_json(folder.sessions, [*read_sessions(folder), now])


def read_sessions(folder: RunFolder) -> list[dict[str, Any]]:
    """The sessions so far, the first one first; none for a run of an older version."""
    if not folder.sessions.exists():
        return []
    told: list[dict[str, Any]] = json.loads(folder.sessions.read_text(encoding="utf-8"))
    return told


@cache
def source_state(package: Path = PACKAGE) -> dict[str, Any] | None:
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
    return {"commit": commit, "dirty": dirty}


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(folder), *arguments],
        capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """What computes here."""
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "threads": torch.get_num_threads(),
        "gpus": devices,
    }


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
