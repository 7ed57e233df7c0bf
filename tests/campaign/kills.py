"""SIGKILL at a random moment of a command, or of several; then the same command once more."""

import hashlib
import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from campaign.commands import Commands, Ended, Kill, Whom
from campaign.engine import BrokenError
from campaign.tables import SMALL
from tiny import SMILES

Rng = np.random.Generator

GRID = ("--attentions", "general-sparse", "pairwise-sparse", "--encodings", "rwpe:2", "--seeds",
        "1", "--epochs", "2", "--model.width", "8", "--model.layers", "1", "--model.heads", "2",
        "--data.molecule_descriptors", "none", "--training.device", "cpu", "--data.target", "y",
        "--training.logger", "none")  # fmt: skip
TRAIN = ("train", "set.csv", "--target", "y", "-o", "run", "--resume", "auto", *SMALL, "--epochs",
         "6", "--model.dropout", "0.1", "--training.batch_size", "4")  # fmt: skip
PREPARE = ("prepare", "many.csv", "--target", "y", "--data.encodings", "bspe:2+rwpe:2")
REPRODUCE = ("reproduce", "--datasets", "set.csv", "-o", "grid", *GRID)
COMMANDS = (
    TRAIN,
    (*TRAIN, "--training.keep_state", "true"),
    PREPARE,
    (*PREPARE, "--data.workers", "2"),
    ("pretrain", "set.csv", "-o", "run", "--resume", "auto", *SMALL, "--epochs", "3",
     "--model.dropout", "0.1", "--training.batch_size", "4"),
    ("predict", "../run", "set.csv", "-o", "out.csv", "--overwrite"),
    ("predict", "../run", "set.csv", "-o", "out.csv", "--overwrite", "--interval", "0.8"),
    ("embed", "../run", "set.csv", "-o", "out.npy", "--overwrite"),
    ("evaluate", "../run", "set.csv"),
    ("baseline", "gin", "set.csv", "--target", "y", "-o", "run", "--epochs", "4", "--device", "cpu",
     "--training.batch_size", "4", "--training.logger", "none"),
    REPRODUCE,
    (*TRAIN, "--training.epochs", "3", "--ensemble", "2"),
)  # fmt: skip
IN_WORKERS = (
    (*TRAIN, "--training.processes", "2"),
    (*TRAIN, "--training.loader_workers", "2"),
    (*PREPARE, "--ray", "local"),
    (*REPRODUCE, "--ray", "local"),
    # One training at a time, so that what is chosen, and given up, does not depend on the clock.
    ("tune", "set.csv", "--target", "y", "--space", "space.yaml", "-o", "search", "--trials", "5",
     "--cpus", str(os.cpu_count()), *SMALL, "--epochs", "4", "--training.batch_size", "4"),
)  # fmt: skip
SPACE = """\
optimizer.peak_rate: {log_uniform: [1e-4, 1e-2]}
model.dropout: {choice: [0.0, 0.1, 0.2]}
"""
WHOM: tuple[Whom, ...] = ("group", "alone", "child")
TOLD = ("sessions.json", "curve.csv", "report.html", "summary.json", "resume", "jobs", "runs.csv",
        "tables")  # fmt: skip
"""What tells of times and of the sessions themselves."""


RAYS = ("gcs_server", "raylet")
OF_RAY = ("GCS may have been killed", "Failed to register worker to Raylet")
"""Ray may end the program of its driver, with a line of its own, where one of `RAYS` was killed."""


