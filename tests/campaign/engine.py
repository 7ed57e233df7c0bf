"""Seeded campaigns: cases drawn at random until a time is over, each judged, each find kept.

A campaign is ordinary Python: it is made in a folder of its own, and its ``case`` draws one case
from a generator, does it in an empty folder, and raises `BrokenError` where the result is wrong.
Any other exception is a find as well. What was said to the user comes back, to be read.
"""

import json
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np


class BrokenError(AssertionError):
    """A case whose result is not what it has to be."""


class Campaign(Protocol):
    """Random cases of one kind."""

    counts: Counter[str]
    """What its cases have consisted of so far, such as rows or kills."""

    def case(self, rng: np.random.Generator, folder: Path) -> Sequence[str]:
        """Does one case in an empty folder; gives the messages that a user would have read."""


@dataclass(frozen=True)
class Find:
    """A case that went wrong, and what is needed to see it again."""

    campaign: str
    seed: int
    number: int
    what: str
    folder: str = ""  # what the case had made, kept


@dataclass(frozen=True)
class Done:
    """A case that has ended."""

    number: int
    seconds: float
    said: tuple[str, ...] = ()
    find: Find | None = None
    counts: dict[str, int] = field(default_factory=dict)


def generator(seed: int, number: int) -> np.random.Generator:
    """The generator of a case: the same number is the same case, whatever was before."""
    return np.random.default_rng([seed, number])


def play(
    name: str,
    make: Callable[[Path], Campaign],
    folder: Path,
    seed: int,
    seconds: float,
    first: int = 0,
    most: int | None = None,
) -> Iterator[Done]:
    """Does the cases from ``first`` on until the time is over, making the campaign included.

    What a find made is kept in ``folder/finds/NAME-SEED-NUMBER``, with ``find.json``.
    """
    ends = time.monotonic() + seconds
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).mkdir(parents=True)
    campaign = make(folder / name)
    number = first
    while number == first or (time.monotonic() < ends and number - first != most):
        yield _one(name, campaign, folder, seed, number)
        number += 1


def _one(name: str, campaign: Campaign, folder: Path, seed: int, number: int) -> Done:
    place = folder / name / "case"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    began = time.monotonic()
    said: Sequence[str] = ()
    find = None
    before = Counter(campaign.counts)
    try:
        said = campaign.case(generator(seed, number), place)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, it is a find
        find = keep(folder, Find(name, seed, number, _told(error)), place)
    counts = dict(campaign.counts - before)
    return Done(number, time.monotonic() - began, tuple(said), find, counts)


def keep(folder: Path, find: Find, made: Path | None) -> Find:
    """Puts a find where it can be looked at, with what its case had made."""
    kept = folder / "finds" / f"{find.campaign}-{find.seed}-{find.number}"
    shutil.rmtree(kept, ignore_errors=True)
    if made is not None and made.exists():
        shutil.copytree(made, kept, symlinks=True)
    kept.mkdir(parents=True, exist_ok=True)
    find = Find(find.campaign, find.seed, find.number, find.what, str(kept))
    (kept / "find.json").write_text(json.dumps(asdict(find), indent=2) + "\n")
    return find


def _told(error: BaseException) -> str:
    if isinstance(error, BrokenError):
        return str(error)
    return "".join(traceback.format_exception(error))[-3000:]
