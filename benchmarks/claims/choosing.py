"""What docs/choosing.md says."""

import math
import statistics
from collections.abc import Iterator

from benchmarks.claims.claim import Claim
from benchmarks.claims.runs import (
    DRAWS,
    GCB,
    JUDGED_BEFORE,
    NARROW,
    OTHERS,
    PLAIN,
    TRIED_ON_ZINC,
    ZINC,
    OnGcb,
    share,
)
from benchmarks.kept import RESULTS, Kept
from benchmarks.paired import differences, read
from cellformer.experiments.grid.paper_results import PAPER


def of_choosing(kept: dict[str, Kept], ring: dict[str, int]) -> Iterator[Claim]:
    """All of the page, of which ``ring`` is from `benchmarks.ring_term`."""
    page = "docs/choosing.md"
    tried, judged = OnGcb.of("development"), OnGcb.of("judged")
    for name, how in GCB.items():
        found = judged.get(name, tried[name])
        cells = [found.told(part) for part in ("val", "test", "development")]
        cells += [found.told(draw) if name in judged else "-" for draw in DRAWS]
        words = f"| {how} | {len(found.scores)} | {' | '.join(cells)} |"
        yield Claim(page, words, "gcb-hard/development.json, gcb-hard/judged.json")
    *others, worst = sorted(
        (each["judging"] for each in judged[JUDGED_BEFORE].scores), reverse=True
    )
    (stuck,) = (each for each in judged[JUDGED_BEFORE].scores if each["judging"] == worst)
    yield Claim(
        page,
        f"Four of its five seeds have {others[-1]:.3f} to {others[0]:.3f} there, "
        f"{statistics.fmean(others):.3f} on average; one stayed at {worst:.3f}, and had "
        f"{stuck['val']:.3f} on the validation part.",
        "gcb-hard/judged.json",
    )
    for name, how in ZINC.items():
        each, key = kept[name], ("zinc", *how.replace("`", "").split(", "))
        millions = each.runs[0].parameters / 1e6
        paper = f"{PAPER[key].value:.4f}"  # type: ignore[index]
        yield Claim(page, f"| {how} | {each.told()} | {millions:.2f} million | {paper} |", name)
    mixed, _, zeros = (kept[name] for name in ZINC)
    errors = [kept[name].standard_error for name in ZINC]
    yield Claim(page, f"(each uncertain by {min(errors):.3f} to {max(errors):.3f},", "zinc/*")
    chance = math.hypot(mixed.standard_error, zeros.standard_error)
    yield Claim(
        page,
        f"smaller by {zeros.mean() - mixed.mean():.3f} than that of general-sparse with `zeros`, "
        f"where two such errors on different molecules would differ by {chance:.3f} by chance.",
        "zinc/pairwise-mixed-rwbspe-0, zinc/general-sparse-zeros-0",
    )
    encoded, plain = (kept[name] for name in OTHERS[:2])
    told = [PAPER["zinc", "pairwise-mixed", name].value for name in ("rwbspe", "zeros")]
    yield Claim(
        page,
        f"has {encoded.told()} with `rwbspe` and {plain.told()} with `zeros`, a difference of "
        f"{plain.mean() - encoded.mean():.3f}, where the paper has {told[0]:.4f} and "
        f"{told[1]:.4f}.",
        "zinc-60/*",
    )
    yield Claim(
        page,
        f"exactly for {share(ring, 'exact')} of the molecules (for {share(ring, 'zero')} the "
        f"term is 0, and for {ring['exact_of_others']} of the {ring['molecules'] - ring['zero']} "
        "others it is exact)",
        "zinc/ring-term.json",
    )
    plain = kept[PLAIN]
    yield Claim(
        page,
        "Without ring sizes as features, pairwise-mixed with `rwbspe` has a test MAE of "
        f"{plain.told()} "
        f"(validation {plain.told('val')}; with them {mixed.told()} and {mixed.told('val')}),",
        f"{PLAIN}-0, zinc/pairwise-mixed-rwbspe-0",
    )
    yield from _of_tried(page)
    narrow = kept[NARROW]
    yield Claim(
        page,
        f"With 100 epochs the last of them has a validation MAE of {narrow.told('val')} and a test "
        f"MAE of {narrow.told()}",
        f"{NARROW}-0",
    )
    molhiv = kept["molhiv/general-sparse-rwbspe"]
    run = molhiv.runs[0]
    yield Claim(
        page,
        f"On molhiv, {run.parameters / 1e6:.1f} million parameters and {molhiv.seconds / 60:.0f} "
        f"minutes on one core give a test ROC-AUC of {molhiv.told()} "
        f"({run.classes['test']['y']['1']} of the {run.complexes['test']:,} test molecules are "
        "active).",
        molhiv.name,
    )


def _of_tried(page: str) -> Iterator[Claim]:
    said = [read(RESULTS / f"{name}-0", "test") for name in TRIED_ON_ZINC]
    for place, (name, how) in enumerate(TRIED_ON_ZINC.items()):
        found, apart = Kept.of(name), ""
        if place:
            (less,) = differences(said[0], said[place])
            apart = f"{less.difference:.3f} ± {less.standard_error:.3f} "
        millions = found.runs[0].parameters / 1e6
        words = (
            f"| {how} | {millions:.2f} million | {found.told('val')} | {found.told()} | {apart}|"
        )
        yield Claim(page, words, f"{name}-0")
