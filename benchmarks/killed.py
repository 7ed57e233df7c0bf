"""SIGKILL at random moments of a preparation, a training and a prediction of 200,000 rows.

    python -m benchmarks.killed --folder killed [--only train] --out results/benchmarks/killed.json

Killed are all processes of a command, its first one, or one of the others; then the same command is
given again. Whatever it has made when it ends is compared, byte by byte, with what an undisturbed
one makes; only files that tell of times are not. A command that ends before its moment comes is
begun anew; a training begins with what the preparation made. Molecules, and what is kept in
``--folder``, are as for `benchmarks.large`. Linux only.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.enumerated import write_enumerated
from benchmarks.large import DATA, MODEL
from benchmarks.once import once
from benchmarks.timing import parser, write_figures
from benchmarks.watched import below, environment
from cellformer.basics.sealed import sha256_of

COMMANDS = {
    "prepare": ("prepare", "{table}", *DATA, "--data.workers=2"),
    "train": ("train", "{table}", *MODEL, "--training.device=cpu", "--training.logger=none",
              "--training.loader_workers=1", "--training.state_minutes=0.5", "-o", "run",
              "--resume", "auto"),
    "predict": ("predict", "{trained}", "{table}", "-o", "predicted.csv", "--overwrite"),
}  # fmt: skip
WHOM = ("all", "the first", "another")
TIMED = ("sessions.json", "curve.csv", "report.html", "summary.json", "resume")
"""What tells of times and of the sessions themselves; that it is there is compared."""
OF_THIS_FOLDER = "cache/verified/"
"""What has been verified, named by the paths and times of files: not compared."""
HANGS = 1800.0
"""Seconds after which a command that was hit has to have ended."""


@dataclass
class Row:
    """What became of the kills of one command."""

    case: str
    rows: int
    kills: int
    seconds: float
    """Of the undisturbed command."""
    moments: list[float] = field(default_factory=list)
    """Seconds from the start of a command to its kill."""
    whom: dict[str, int] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    """How the commands ended that were hit; negative by a signal."""
    finished: int = 0
    """Commands that came to their end, and have made what the undisturbed one does."""
    apart: list[str] = field(default_factory=list)
    """Files that were another's."""


def measure(name: str, rows: int, kills: int, seed: int, folder: Path) -> Row:
    """Kills the command so often; ``folder`` holds the table and what commands before it made."""
    words = [word.format(table=folder / "molecules.csv", trained=folder / "right-train" / "run")
             for word in COMMANDS[name]]  # fmt: skip
    prepared = folder / "right-prepare/cache" if name == "train" else None
    right = _emptied(folder / f"right-{name}", prepared)
    began = time.monotonic()
    _to_the_end(words, right)
    row = Row(f"{name}, {rows:,} rows", rows, kills, time.monotonic() - began)
    wanted = _made(right)
    rng = np.random.default_rng(seed)
    place = _emptied(folder / f"killed-{name}", prepared)
    whom, codes = Counter[str](), Counter[str]()
    while len(row.moments) < kills:
        moment, who = float(rng.uniform(0, row.seconds)), WHOM[rng.integers(len(WHOM))]
        code = _killed(words, place, moment, who, rng)
        if code is not None:
            row.moments.append(round(moment, 2))
            whom[who] += 1
            codes[str(code)] += 1
        print(
            f"{name} {len(row.moments)}: {who} after {moment:.1f} s, ended with {code}", flush=True
        )
        if code in (None, 0):
            _judge(row, _made(place), wanted)
            _emptied(place, prepared)
    _to_the_end(words, place)
    _judge(row, _made(place), wanted)
    row.whom, row.codes = dict(whom), dict(codes)
    shutil.rmtree(place)
    return row


def _killed(
    words: list[str], place: Path, moment: float, who: str, rng: np.random.Generator
) -> int | None:
    """How the command ended that was hit; None where it had ended before."""
    process = _begun(words, place)
    try:
        code = process.wait(moment)
    except subprocess.TimeoutExpired:
        others = below(process.pid) if who == "another" else []
        with suppress(ProcessLookupError):  # it has just ended
            if who == "all":
                os.killpg(process.pid, signal.SIGKILL)
            else:  # the first, where there is no other one
                os.kill(int(rng.choice(others)) if others else process.pid, signal.SIGKILL)
        return process.wait(HANGS)
    if code:
        raise SystemExit(f"{' '.join(words)}\n{(place / '.said').read_text()[-2000:]}") from None
    return None


def _to_the_end(words: list[str], place: Path) -> None:
    if _begun(words, place).wait(HANGS):
        raise SystemExit(f"{' '.join(words)}\n{(place / '.said').read_text()[-2000:]}")


def _begun(words: list[str], place: Path) -> "subprocess.Popen[bytes]":
    with (place / ".said").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "cellformer", *words], cwd=place, stdout=said, stderr=said,
            env=environment(place / "cache"), start_new_session=True,
        )  # fmt: skip


def _emptied(place: Path, prepared: Path | None) -> Path:
    """The folder with nothing in it but a copy of a cache."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if prepared is not None:
        shutil.copytree(prepared, place / "cache", symlinks=True)
    return place


def _made(place: Path) -> dict[str, str]:
    """Checksums of all files by their names, hidden and unfinished ones among them."""
    found = {}
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place).as_posix()
        if file.is_file() and name != ".said" and not name.startswith(OF_THIS_FOLDER):
            timed = any(part in name for part in TIMED)
            found[name] = "" if timed else sha256_of(file)
    return found


def _judge(row: Row, made: dict[str, str], wanted: dict[str, str]) -> None:
    names = made.keys() | wanted.keys()
    apart = sorted(name for name in names if made.get(name) != wanted.get(name))
    row.apart += apart
    row.finished += not apart


def main() -> None:
    """Kills, or goes on with the next command; ends with 1 where anything is apart."""
    options = parser(__doc__.splitlines()[0], runs=1)
    options.add_argument("--rows", type=int, default=200_000)
    options.add_argument("--kills", type=int, default=20, help="of each command")
    options.add_argument("--seed", type=int, default=0, help="of the moments")
    options.add_argument("--folder", type=Path, required=True, help="what is done is kept here")
    options.add_argument("--only", nargs="+", choices=COMMANDS, default=tuple(COMMANDS))
    given = options.parse_args()
    folder = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "molecules.csv").exists():
        write_enumerated(folder / "molecules.csv", given.rows)
    rows = []
    for name in given.only:
        asked = (name, given.rows, given.kills, given.seed, folder)
        rows.append(once(folder / f"{name}.json", Row, lambda asked=asked: measure(*asked)))  # type: ignore[misc]
    for row in rows:
        ended = ", ".join(f"{times} with {code}" for code, times in row.codes.items())
        print(f"{row.case}: {row.kills} kills ({ended}), {row.finished} ends, apart: {row.apart}")
    write_figures(rows, given.out)
    sys.exit(any(row.apart for row in rows))


if __name__ == "__main__":
    main()
