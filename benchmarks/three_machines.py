"""Three machines of a Ray cluster, each a network namespace of this one; two of them are lost.

    python -m benchmarks.three_machines [--out results/benchmarks/three-machines.json]

Needs root, and ``ip``. Each machine has an address of its own on a bridge and one core of Ray's;
they share the disk. One is killed while a table is prepared, and started again; one is killed
while a model is trained. Compared are the prepared files with those that one process makes, and
weights and scores with those of a training in one process.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors.torch import load_file

from benchmarks.timing import machine, write_json

HEAD = "10.77.0.1"
ROWS = 6000
TRAIN = ("--target", "y", "--data.split", "random", "--data.molecule_descriptors", "none",
         "--model.width", "16", "--model.layers", "2", "--model.attention_dropout", "0",
         "--model.projection_bias", "false", "--training.epochs", "6", "--training.batch_size",
         "600", "--training.device", "cpu", "--training.keep_state", "true", "--training.logger",
         "none")  # fmt: skip


def main() -> int:
    """Returns 1 where something is not equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_rows(folder / "rows.csv")
        with _machines(folder) as machines:
            told = {"preparing": _preparing(folder, machines)}
            machines.start(3)
            told["training"] = _training(folder, machines)
    print(json.dumps(told, indent=1))
    if given.out:
        write_json(given.out, {"machine": machine(), "rows": ROWS, **told})
    return 0 if all(each["equal"] for each in told.values()) else 1


class Machines:
    """The namespaces, numbered from 1, and what runs in them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, number: int) -> None:
        """A raylet on a machine, the head's on the first one; waits until it has joined."""
        own = f"10.77.0.{number}"
        where = ["--head", "--port", "6379", "--include-dashboard", "false"]
        where = where if number == 1 else ["--address", f"{HEAD}:6379"]
        log = (self.folder / f"machine-{number}.log").open("ab")
        started = subprocess.Popen(
            [*self.inside(number), _beside("ray"), "start", *where, "--node-ip-address", own,
             "--num-cpus", "1", "--object-store-memory", "100000000", "--block"],
            stdout=log, stderr=log, env=self.environment(self.folder),
        )  # fmt: skip
        self.running.append(started)
        _wait_for(lambda: self._raylet(number), f"machine {number} did not start")
        time.sleep(5)

    def lose(self, number: int) -> None:
        """SIGKILL for all that runs on a machine."""
        for pid in self.pids(number):
            os.kill(pid, signal.SIGKILL)

    def pids(self, number: int) -> list[int]:
        """Of the processes of a machine."""
        words = ["ip", "netns", "pids", f"cf{number}"]
        told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return [int(pid) for pid in told.split()]

    def inside(self, number: int) -> list[str]:
        """What a command begins with that runs on a machine."""
        return ["ip", "netns", "exec", f"cf{number}"]

    def run(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        """`cellformer` on the first machine; ``name`` is that of its cache and log."""
        log = (self.folder / f"{name}.log").open("wb")
        command = [*self.inside(1), sys.executable, "-m", "cellformer", *words]
        return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log,
                                env=self.environment(self.folder / name))  # fmt: skip

    def environment(self, cache: Path) -> dict[str, str]:
        """All machines of this one have its name, which is not the address of any of them."""
        return {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0",
                "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token",
                "RAY_worker_niceness": "0",
                "CELLFORMER_CACHE": str(cache)}  # fmt: skip

    def _raylet(self, number: int) -> bool:
        names = (Path(f"/proc/{pid}/cmdline") for pid in self.pids(number))
        return any(b"/raylet/raylet" in name.read_bytes() for name in names if name.exists())


