"""What results/README.md says."""

from collections.abc import Iterator

from benchmarks.claims.claim import Claim
from benchmarks.claims.runs import METRICS, WITHOUT_RING_SIZES, share
from benchmarks.kept import Kept


def of_results(kept: dict[str, Kept], ring: dict[str, int]) -> Iterator[Claim]:
    """All of the page, of which ``ring`` is from `benchmarks.ring_term`."""
    page = "results/README.md"
    for name, each in kept.items():
        metric = METRICS[each.runs[0].metric]
        metric += (
            " with ring sizes" if name.startswith("zinc") and name not in WITHOUT_RING_SIZES else ""
        )
        yield Claim(
            page,
            f"| `{name}`, {metric} | {each.told('val')} | {each.told()} | "
            f"{each.standard_error:.3f} | {each.constant:.3f} |",
            name,
        )
    yield Claim(
        page,
        f"for {ring['exact']:,} of the {ring['molecules']:,} molecules ({share(ring, 'exact')}) "
        "the largest 2-cell gives this term exactly",
        "zinc/ring-term.json",
    )
    words = (
        f"For {ring['zero']:,} molecules ({share(ring, 'zero')}) the term is 0; of the "
        f"{ring['molecules'] - ring['zero']} others it is exact for {ring['exact_of_others']}."
    )
    yield Claim(page, words, "zinc/ring-term.json")
