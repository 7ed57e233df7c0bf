"""What docs/small-tables.md says."""

from collections.abc import Iterator

from benchmarks.accuracy.table import Score, Scores, lines
from benchmarks.claims.claim import Claim
from benchmarks.kept import kept_json

DEVELOPMENT = "accuracy/development.json"
JUDGING = "accuracy/judging.json"


def small_tables(file: str) -> Scores:
    """The scores on the tables of a group."""
    found = kept_json(file)["sets"]
    return {
        table: {who: [Score(**each) for each in scores] for who, scores in row.items()}
        for table, row in found.items()
    }


def of_small_tables() -> Iterator[Claim]:
    """All of the page."""
    for file in (JUDGING, DEVELOPMENT):
        for line in lines(small_tables(file)):
            yield Claim("docs/small-tables.md", line, file)
