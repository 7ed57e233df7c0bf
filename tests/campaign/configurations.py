"""Random configuration files and options under ``cellformer train``."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from campaign.commands import Commands
from cellformer.training.config import RunConfig
from tiny import SMILES, write_molecules

Rng = np.random.Generator

SMALL: dict[str, Any] = {
    "data": {"encodings": "rwpe:2"},
    "model": {"width": 8, "layers": 1, "heads": 2},
    "training": {"epochs": 1, "device": "cpu", "logger": "none"},
}
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, -1, 0.5, 1e-300, -0.0, 1.5, "", " ", "auto", "none", "nan",
    float("inf"), float("nan"), "1", "0x10", "1e3", "yes", [], [1], ["a", "b"], [0.5, 0.25, 0.25],
    {}, {"a": 1}, [[]], "ö", "a:b", "../x", "/", "%s", "{x}", "os:system(command='x')", "l1", "mse",
    "x" * 600, "y", "random", "scaffold", "skeleton", "rings", "cliques", "cycle-basis", "bspe",
    "rwpe:0", "bspe+", "hodgelap:3+rwpe", "slepians", "pairwise-mixed", "general-dense", "\0", "\n",
    "2020-01-01", "!!python/name:os.system", "~", "mae", "rocauc", "r2", "gaussian", "batch", "all",
)  # fmt: skip
COSTLY = frozenset(
    ("epochs", "width", "layers", "heads", "feedforward_width", "processes", "workers",
     "loader_workers", "descriptor_width", "pair_width", "pair_steps", "folds")
)  # fmt: skip
"""Fields whose large values are meant, and take long."""
TEXTS = (
    "", "\n", "- 1\n- 2\n", "a: b: c\n", "training: {epochs: 1", "\t\tx: 1\n", "model:\n\tx: 1\n",
    "? x\n", "&a [*a]\n", "a: &a {b: *a}\n", "training: !!python/object:os.system {}\n",
    "%YAML 9\n", "training:\n  epochs: 1\ntraining:\n  epochs: 2\n", "\ufeffmodel: {width: 8}\n",
    "\0", "---\n---\n", "{" * 3000, "null", "7", '"text"', "model: [1, 2]\n", "model: null\n",
    "1: 2\n", "null: 1\n", "data: {source: x, source: y}\n", '{"model": {"width": 8},}',
    "{'a': 1}", "<<: {model: {}}\n",
)  # fmt: skip


class Configurations:
    """A file, or options, or both; either a training runs or a line says why it does not."""

    def __init__(self, folder: Path, commands: Commands):
        self.commands = commands
        self.counts: Counter[str] = Counter()
        self.source = write_molecules(folder / "set.npz", np.arange(float(len(SMILES))))
        self.env = {"CELLFORMER_CACHE": str(folder / "cache")}

    def case(self, rng: Rng, folder: Path) -> Sequence[str]:
        """Raises BrokenError where something else than a run or one line comes of it."""
        words: list[str] = []
        if rng.integers(4):
            name = str(rng.choice(["c.yaml", "c.yml", "c.json", "c", "c d ö.yaml"]))
            (folder / name).write_bytes(_file(rng, name))
            words += ["--config", name]
        else:
            words += _small()
        if rng.integers(2):
            words += _options(rng)
        source = [str(self.source)] if rng.integers(8) else []
        command = "train" if rng.integers(6) else str(rng.choice(["tune", "prepare", "baseline"]))
        ended = self.commands(folder, command, *source, *words, env=self.env)
        return [ended.said()]


def _small() -> list[str]:
    return [word for part, values in SMALL.items() for name, value in values.items()
            for word in (f"--{part}.{name}", str(value))]  # fmt: skip


def _file(rng: Rng, name: str) -> bytes:
    if rng.integers(5) == 0:
        return str(TEXTS[rng.integers(len(TEXTS))]).encode()
    tree = json.loads(json.dumps(SMALL))
    if rng.integers(4) == 0:  # all fields, as a run folder holds them
        tree = _merged(json.loads(json.dumps(asdict(RunConfig()))), tree)
        del tree["data"]["source"]
    for _ in range(int(rng.integers(0, 4))):
        _spoil(rng, tree)
    text = json.dumps(tree) if name.endswith("json") else yaml.safe_dump(tree, allow_unicode=True)
    raw = bytearray(text.encode())
    if rng.integers(6) == 0 and raw:
        raw[rng.integers(len(raw))] = int(rng.integers(256))
    if rng.integers(8) == 0:
        del raw[int(rng.integers(len(raw) + 1)) :]
    return bytes(raw)


def _merged(tree: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    for name, value in other.items():
        tree[name] = _merged(tree[name], value) if isinstance(value, dict) else value
    return tree


def _spoil(rng: Rng, tree: dict[str, Any]) -> None:
    part = str(rng.choice(["data", "model", "training", "optimizer", "attention"]))
    value = VALUES[rng.integers(len(VALUES))]
    if part == "attention" or rng.integers(12) == 0:
        tree[part] = value
        return
    names = [name for name in _names(part) if name not in COSTLY or _cheap(value)]
    name = str(rng.choice(names))
    if rng.integers(10) == 0:
        name = name[:-1] or "x"  # a misspelt one
    if isinstance(tree.setdefault(part, {}), dict):
        tree[part][name] = value


def _names(part: str) -> list[str]:
    found = getattr(RunConfig(), part)
    assert is_dataclass(found)
    return [each.name for each in fields(found) if each.name not in ("source", "max_minutes")]


def _cheap(value: object) -> bool:
    return not isinstance(value, str) or not value.strip().isdecimal()


def _options(rng: Rng) -> list[str]:
    words = []
    for _ in range(int(rng.integers(1, 4))):
        part = str(rng.choice(["data", "model", "training", "optimizer"]))
        value = VALUES[rng.integers(len(VALUES))]
        name = str(rng.choice([name for name in _names(part) if name not in COSTLY]))
        text = value if isinstance(value, str) else json.dumps(value)
        text = text.replace("\0", "")  # no argument of a process can hold it
        match rng.integers(8):
            case 0:
                words += [f"--{part}.{name}"]
            case 1:
                words += [f"--{name}", text]
            case 2:
                words += [text]
            case 3:
                words += [f"--{part}.{name}={text}"]
            case _:
                words += [f"--{part}.{name}", text]
    return words
