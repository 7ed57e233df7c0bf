"""The figures of all pages."""

from collections.abc import Iterator

from benchmarks.claims.choosing import of_choosing
from benchmarks.claims.claim import Claim
from benchmarks.claims.other_pages import of_exporting, of_reliability, of_scale_out
from benchmarks.claims.readme import of_readme
from benchmarks.claims.results_page import of_results
from benchmarks.claims.runs import kept_runs
from benchmarks.claims.small_tables import of_small_tables
from benchmarks.claims.topology import of_topology
from benchmarks.kept import kept_json


def claims() -> Iterator[Claim]:
    """All of them, computed from the files."""
    kept, ring = kept_runs(), kept_json("zinc/ring-term.json")["all"]
    yield from of_readme(kept)
    yield from of_results(kept, ring)
    yield from of_choosing(kept, ring)
    yield from of_small_tables()
    yield from of_topology()
    yield from of_exporting()
    yield from of_reliability()
    yield from of_scale_out()
