"""Three machines of a Ray cluster, each a network namespace of this one; two of them are lost.

    python -m benchmarks.three_machines [--apart] [--out results/benchmarks/three-machines.json]

Needs root, ``ip`` and ``nsenter``. Each machine has an address of its own on a bridge and one core
of Ray's; they share the disk. One is killed while a table is prepared, and started again; one is
killed while a model is trained. Compared are the prepared files with those that one process makes,
and weights and scores with those of a training in one process. A training that was begun by the two
that are left goes on in three processes when the third machine is started again, and in two when
its line is cut.

With ``--apart`` each machine has a disk of its own, which is lost with it, and all that they share
is an S3 server (pip install "moto[server]" s3fs): the table lies there, and what was prepared.
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

HEAD, STORAGE = "10.77.0.1", "10.77.0.254"
BUCKET = "bucket"
PREPARED = f"s3://{BUCKET}/prepared"
ROWS = 6000
TRAIN = ("--target", "y", "--data.split", "random", "--data.molecule_descriptors", "none",
         "--model.width", "16", "--model.layers", "2", "--model.attention_dropout", "0",
         "--model.projection_bias", "false", "--training.epochs", "6", "--training.batch_size",
         "600", "--training.device", "cpu", "--training.keep_state", "true", "--training.logger",
         "none")  # fmt: skip


def main() -> int:
    """Returns 1 where something is not equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_rows(folder / "rows.csv")
        with _machines(folder, given.apart) as machines:
            told = {"preparing": _preparing(machines)}
            machines.start(3)
            told["training"] = _training(machines)
            told["joining"] = _joining(machines)
    print(json.dumps(told, indent=1))
    if given.out:
        shared = "an S3 server" if given.apart else "the disk"
        write_json(given.out, {"machine": machine(), "rows": ROWS, "shared": shared, **told})
    return 0 if all(each["equal"] for each in told.values()) else 1


class Machines:
    """The namespaces, numbered from 1, and what runs in them."""

    def __init__(self, folder: Path, apart: bool):
        self.folder = folder
        self.apart = apart
        self.running: list[subprocess.Popen[bytes]] = []
        self.inits: dict[int, int] = {}
        """Of each machine the process that is there as long as it is."""

    @property
    def table(self) -> str:
        """The rows, as all machines find them."""
        return f"s3://{BUCKET}/rows.csv" if self.apart else "rows.csv"

    def start(self, number: int) -> None:
        """A raylet on a machine, the head's on the first one; waits until it has joined."""
        self._boot(number)
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
        """What a command begins with that runs on a machine, in the folder there."""
        there = 'cd "$0" && exec "$@"'
        return ["nsenter", "-t", str(self.inits[number]), "-m", "-n", "sh", "-c", there,
                str(self.folder)]  # fmt: skip

    def seen(self, number: int, *names: str) -> Path:
        """A path in the folder of a machine, as it is seen from outside."""
        return Path(f"/proc/{self.inits[number]}/root", *self.folder.parts[1:], *names)

    def run(self, name: str, *words: str, remote: str | None = None) -> "subprocess.Popen[bytes]":
        """`cellformer` on the first machine; ``name`` is that of its cache and log."""
        log = (self.folder / f"{name}.log").open("wb")
        command = [*self.inside(1), sys.executable, "-m", "cellformer", *words]
        own = self.environment(self.folder / name)
        own |= {} if remote is None else {"CELLFORMER_REMOTE": remote}
        return subprocess.Popen(command, stdout=log, stderr=log, env=own)

    def serve(self) -> None:
        """An S3 server that all machines reach, with the table in its bucket."""
        _ip("-n", "cf0", "addr", "add", f"{STORAGE}/24", "dev", "bridge")
        inside, log = ["ip", "netns", "exec", "cf0"], (self.folder / "storage.log").open("wb")
        own = self.environment(self.folder)
        server = [_beside("python"), "-m", "moto.server", "-H", STORAGE, "-p", "5000"]
        self.running.append(subprocess.Popen([*inside, *server], stdout=log, stderr=log, env=own))
        put = (
            "import fsspec, sys, time\n"
            "files = fsspec.filesystem('s3')\n"
            "for _ in range(100):\n"
            "    try:\n"
            f"        files.exists('{BUCKET}') or files.mkdir('{BUCKET}'); break\n"
            "    except Exception: time.sleep(0.3)\n"
            f"files.put_file(sys.argv[1], '{BUCKET}/rows.csv')\n"
        )
        table = str(self.folder / "rows.csv")
        subprocess.run([*inside, sys.executable, "-c", put, table], check=True, env=own)

    def _boot(self, number: int) -> None:
        """The first process of a machine, with a disk of its own where they are apart."""
        disk = 'mount -t tmpfs tmpfs "$0" &&' if self.apart else ""
        mark = f"booted-{number}-{len(self.running)}"
        started = subprocess.Popen(
            ["ip", "netns", "exec", f"cf{number}", "unshare", "-m", "--propagation", "private",
             "sh", "-c", f'{disk} cd "$0" && touch {mark} && exec sleep infinity',
             str(self.folder)]
        )  # fmt: skip
        self.running.append(started)
        self.inits[number] = started.pid  # each program of the line takes the place of the last
        _wait_for(self.seen(number, mark).exists, f"machine {number} has no disk")

    def environment(self, cache: Path) -> dict[str, str]:
        """All machines of this one have its name, which is not the address of any of them."""
        return {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0",
                "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token",
                "RAY_worker_niceness": "0", "AWS_ENDPOINT_URL": f"http://{STORAGE}:5000",
                "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any",
                "AWS_DEFAULT_REGION": "us-east-1",
                "CELLFORMER_CACHE": str(cache)}  # fmt: skip

    def _raylet(self, number: int) -> bool:
        names = (Path(f"/proc/{pid}/cmdline") for pid in self.pids(number))
        return any(b"/raylet/raylet" in name.read_bytes() for name in names if name.exists())


