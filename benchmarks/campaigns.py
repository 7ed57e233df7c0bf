"""What ``scripts/campaign`` has done so far, added up over its sittings, and what is still missing.

    python -m benchmarks.campaigns [COMMIT]

Prints the table of docs/reliability.md, and ends with 1 if a campaign lacks its hour without a
find. Only the standard library is needed, as ``scripts/release`` looks here before all else.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results/campaigns.json"
NAMES = ("complexes", "tables", "files", "configurations", "kills", "workers")
"""All campaigns."""
HOUR = 3600.0
"""Seconds of each campaign, for a release."""
COUNTED = {"complexes": "complexes", "rows": "rows of tables", "damages": "damaged files",
           "flips": "of them bits flipped", "kills": "kills"}  # fmt: skip
"""What cases consist of, and its words."""


@dataclass(frozen=True)
class Sitting:
    """Cases of one campaign that were done one after the other by the same program."""

    campaign: str
    seed: int
    commit: str
    """That was checked out; with " and changes" where files were not as committed."""
    source: str
    """Git's name of the folder src, by which commits of the same program are known; empty for
    changes that were not committed."""
    first: int
    """Number of the first case."""
    cases: int
    seconds: float
    counts: Mapping[str, int] = field(default_factory=dict)
    """Of what the cases consist of, see `COUNTED`."""
    finds: Mapping[str, str] = field(default_factory=dict)
    """What went wrong, by the number of the case."""
    struck: Mapping[str, str] = field(default_factory=dict)
    """Finds that were errors of the judge: the commit at which the case had none any more."""

    @property
    def open(self) -> list[str]:
        """Finds that still stand."""
        return [number for number in self.finds if number not in self.struck]


def read(file: Path) -> list[Sitting]:
    """All sittings of a file; none where there is no file. Raises ValueError for another file."""
    try:
        told = json.loads(file.read_text("utf-8"))
        return [Sitting(**each) for each in told["sittings"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is not a record of campaigns ({error}); name another") from None


def write(sittings: Iterable[Sitting], file: Path) -> None:
    """Writes the file anew."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    told = {"sittings": [asdict(each) for each in sittings]}
    unfinished.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    unfinished.replace(file)


def next_case(sittings: Iterable[Sitting], campaign: str, seed: int) -> int:
    """The first number that no sitting with this seed has had."""
    ends = (s.first + s.cases for s in sittings if (s.campaign, s.seed) == (campaign, seed))
    return max(ends, default=0)


def added(sittings: Sequence[Sitting], new: Sitting) -> list[Sitting]:
    """With another one, as part of the one that it goes on with where there is one."""
    same = ("campaign", "seed", "commit", "source")
    for at, old in enumerate(sittings):
        goes_on = old.first + old.cases == new.first
        if goes_on and all(getattr(old, name) == getattr(new, name) for name in same):
            whole = replace(
                old,
                cases=old.cases + new.cases,
                seconds=round(old.seconds + new.seconds, 1),
                counts=dict(Counter(old.counts) + Counter(new.counts)),
                finds={**old.finds, **new.finds},
            )
            return [*sittings[:at], whole, *sittings[at + 1 :]]
    return [*sittings, new]


def struck(
    sittings: Sequence[Sitting], campaign: str, seed: int, number: int, commit: str
) -> list[Sitting]:
    """With a find that is none any more."""
    return [
        replace(each, struck={**each.struck, str(number): commit})
        if (each.campaign, each.seed) == (campaign, seed) and str(number) in each.open
        else each
        for each in sittings
    ]


@dataclass(frozen=True)
class Total:
    """All that one campaign has done with one program."""

    cases: int = 0
    seconds: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)
    finds: int = 0


def totals(sittings: Iterable[Sitting], source: str) -> dict[str, Total]:
    """By campaign, of the sittings with this source."""
    found = dict.fromkeys(NAMES, Total())
    for each in sittings:
        if source and each.source == source:
            old = found[each.campaign]
            found[each.campaign] = Total(
                old.cases + each.cases,
                old.seconds + each.seconds,
                Counter(old.counts) + Counter(each.counts),
                old.finds + len(each.open),
            )
    return found


def missing(by_name: Mapping[str, Total]) -> list[str]:
    """Why this is not an hour of each campaign without a find; nothing where it is."""
    return [
        f"{name}: {total.seconds / 60:.0f} of {HOUR / 60:.0f} minutes, {total.finds} finds"
        for name, total in by_name.items()
        if total.finds or total.seconds < HOUR
    ]


def table(by_name: Mapping[str, Total]) -> list[str]:
    """The lines of a table, a campaign each."""
    lines = ["| campaign | cases | of | minutes | finds |", "|---|---|---|---|---|"]
    for name, total in by_name.items():
        of = ", ".join(f"{total.counts[key]:,} {words}" for key, words in COUNTED.items()
                       if key in total.counts)  # fmt: skip
        lines.append(f"| `{name}` | {total.cases:,} | {of} | {total.seconds / 60:.0f} | "
                     f"{total.finds} |")  # fmt: skip
    return lines


def checked_out(root: Path = ROOT) -> tuple[str, str]:
    """The commit, and the name of its source; see `Sitting` for what is not committed."""
    commit = _git(root, "rev-parse", "--short=9", "HEAD") or "unknown"
    changed = _git(root, "status", "--porcelain", "--", "src", "tests")
    if changed is None or changed:
        return f"{commit} and changes", ""
    return commit, source_of("HEAD", root)


def source_of(commit: str, root: Path = ROOT) -> str:
    """Git's name of the folder src of a commit; empty where there is none."""
    return _git(root, "rev-parse", f"{commit}:src") or ""


def _git(root: Path, *words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return None if done.returncode else done.stdout.strip()


def main() -> int:
    """Prints what there is of a commit; returns 1 where that is not enough."""
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    found = totals(read(KEPT), source_of(commit))
    lacking = missing(found)
    print(*table(found), "", *lacking, sep="\n")
    return int(bool(lacking))


if __name__ == "__main__":
    sys.exit(main())
