"""What the parts of gpu.sh share: options, results that survive a time limit, and a clock."""

import argparse
import json
import platform
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from cellformer.attention.gpu.operator import interpret_on_cpu

PACKAGES = ("torch", "triton", "torch-geometric", "numba", "numpy", "lightning")


def versions() -> dict[str, str | None]:
    """Of Python and of the packages used, None for a missing one."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


@dataclass
class Part:
    """One part of gpu.sh: where it runs, and its results, written after each one."""

    file: str
    device: torch.device
    small: bool
    out: Path
    scratch: Path
    seconds: float
    started: float = field(default_factory=time.monotonic)
    rows: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_command_line(cls, file: str) -> "Part":
        """Reads the options that gpu.sh gives."""
        options = argparse.ArgumentParser()
        options.add_argument("--device", default="cuda")
        options.add_argument("--small", type=int, default=0)
        options.add_argument("--out", type=Path, default=Path("."))
        options.add_argument("--scratch", type=Path, default=Path("."))
        options.add_argument("--seconds", type=float, default=600)
        given = options.parse_args()
        device = torch.device(given.device)
        if device.type == "cpu":
            interpret_on_cpu()
        return cls(file, device, bool(given.small), given.out, given.scratch, given.seconds)

    @property
    def left(self) -> float:
        """Seconds until this part is stopped."""
        return self.started + self.seconds - time.monotonic()

    def case(self, measure: Callable[[], dict[str, Any]], **names: Any) -> None:
        """Adds what is measured, or why it could not be, and writes the file."""
        if self.left < 5:
            print(names, "no time left")
            return
        try:
            row = names | measure()
        except Exception as error:
            traceback.print_exc()
            row = names | {"error": f"{type(error).__name__}: {error}"[:500]}
        self.rows.append(row)
        print(json.dumps(row))
        if self.device.type == "cuda":
            name = torch.cuda.get_device_name(self.device)
            torch.cuda.empty_cache()
        else:
            name = platform.processor() or platform.machine()
        figures = {"machine": {"device": name}, "versions": versions(), "rows": self.rows}
        (self.out / self.file).write_text(json.dumps(figures, indent=2) + "\n")

    def wait(self) -> None:
        """Until the device has done all that it was told to do."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def median(self, action: Callable[[], object], runs: int) -> float:
        """The median seconds of an action that runs alone, after some that are not counted."""
        taken = []
        for run in range(3 + runs):
            self.wait()
            start = time.perf_counter()
            action()
            self.wait()
            if run >= 3:
                taken.append(time.perf_counter() - start)
        return statistics.median(taken)

    def peak_mib(self, action: Callable[[], object]) -> float | None:
        """The most memory that PyTorch held on the device during an action."""
        if self.device.type != "cuda":
            action()
            return None
        self.wait()
        torch.cuda.reset_peak_memory_stats(self.device)
        action()
        self.wait()
        return torch.cuda.max_memory_allocated(self.device) / 2**20


def precision(name: str) -> tuple[torch.dtype, bool]:
    """The type of the inputs and whether TF32 is on, for "float32", "TF32" or "bf16"."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name == "TF32"
    return (torch.bfloat16 if name == "bf16" else torch.float32), name == "TF32"