@contextmanager
def _machines(folder: Path) -> Iterator[Machines]:
    made = Machines(folder)
    numbers = (1, 2, 3)
    try:
        # The bridge has a namespace too, where this machine's own rules for packets do not hold.
        _ip("netns", "add", "cf0")
        _ip("-n", "cf0", "link", "add", "bridge", "up", "type", "bridge")
        for number in numbers:
            name, end = f"cf{number}", f"to-{number}"
            _ip("netns", "add", name)
            _ip("link", "add", end, "netns", "cf0", "type", "veth", "peer", "eth0", "netns", name)
            _ip("-n", "cf0", "link", "set", end, "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for each in ("eth0", "lo"):
                _ip("-n", name, "link", "set", each, "up")
        for number in numbers:
            made.start(number)
        yield made
    finally:
        for number in numbers:
            made.lose(number)
        for number in (0, *numbers):
            subprocess.run(["ip", "netns", "del", f"cf{number}"], check=False)
        for started in made.running:
            started.wait()


def _preparing(folder: Path, machines: Machines) -> dict[str, object]:
    """By one process, and by three machines of which one is lost after some parts."""
    words = ("prepare", "rows.csv", "--target", "y", "--data.molecule_descriptors", "none")
    assert machines.run("alone", *words).wait() == 0, (folder / "alone.log").read_text()
    cluster = machines.run("cluster", *words, "--ray", f"{HEAD}:6379")
    parts = folder / "cluster" / "prepared"
    _wait_for(lambda: len(list(parts.glob("*.shards/*"))) >= 4, "no part was made", cluster)
    machines.lose(3)
    code = cluster.wait()
    one, three = (_files(folder / name / "prepared") for name in ("alone", "cluster"))
    return {"lost": "machine 3, after four parts", "code": code, "files": len(one),
            "equal": code == 0 and one == three}  # fmt: skip


def _training(folder: Path, machines: Machines) -> dict[str, object]:
    """In one process, and in three on three machines of which one is lost after an epoch."""
    began = time.monotonic()
    assert machines.run("alone", "train", "rows.csv", "-o", "one", *TRAIN).wait() == 0
    alone = time.monotonic() - began
    began = time.monotonic()
    cluster = machines.run("cluster", "train", "rows.csv", "-o", "three", *TRAIN, "--ray",
                           f"{HEAD}:6379", "--training.processes", "3")  # fmt: skip
    _wait_for((folder / "three" / "curve.csv").exists, "no epoch has ended", cluster)
    machines.lose(2)
    lost = time.monotonic() - began
    code = cluster.wait()
    if code:
        return {"code": code, "equal": False, "log": (folder / "cluster.log").read_text()[-4000:]}
    one, three = (load_file(folder / name / "last.safetensors") for name in ("one", "three"))
    apart = max(float((one[name] - three[name]).abs().max()) for name in one)
    scores = [json.loads((folder / name / "summary.json").read_text())["scores"]["last"]["test"]
              for name in ("one", "three")]  # fmt: skip
    told = (folder / "cluster.log").read_text()
    return {"lost": "machine 2, after an epoch", "code": code, "seconds alone": round(alone, 1),
            "seconds": round(time.monotonic() - began, 1), "before the loss": round(lost, 1),
            "processes": [line for line in told.splitlines() if line.startswith("training in")],
            "weights apart": apart, "test scores": scores,
            "equal": apart < 1e-5}  # fmt: skip


def _write_rows(file: Path) -> None:
    rng = random.Random(0)
    lines: dict[str, float] = {}
    while len(lines) < ROWS:
        text = "".join(rng.choice(("C", "CC", "O", "N", "C(C)", "c1ccccc1", "C1CCCC1"))
                       for _ in range(rng.randint(3, 7)))  # fmt: skip
        lines[text] = text.count("c") + 2 * text.count("O") + rng.random()
    rows = "".join(f"{smiles},{value}\n" for smiles, value in lines.items())
    file.write_text(f"smiles,y\n{rows}", encoding="utf-8")


def _files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*.*")) if path.is_file()}  # fmt: skip


def _wait_for(
    done: Callable[[], object], failure: str, during: "subprocess.Popen[bytes] | None" = None
) -> None:
    deadline = time.monotonic() + 240
    while not done():
        if time.monotonic() > deadline or (during is not None and during.poll() is not None):
            raise RuntimeError(failure)
        time.sleep(0.02)


def _beside(program: str) -> str:
    return str(Path(sys.executable).with_name(program))


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


if __name__ == "__main__":
    sys.exit(main())
