"""Which fields of a configuration are searched, and over which values."""

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from cellformer.basics.aliases import check_aliases, check_keys_once
from cellformer.basics.keys import check_keys
from cellformer.training.config import RunConfig

RANGES = {
    "uniform": (False, False),
    "log_uniform": (True, False),
    "int": (False, True),
    "log_int": (True, True),
}
"""The kinds of ranges: whether equal ratios are equally likely, and whether numbers are whole."""


@dataclass(frozen=True)
class Range:
    """All numbers between two, both included."""

    low: float
    high: float
    log: bool
    whole: bool

    def ends(self) -> tuple[Any, Any]:
        """The smallest and the largest value."""
        return (int(self.low), int(self.high)) if self.whole else (self.low, self.high)

    def draw(self, random: Random) -> Any:
        """Any of the values."""
        if not self.log:
            value = random.uniform(self.low, self.high)
        else:
            value = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        return round(value) if self.whole else value


@dataclass(frozen=True)
class Choice:
    """One of some values, in no order."""

    values: tuple[Any, ...]

    def ends(self) -> tuple[Any, ...]:
        """All of them."""
        return self.values

    def draw(self, random: Random) -> Any:
        """Any of them."""
        return random.choice(self.values)


@dataclass(frozen=True)
class SearchSpace:
    """Fields of `RunConfig` by their dotted names, each with what it may be."""

    dimensions: dict[str, Range | Choice]

    @classmethod
    def read(cls, path: Path, base: RunConfig) -> "SearchSpace":
        """From a YAML file such as ``optimizer.peak_rate: {log_uniform: [1e-5, 1e-2]}``.

        Kinds are uniform, log_uniform, int and log_int with the two ends, and choice with the
        values. Raises ValueError, naming file and field, for an unknown field, a wrong range, or a
        value that no configuration can have, the other fields being those of ``base`` or searched.
        """
        try:
            text = path.read_text(encoding="utf-8")
            check_aliases(text)
            check_keys_once(text)
            values = yaml.safe_load(text)
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {path} with the space to search") from None
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ValueError(f"{path}: cannot be read as a search space ({error})") from error
        return cls.parse(values, base, str(path))

    @classmethod
    def parse(cls, values: object, base: RunConfig, where: str) -> "SearchSpace":
        """From what such a file holds; raises as `read` does."""
        if not isinstance(values, dict) or not values:
            raise ValueError(
                f"{where}: must map fields to what they may be, such as "
                "optimizer.peak_rate: {log_uniform: [1e-5, 1e-2]}"
            )
        for key in values:
            check_keys(RunConfig, _nested(str(key)), where)
        space = cls({str(key): _dimension(value, f"{where}: {key}")
                     for key, value in values.items()})  # fmt: skip
        space._check(base, where)
        return space

    def config(self, base: RunConfig, values: dict[str, Any]) -> RunConfig:
        """The configuration with these values; raises ValueError where there cannot be one."""
        tree = json.loads(json.dumps(dataclasses.asdict(base)))
        for key, value in values.items():
            section, _, name = key.rpartition(".")
            _value_at(tree, section)[name] = value
        told = ", ".join(f"{key}={value}" for key, value in values.items())
        return RunConfig.from_values(tree, told)

    def of(self, config: RunConfig) -> dict[str, Any] | None:
        """The values of a configuration; None where one lies outside of the space."""
        tree = json.loads(json.dumps(dataclasses.asdict(config)))
        found = {key: _value_at(tree, key) for key in self.dimensions}
        for key, dimension in self.dimensions.items():
            value = found[key]
            if isinstance(dimension, Choice):
                inside = value in dimension.values
            else:
                inside = isinstance(value, int | float) and dimension.low <= value <= dimension.high
            if not inside:
                return None
        return found

    def _check(self, base: RunConfig, where: str) -> None:
        """Each value has to be possible, beside some of the others'."""
        random = Random(0)
        for key, dimension in self.dimensions.items():
            for value in dimension.ends():
                attempts = [{key: value}] + [
                    {k: d.draw(random) for k, d in self.dimensions.items()} | {key: value}
                    for _ in range(30)
                ]
                first: ValueError | None = None
                for attempt in attempts if len(self.dimensions) > 1 else attempts[:1]:
                    try:
                        self.config(base, attempt)
                        break
                    except ValueError as error:
                        first = first or error
                else:
                    raise ValueError(f"{where}: {first}")


def _dimension(value: object, where: str) -> Range | Choice:
    kinds = ", ".join((*RANGES, "choice"))
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"{where}: must be one of {kinds} with its values, got {value!r}")
    [(kind, given)] = value.items()
    if kind not in RANGES and kind != "choice":
        raise ValueError(f"{where}: there is no kind {kind!r}; known: {kinds}")
    if not isinstance(given, list) or not given:
        raise ValueError(f"{where}: {kind} needs a list of values, got {given!r}")
    if kind == "choice":
        return Choice(tuple(given))
    log, whole = RANGES[kind]
    try:
        low, high = (float(number) for number in given)  # YAML takes 1e-5 for text
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {kind} needs two numbers, got {given!r}") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"{where}: {kind} needs a smaller and a larger number, got {given!r}")
    if log and low <= 0:
        raise ValueError(f"{where}: {kind} needs positive numbers, got {given!r}")
    if whole and (low % 1 or high % 1):
        raise ValueError(f"{where}: {kind} needs whole numbers, got {given!r}")
    return Range(low, high, log, whole)


def _nested(key: str) -> dict[str, Any]:
    """A dotted name as mappings within mappings."""
    section, _, rest = key.partition(".")
    return {section: _nested(rest) if rest else None}


def _value_at(tree: Any, key: str) -> Any:
    for name in filter(None, key.split(".")):
        tree = tree[name]
    return tree