@contextmanager
def _machines(folder: Path, apart: bool) -> Iterator[Machines]:
    made = Machines(folder, apart)
    numbers = (1, 2, 3)
    try:
        # The bridge has a namespace too, where this machine's own rules for packets do not hold.
        _ip("netns", "add", "cf0")
        _ip("-n", "cf0", "link", "set", "lo", "up")
        _ip("-n", "cf0", "link", "add", "bridge", "up", "type", "bridge")
        for number in numbers:
            name, end = f"cf{number}", f"to-{number}"
            _ip("netns", "add", name)
            _ip("link", "add", end, "netns", "cf0", "type", "veth", "peer", "eth0", "netns", name)
            _ip("-n", "cf0", "link", "set", end, "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for each in ("eth0", "lo"):
                _ip("-n", name, "link", "set", each, "up")
        if apart:
            made.serve()
        for number in numbers:
            made.start(number)
        yield made
    finally:
        for number in (0, *numbers):
            made.lose(number)
        for number in (0, *numbers):
            subprocess.run(["ip", "netns", "del", f"cf{number}"], check=False)
        for started in made.running:
            started.wait()


def _preparing(machines: Machines) -> dict[str, object]:
    """By one process, and by three machines of which one is lost after some parts."""
    words = ("prepare", machines.table, "--target", "y", "--data.molecule_descriptors", "none")
    alone = machines.run("alone", *words)
    assert alone.wait() == 0, (machines.folder / "alone.log").read_text()
    further = ("--to", PREPARED) if machines.apart else ()
    cluster = machines.run("cluster", *words, "--ray", f"{HEAD}:6379", *further)
    parts = machines.seen(1, "cluster", "prepared")
    _wait_for(lambda: len(list(parts.glob("*.shards/*"))) >= 4, "no part was made", cluster)
    machines.lose(3)
    code = cluster.wait()
    one, three = (_files(machines.seen(1, name, "prepared")) for name in ("alone", "cluster"))
    told = {"lost": "machine 3, after four parts", "code": code, "files": len(one),
            "equal": code == 0 and one == three}  # fmt: skip
    return told if told["equal"] else told | {"log": _end_of(machines, "cluster")}


def _training(machines: Machines) -> dict[str, object]:
    """In one process, and in three on three machines of which one is lost after an epoch.

    Where they are apart the three read what was prepared from the storage.
    """
    began = time.monotonic()
    assert machines.run("alone", "train", machines.table, "-o", "one", *TRAIN).wait() == 0
    alone = time.monotonic() - began
    began = time.monotonic()
    name, remote = ("anew", PREPARED) if machines.apart else ("cluster", None)
    cluster = machines.run(name, "train", machines.table, "-o", "three", *TRAIN, "--ray",
                           f"{HEAD}:6379", "--training.processes", "3", remote=remote)  # fmt: skip
    try:
        curve = machines.seen(1, "three", "curve.csv")
        _wait_for(curve.exists, "no epoch has ended", cluster)
    except RuntimeError as error:
        return {"equal": False, "failure": str(error), "log": _end_of(machines, name)}
    machines.lose(2)
    lost = time.monotonic() - began
    code = cluster.wait()
    if code:
        return {"code": code, "equal": False, "log": _end_of(machines, name)}
    folders = [machines.seen(1, each) for each in ("one", "three")]
    one, three = (load_file(each / "last.safetensors") for each in folders)
    apart = max(float((one[name] - three[name]).abs().max()) for name in one)
    scores = [json.loads((each / "summary.json").read_text())["scores"]["last"]["test"]
              for each in folders]  # fmt: skip
    told = (machines.folder / f"{name}.log").read_text()
    return {"lost": "machine 2, after an epoch", "code": code, "seconds alone": round(alone, 1),
            "seconds": round(time.monotonic() - began, 1), "before the loss": round(lost, 1),
            "told": [line for line in told.splitlines() if line.startswith(("training in", "/"))
                     or " is read from " in line],
            "weights apart": apart, "test scores": scores,
            "equal": apart < 1e-5}  # fmt: skip


def _joining(machines: Machines) -> dict[str, object]:
    """Begun on the two machines that are left; the third comes back, is cut off, and then the
    command is stopped."""
    remote = PREPARED if machines.apart else None
    words = [*TRAIN, "--training.epochs", "2000", "--training.processes", "3"]
    cluster = machines.run("joined", "train", machines.table, "-o", "joined", *words, "--ray",
                           f"{HEAD}:6379", remote=remote)  # fmt: skip

    def goes_on(processes: int, time_of: str) -> float:
        """Seconds until it is told that so many train, and two epochs have ended since."""
        began, log = time.monotonic(), machines.folder / "joined.log"
        line, before = f"training in {processes} processes", log.read_text()
        _wait_for(lambda: line in log.read_text()[len(before) :], f"{time_of}: nothing", cluster)
        seconds, epochs = time.monotonic() - began, _epochs(machines)
        _wait_for(lambda: _epochs(machines) > epochs + 2, f"{time_of}: no epoch", cluster)
        return round(seconds, 1)

    goes_on(2, "at the beginning")
    machines.start(2)
    joined = goes_on(3, "after the third came")
    _ip("-n", "cf0", "link", "set", "to-2", "down")
    parted = goes_on(2, "after the third was cut off")
    cluster.send_signal(signal.SIGTERM)
    code = cluster.wait()
    return {"joined": "machine 2, in a training of two", "seconds until it trains": joined,
            "seconds from cutting its line until two train": parted, "code": code,
            "epochs": _epochs(machines), "equal": code == 75}  # fmt: skip


def _epochs(machines: Machines) -> int:
    curve = machines.seen(1, "joined", "curve.csv")
    return curve.read_bytes().count(b"\n") - 1 if curve.exists() else 0


def _end_of(machines: Machines, name: str) -> str:
    return (machines.folder / f"{name}.log").read_text()[-4000:]


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