class Kills:
    """One command each, killed up to three times at moments that are spread over its time."""

    choices: Sequence[tuple[str, ...]] = COMMANDS

    def __init__(self, folder: Path, commands: Commands):
        self.commands = commands
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.right: dict[tuple[str, ...], tuple[dict[str, str], float]] = {}
        # Names of sockets have to be short, and campaigns may run side by side.
        self.ray = f"{tempfile.gettempdir()}/ray-{os.getpid()}"
        weakref.finalize(self, shutil.rmtree, self.ray, ignore_errors=True)

    def case(self, rng: Rng, folder: Path) -> Sequence[str]:
        """Raises BrokenError where the command then fails, or what it made is not the same."""
        words = self.choices[rng.integers(len(self.choices))]
        if words not in self.right:
            self.right[words] = self._undisturbed(words)
        right, seconds = self.right[words]
        shutil.rmtree(self.ray, ignore_errors=True)  # the logs of those that were killed
        _write(folder)
        killed, said = [], []
        for _ in range(int(rng.integers(1, 4))):
            whom = WHOM[rng.integers(len(WHOM))] if _has_children(words) else "group"
            kill = Kill(float(rng.uniform(0, seconds)), whom, rng.random())
            ended = self._run(folder, *words, kill=kill)
            what = "" if whom == "group" else f", {ended.hit} ({whom})"
            killed.append(f"{kill.after:.3f} s{what}" if ended.hit else "not")
            self.counts["kills"] += bool(ended.hit)
            if not ended.killed:
                said.append(self._judged(ended, killed))
        ended = self._run(folder, *words)
        if ended.code:
            raise BrokenError(f"{_told(ended, killed)}, then {ended.code}\n{ended.err[-2000:]}")
        self._judged(ended, killed)
        made = _made(folder, ended)
        if made != right:
            other = sorted(name for name in made.keys() | right.keys()
                           if made.get(name) != right.get(name))  # fmt: skip
            raise BrokenError(f"{_told(ended, killed)}: {other} differ")
        if left := self.commands.left():
            raise BrokenError(f"{_told(ended, killed)}: still at work are {left}")
        return said

    def _judged(self, ended: Ended, killed: Sequence[str]) -> str:
        of_ray = any(name in ended.hit for name in RAYS)
        if of_ray and any(line in ended.err for line in OF_RAY):
            return ended.err.splitlines()[-1]
        try:
            return ended.said()
        except BrokenError as error:
            raise BrokenError(f"killed after {killed}: {error}") from None

    def _undisturbed(self, words: tuple[str, ...]) -> tuple[dict[str, str], float]:
        if words[1] == "../run" and not (self.folder / "run").exists():
            _write(self.folder)
            train = ("train", "set.csv", "--target", "y", "-o", "run", *SMALL)
            trained = self._run(self.folder, *train)
            assert trained.code == 0, trained.err
        place = self.folder / "case"  # paths are part of what is made
        _write(place)
        ended = self._run(place, *words)
        if ended.code:
            raise BrokenError(f"undisturbed: {ended.err}")
        found = _made(place, ended)
        shutil.rmtree(place)
        place.mkdir()
        return found, ended.seconds

    def _run(self, folder: Path, *words: str, kill: Kill | None = None) -> Ended:
        env = {"CELLFORMER_CACHE": str(folder / "cache"), "RAY_TMPDIR": self.ray}
        return self.commands(folder, *words, kill=kill, env=env)


class Workers(Kills):
    """Commands with several processes, of which the first, all, or one of the others is killed."""

    choices = IN_WORKERS


def _has_children(words: Sequence[str]) -> bool:
    return words in IN_WORKERS or "--data.workers" in words


def _told(ended: Ended, killed: Sequence[str]) -> str:
    return f"{' '.join(ended.words)}, killed after {killed}"


def _write(folder: Path) -> None:
    for name, times in (("set.csv", 2), ("many.csv", 30)):  # the second is of several parts
        lines = "".join(f"{smiles},{len(smiles) / 2}\n" for smiles in SMILES * times)
        (folder / name).write_text(f"smiles,y\n{lines}", encoding="utf-8")
    (folder / "space.yaml").write_text(SPACE, encoding="utf-8")


def _made(folder: Path, ended: Ended) -> dict[str, str]:
    """What all files hold, by their names; of those that tell of times only that they are there.

    Of ``evaluate`` it is what was printed.
    """
    if ended.words[0] == "evaluate":
        return {"out": ended.out}
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in (".out", ".err"):
            timed = any(part in name for part in TOLD)
            found[name] = "" if timed else hashlib.sha256(path.read_bytes()).hexdigest()
    return found
