"""SIGKILL at a random moment of a command, or of several; then the same command once more."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from campaign.commands import Commands, Ended
from campaign.engine import BrokenError
from campaign.tables import SMALL
from tiny import SMILES

Rng = np.random.Generator

GRID = ("--attentions", "general-sparse", "pairwise-sparse", "--encodings", "rwpe:2", "--seeds",
        "1", "--epochs", "2", "--model.width", "8", "--model.layers", "1", "--model.heads", "2",
        "--data.molecule_descriptors", "none", "--training.device", "cpu", "--data.target", "y",
        "--training.logger", "none")  # fmt: skip
COMMANDS = (
    ("train", "set.csv", "--target", "y", "-o", "run", "--resume", "auto", *SMALL, "--epochs", "6",
     "--model.dropout", "0.1", "--training.batch_size", "4"),
    ("prepare", "set.csv", "--target", "y", "--data.encodings", "bspe:2+rwpe:2"),
    ("prepare", "set.csv", "--target", "y", "--data.encodings", "bspe:2+rwpe:2",
     "--data.workers", "2"),
    ("pretrain", "set.csv", "-o", "run", "--resume", "auto", *SMALL, "--epochs", "3",
     "--model.dropout", "0.1", "--training.batch_size", "4"),
    ("predict", "../run", "set.csv", "-o", "out.csv", "--overwrite"),
    ("reproduce", "--datasets", "set.csv", "-o", "grid", *GRID),
)  # fmt: skip


class Kills:
    """One command each, killed up to three times at moments that are spread over its time."""

    def __init__(self, folder: Path, commands: Commands):
        self.commands = commands
        self.folder = folder
        self.right: dict[tuple[str, ...], tuple[dict[str, str], float]] = {}

    def case(self, rng: Rng, folder: Path) -> Sequence[str]:
        """Raises BrokenError where the command then fails, or what it made is not the same."""
        words = COMMANDS[rng.integers(len(COMMANDS))]
        if words not in self.right:
            self.right[words] = self._undisturbed(words)
        right, seconds = self.right[words]
        _write(folder / "set.csv")
        killed = []
        for _ in range(int(rng.integers(1, 4))):
            after = float(rng.uniform(0, seconds))
            ended = self._run(folder, *words, kill_after=after)
            if not ended.killed:
                ended.said()
            killed.append(f"{after:.3f} s" if ended.killed else "not")
        ended = self._run(folder, *words)
        if ended.code:
            raise BrokenError(f"killed after {killed}, then {ended.code}\n{ended.err[-2000:]}")
        ended.said()
        made = _digests(folder)
        if made != right:
            other = sorted(name for name in made.keys() | right.keys()
                           if made.get(name) != right.get(name))  # fmt: skip
            raise BrokenError(f"{' '.join(words[:2])}, killed after {killed}: {other} differ")
        return []

    def _undisturbed(self, words: tuple[str, ...]) -> tuple[dict[str, str], float]:
        if words[0] == "predict":
            _write(self.folder / "set.csv")
            train = ("train", "set.csv", "--target", "y", "-o", "run", *SMALL)
            trained = self._run(self.folder, *train)
            assert trained.code == 0, trained.err
        place = self.folder / "case"  # paths are part of what is made
        _write(place / "set.csv")
        ended = self._run(place, *words)
        if ended.code:
            raise BrokenError(f"undisturbed: {ended.err}")
        found = _digests(place)
        shutil.rmtree(place)
        place.mkdir()
        return found, ended.seconds

    def _run(self, folder: Path, *words: str, kill_after: float | None = None) -> Ended:
        env = {"CELLFORMER_CACHE": str(folder / "cache")}
        return self.commands(folder, *words, kill_after=kill_after, env=env)


def _write(file: Path) -> None:
    lines = "".join(f"{smiles},{len(smiles) / 2}\n" for smiles in (*SMILES, *SMILES))
    file.write_text(f"smiles,y\n{lines}", encoding="utf-8")


TOLD = ("sessions.json", "curve.csv", "report.html", "summary.json", "resume", "jobs", "runs.csv",
        "tables")  # fmt: skip
"""What tells of times and of the sessions themselves."""


def _digests(folder: Path) -> dict[str, str]:
    """What all files hold, by their names; of those that tell of times only that they are there."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in (".out", ".err"):
            timed = any(part in name for part in TOLD)
            found[name] = "" if timed else hashlib.sha256(path.read_bytes()).hexdigest()
    return found
