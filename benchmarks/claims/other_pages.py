"""What the pages say that tell of one file of results/ each."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks import campaigns
from benchmarks.claims.claim import Claim
from benchmarks.kept import kept_json


def of_exporting() -> Iterator[Claim]:
    """How far files are from the runs that they are of."""
    page, file = "docs/exporting.md", "benchmarks/exported.json"
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in kept_json(file)["rows"]:
        found.setdefault(row["case"], {})[row["file"]] = row
    for case, by in found.items():
        (rows,) = {row["rows"] for row in by.values() if row["rows"]}
        told = " | ".join(_apart(by[ending]) for ending in (".pt2", ".onnx"))
        yield Claim(page, f"| {case} | {rows:,} | {told} |", file)


def _apart(row: dict[str, Any]) -> str:
    if row["largest"] is None:
        return "refused"
    return f"{row['largest']:.0e}" if row["largest"] else "0"


def of_reliability() -> Iterator[Claim]:
    """What the campaigns have done."""
    page, sittings = "docs/reliability.md", campaigns.read(campaigns.KEPT)
    programs = {each.source: each.commit for each in reversed(sittings) if each.source}
    for source, commit in programs.items():
        found = campaigns.totals(sittings, source)
        whole = not campaigns.missing(found)
        told = "an hour of each campaign without a find" if whole else "not yet an hour of each"
        yield Claim(page, f"with the program of commit `{commit}`, {told}", "campaigns.json")
        begun = {name: total for name, total in found.items() if total.cases}
        for line in campaigns.table(begun)[2:]:
            yield Claim(page, line, "campaigns.json")
    counts: Counter[str] = sum((Counter(each.counts) for each in sittings), Counter())
    yield Claim(
        page,
        f"In all these tables together: {counts['complexes']:,} complexes, {counts['rows']:,} rows "
        f"of tables, {counts['damages']:,} damaged files, {counts['flips']:,} of them by a flipped "
        f"bit, {counts['kills']:,} kills.",
        "campaigns.json",
    )


def of_scale_out() -> Iterator[Claim]:
    """What windows of shards cost and are worth."""
    page, source = "docs/scale-out.md", "benchmarks/shuffling.json"
    told = kept_json(source)

    def claim(words: str) -> Claim:
        return Claim(page, words, source)

    for row in told["quality"]:
        name = "all at once" if row["window"] is None else f"{row['window']:,}"
        yield claim(f"| {name} | {row['distance']:.1%} | {row['same_shard']:.1%} |")
    best = {(row["rows"], row["window"]): row["best"] for row in told["curves"]}
    yield claim(
        f"{best['as is', None]:.3f} with all rows at once and {best['as is', 1024]:.3f} in windows "
        f"of four shards; of rows that are sorted by their target, {best['sorted', 4096]:.3f} in "
        f"windows of 16 shards, {best['sorted', 1024]:.3f} of four and {best['sorted', 256]:.3f} "
        "of one"
    )
    whole, window, _ = told["reading"]
    yield claim(
        f"room for {whole['limit_bytes'] / whole['store_bytes']:.0%} of the "
        f"{whole['store_bytes'] / 1e6:.0f} MB"
    )
    for row, share, name in (
        (whole, "a fiftieth of an epoch", "all rows at once"),
        (window, "two fifths of an epoch", f"windows of {window['window']:,}"),
    ):
        yield claim(
            f"{share} in {name} took {row['seconds']:.1f} s and read "
            f"{row['read_bytes'] / 1e9:.1f} GB"
        )
