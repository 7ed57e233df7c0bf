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

from benchmarks import campaigns as record
from campaign.commands import Commands
from campaign.engine import Done, Find, keep, play
from campaign.messages import Messages
from campaign.named import CAMPAIGNS

HANGS = 900.0
"""Seconds without the end of a case after which a turn hangs."""
LONGEST = 300.0
"""Seconds of a turn, after which the next campaign's comes."""


def main() -> int:
    """Returns 1 where there was a find."""
    parser = argparse.ArgumentParser(prog="scripts/campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of all campaigns together")
    parser.add_argument("--only", choices=CAMPAIGNS, nargs="+", default=None, metavar="NAME",
                        help=f"some of the campaigns: {', '.join(CAMPAIGNS)}")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the cases")
    parser.add_argument("--case", type=int, default=None, help="with --only: one case")
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/campaign"), help="of finds and messages"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        help="a file of all sittings, such as results/campaigns.json: cases go on where the last "
        "one with this seed has ended, and are added; with --case a find that is none any more, "
        "since its judge was wrong, is struck",
    )
    parser.add_argument(
        "--messages",
        type=Path,
        default=None,
        help="a file of one message of each kind, added to (default: messages.txt in --folder)",
    )
    parser.add_argument("--turn", type=float, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.folder = given.folder.resolve()
    if given.case is not None and len(given.only or ()) != 1:
        parser.error("--case needs --only and one name")
    if given.turn is not None:
        return _turn(given.only[0], given.folder, given.seed, given.turn, given.case)
    if given.case is not None:
        return _again(given.only[0], given)
    sittings = Sittings(given.out, given.seed)
    messages = Messages(given.messages or given.folder / "messages.txt")
    return _in_turns(given.only or list(CAMPAIGNS), given.folder, 60 * given.minutes, sittings,
                     messages)  # fmt: skip


class Sittings:
    """What this call does, and the file that it is added to, if there is one."""

    def __init__(self, file: Path | None, seed: int):
        self.file, self.seed = file, seed
        self.kept = record.read(file) if file else []
        self.cases: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        self.finds: list[Find] = []

    def first(self, name: str) -> int:
        """The case to begin with; numbers are not done twice with a seed."""
        return record.next_case(self.kept, name, self.seed)

    def add(self, name: str, ended: list[Done], seconds: float, program: tuple[str, str]) -> None:
        """The cases of a turn, by a commit and its source."""
        finds = [done.find for done in ended if done.find]
        self.cases[name] += len(ended)
        self.spent[name] += round(seconds)
        self.finds += finds
        counts: Counter[str] = sum((Counter(done.counts) for done in ended), Counter())
        told = {str(find.number): find.what.strip().splitlines()[-1][:300] for find in finds}
        commit, source = program
        new = record.Sitting(name, self.seed, commit, source, self.first(name), len(ended),
                             round(seconds, 1), dict(counts), told)  # fmt: skip
        self.kept = record.added(self.kept, new)
        if self.file:
            record.write(self.kept, self.file)

    def report(self) -> None:
        """A line of all that this call has done."""
        found = Counter(find.campaign for find in self.finds)
        told = ", ".join(f"{name} {self.cases[name]} cases in {self.spent[name]} s, {found[name]} "
                         "finds" for name in self.cases)  # fmt: skip
        print(f"seed {self.seed}: {told}", flush=True)


def _turn(name: str, folder: Path, seed: int, seconds: float, first: int) -> int:
    """Does cases for some seconds and prints each as a line of JSON."""
    for done in _played(name, folder, seed, seconds, first):
        print(json.dumps(asdict(done)), flush=True)
    return 0


def _again(name: str, given: argparse.Namespace) -> int:
    """One case, told with all that it said."""
    (done,) = _played(name, given.folder, given.seed, 0.0, given.case)
    print(done.find.what if done.find else "no find", *done.said, sep="\n")
    if given.out and not done.find:
        commit, _ = record.checked_out()
        kept = record.struck(record.read(given.out), name, given.seed, given.case, commit)
        record.write(kept, given.out)
    return int(done.find is not None)


def _played(name: str, folder: Path, seed: int, seconds: float, first: int) -> Iterator[Done]:
    with Commands() as commands:
        yield from play(name, lambda own: CAMPAIGNS[name](own, commands), folder, seed, seconds,
                        first)  # fmt: skip


def _in_turns(
    names: list[str], folder: Path, seconds: float, sittings: Sittings, messages: Messages
) -> int:
    began = time.monotonic()
    each = max(20.0, min(LONGEST, seconds / len(names)))
    for name in itertools.cycle(names):
        left = seconds - (time.monotonic() - began)
        if left < each / 2 and sittings.cases.keys() >= set(names):
            break
        since, before = time.monotonic(), record.checked_out()
        lasts = max(1.0, min(each, left))
        ended = _done_in_turn(name, folder, sittings.seed, lasts, sittings.first(name))
        for done in ended:
            messages.add(name, done.said)
            if done.find is not None:
                print(f"{name} {done.number}: {done.find.what.strip().splitlines()[-1]}")
        # Processes that began after another commit had been checked out are of neither.
        program = before if record.checked_out() == before else (f"{before[0]} and changes", "")
        sittings.add(name, ended, time.monotonic() - since, program)
        sittings.report()
        messages.write()
    for find in sittings.finds:
        print(f"{find.folder}: scripts/campaign --only {find.campaign} --seed {find.seed} "
              f"--case {find.number}")  # fmt: skip
    return int(bool(sittings.finds))


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
        ended.append(
            Done(told["number"], told["seconds"], tuple(told["said"]), find, told["counts"])
        )
    code = turn.wait()
    watch.cancel()
    if code:
        number = first + len(ended)
        what = f"the process of the campaign ended with {code}, or hung"
        find = keep(folder, Find(name, seed, number, what), folder / name / "case")
        ended.append(Done(number, 0.0, (), find))
    return ended


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # forked processes have no threads of their own
    sys.exit(main())
