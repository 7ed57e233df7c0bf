"""All figures of the pages, and whether they stand there.

    python -m benchmarks.claims

Prints each with the page where it stands and the files of results/ that it is computed from, and
ends with 1 if a page says something else.
"""

import sys

from benchmarks.claims.every import claims


def main() -> int:
    """Prints all claims; returns 1 where one does not stand on its page."""
    wrong = 0
    for claim in claims():
        wrong += not claim.stands
        mark = "" if claim.stands else "NOT ON THE PAGE: "
        print(f"{claim.page}: {mark}{' '.join(claim.words.split())}\n    from {claim.source}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
