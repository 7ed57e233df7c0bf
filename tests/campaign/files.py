"""Damaged run folders, caches and sources under the commands that read them."""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from campaign.commands import Commands, Ended
from campaign.damage import Damage, damages
from campaign.engine import BrokenError
from campaign.tables import SMALL
from tiny import SMILES, write_molecules

Rng = np.random.Generator

KINDS = ("flip", "flip", "flip", "cut", "zeros", "swap")
COMMANDS = (
    ("predict", "run", "source/set.npz", "-o", "out.csv", "--interval", "0.5"),
    ("predict", "run", "source/set.npz", "-o", "out.csv", "--weights", "last"),
    ("evaluate", "run", "source/set.npz"),
    ("train", "--resume", "run"),
    ("train", "--resume", "run", "--epochs", "4"),
)
"""What reads a run folder, a cache and a source; each of them is done on what is damaged."""


class Files:
    """One damage each, and the first command that comes; then the same once more."""

    def __init__(self, folder: Path, commands: Commands):
        self.commands = commands
        self.counts: Counter[str] = Counter()
        self.whole = folder / "whole"
        (self.whole / "source").mkdir(parents=True)
        write_molecules(self.whole / "source/set.npz", np.arange(float(len(SMILES))))
        kept = "--training.keep_state", "true"
        self._run(
            self.whole, "train", "source/set.npz", "-o", "run", *SMALL, "--epochs", "3", *kept
        )
        (self.whole / "run/report.html").unlink()  # is never read
        for name in (".out", ".err"):
            (self.whole / name).unlink()
        self.right: dict[tuple[str, ...], dict[str, object]] = {}

    def case(self, rng: Rng, folder: Path) -> Sequence[str]:
        """Raises BrokenError where a damage is neither named nor made good, and has an effect."""
        words = COMMANDS[rng.integers(len(COMMANDS))]
        if words not in self.right:
            self.right[words] = self._undisturbed(folder, words)
        shutil.copytree(self.whole, folder, dirs_exist_ok=True)
        damage = next(damages(self.whole, int(rng.integers(1 << 30)), KINDS))
        damage(folder)
        self.counts += Counter(damages=1, flips=int(damage.kind == "flip"))
        said = []
        for _ in range(1 + int(rng.integers(2))):
            (folder / "out.csv").unlink(missing_ok=True)
            try:
                said.append(self._judged(folder, words, damage))
            except BrokenError as error:
                raise BrokenError(f"{damage}: {error}") from None
        return said

    def _undisturbed(self, folder: Path, words: tuple[str, ...]) -> dict[str, object]:
        shutil.copytree(self.whole, folder, dirs_exist_ok=True)
        ended = self._run(folder, *words)
        assert ended.code == 0, ended.err
        found = _result(folder, ended.out, words)
        shutil.rmtree(folder)
        return found

    def _judged(self, folder: Path, words: tuple[str, ...], damage: Damage) -> str:
        ended = self._run(folder, *words)
        names = [Path(name).name for name in (damage.file, damage.other) if name]
        stores = [part for part in Path(damage.file).parts if part.startswith("sha")]
        said = ended.said(*names, *stores)
        # More epochs from an older state are laid out otherwise; with the same ones bits are equal.
        older = "--epochs" in words and "resume" in f"{damage.file}{damage.other}"
        found, right = _result(folder, ended.out, words), dict(self.right[words])
        for name in (
            damage.file,
            damage.other,
        ):  # which may stay as they are, if nothing reads them
            found.pop(name, None)
            right.pop(name, None)
        if ended.code == 0 and not older and found != right:
            raise BrokenError(f"{' '.join(words)}: another result\n{ended.err[-1000:]}")
        warned = [line for line in ended.err.splitlines() if "damaged" in line]
        return said or "; ".join(warned)

    def _run(self, folder: Path, *words: str) -> Ended:
        return self.commands(folder, *words, env={"CELLFORMER_CACHE": str(folder / "cache")})


def _result(folder: Path, out: str, words: tuple[str, ...]) -> dict[str, object]:
    """What a command was for, by names of files."""
    if words[0] == "evaluate":
        return {"out": out}
    names = ["out.csv"] if words[0] == "predict" else [
        f"run/{name}" for name in ("best.safetensors", "last.safetensors", "predictions.csv")
    ]  # fmt: skip
    files = (folder / name for name in names)
    return {name: file.read_bytes() if file.exists() else None
            for name, file in zip(names, files, strict=True)}  # fmt: skip
