"""Runs campaigns in turns until the time is over; see ``scripts/campaign --help``.

Each turn is a process of its own, so that a case which ends its process, or hangs, is a find like
any other and the next turn goes on behind it.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from campaign.commands import Commands
from campaign.engine import Done, Find, keep, play
from campaign.named import CAMPAIGNS

HANGS = 900.0
"""Seconds without the end of a case after which a turn hangs."""


def main() -> int:
    """Returns 1 where there was a find."""
    parser = argparse.ArgumentParser(prog="scripts/campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of all campaigns together")
    parser.add_argument("--only", choices=CAMPAIGNS, default=None, help="one campaign")
    parser.add_argument("--seed", type=int, default=0, help="of the cases")
    parser.add_argument("--case", type=int, default=None, help="with --only: one case")
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/campaign"), help="of finds and messages"
    )
    parser.add_argument("--turn", type=float, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.folder = given.folder.resolve()
    if given.case is not None and given.only is None:
        parser.error("--case needs --only")
    if given.turn is not None:
        return _turn(given.only, given.folder, given.seed, given.turn, given.case)
    if given.case is not None:
        (done,) = _played(given.only, given.folder, given.seed, 0.0, given.case)
        print(done.find.what if done.find else "no find", *done.said, sep="\n")
        return int(done.find is not None)
    names = [given.only] if given.only else list(CAMPAIGNS)
    return _in_turns(names, given.folder, given.seed, 60 * given.minutes)


def _turn(name: str, folder: Path, seed: int, seconds: float, first: int) -> int:
    """Does cases for some seconds and prints each as a line of JSON."""
    for done in _played(name, folder, seed, seconds, first):
        print(json.dumps(asdict(done)), flush=True)
    return 0


def _played(name: str, folder: Path, seed: int, seconds: float, first: int) -> Iterator[Done]:
    with Commands() as commands:
        yield from play(name, lambda own: CAMPAIGNS[name](own, commands), folder, seed, seconds,
                        first)  # fmt: skip


def _in_turns(names: list[str], folder: Path, seed: int, seconds: float) -> int:
    began = time.monotonic()
    cases: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    finds: list[Find] = []
    messages: dict[str, dict[str, str]] = {name: {} for name in names}
    each = max(20.0, min(120.0, seconds / len(names)))
    for name in itertools.cycle(names):
        left = seconds - (time.monotonic() - began)
        if left < each / 2 and cases.keys() >= set(names):
            break
        since = time.monotonic()
        ended = _done_in_turn(name, folder, seed, max(1.0, min(each, left)), cases[name])
        cases[name] += len(ended)
        spent[name] += round(time.monotonic() - since)
        for done in ended:
            for line in done.said:
                messages[name].setdefault("".join(c for c in line[:80] if not c.isdigit()), line)
            if done.find is not None:
                finds.append(done.find)
                print(f"{name} {done.number}: {done.find.what.strip().splitlines()[-1]}")
        _report(names, cases, spent, finds, seed)
        for told in names:
            lines = sorted(messages[told].values())
            (folder / f"{told}-{seed}-messages.txt").write_text("\n".join(lines) + "\n", "utf-8")
    for find in finds:
        print(f"{find.folder}: scripts/campaign --only {find.campaign} --seed {find.seed} "
              f"--case {find.number}")  # fmt: skip
    return int(bool(finds))


def _done_in_turn(name: str, folder: Path, seed: int, seconds: float, first: int) -> list[Done]:
    """The cases of a turn; the one in which its process ended or hung is a find."""
    words = ["--only", name, "--seed", seed, "--turn", seconds, "--case", first, "--folder", folder]
    turn = subprocess.Popen([sys.executable, "-m", "campaign", *map(str, words)],
                            stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert turn.stdout is not None
    ended: list[Done] = []
    watch = threading.Timer(HANGS, turn.kill)
    watch.start()
    for line in turn.stdout:
        watch.cancel()
        watch = threading.Timer(HANGS, turn.kill)
        watch.start()
        told = json.loads(line)
        find = Find(**told["find"]) if told["find"] else None
        ended.append(Done(told["number"], told["seconds"], tuple(told["said"]), find))
    code = turn.wait()
    watch.cancel()
    if code:
        number = first + len(ended)
        what = f"the process of the campaign ended with {code}, or hung"
        find = keep(folder, Find(name, seed, number, what), folder / name / "case")
        ended.append(Done(number, 0.0, (), find))
    return ended


def _report(
    names: list[str], cases: Counter[str], spent: Counter[str], finds: list[Find], seed: int
) -> None:
    found = Counter(find.campaign for find in finds)
    told = ", ".join(f"{name} {cases[name]} cases in {spent[name]} s, {found[name]} finds"
                     for name in names)  # fmt: skip
    print(f"seed {seed}: {told}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # forked processes have no threads of their own
    sys.exit(main())
