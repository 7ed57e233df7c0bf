"""Every figure that README, results/README.md and the documentation tell of accuracy and speed.

    python -m benchmarks.claims

Prints each with the page where it stands and the files of results/ that it is computed from, and
ends with 1 if a page says something else. Tables that the documentation makes by itself while it
is built are not repeated here.
"""

import math
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import campaigns
from benchmarks.accuracy.table import Score, Scores, geometric_mean, lines, ratios
from benchmarks.kept import RESULTS, ROOT, Kept, kept_json
from benchmarks.paired import differences, read
from cellformer.experiments.grid.paper_results import PAPER, PAPER_BEST

GCB = {
    "gin-batch": "GIN (PyG), batch normalization",
    "gin-graph": "GIN, graph normalization",
    "gin-layer": "GIN, layer normalization",
    "skeleton-open": "vertices and edges, batch normalization in the layers alone",
    "skeleton-batch": "vertices and edges, batch normalization, also before the readout",
    "skeleton": "vertices and edges",
    "general": "with 2-cells",
    "general-degree": "with 2-cells, degree scaling",
    "walks": "with 2-cells, `rwpe`",
}
"""Learners of `benchmarks.gcb`; ours are general-sparse, without encodings unless one is named."""
JUDGED_ON_GCB = ("skeleton-open", "gin-batch")
JUDGED_BEFORE = "skeleton-batch"
DRAWS = "judging", "judging-again"
ZINC = {
    "zinc/pairwise-mixed-rwbspe": "pairwise-mixed, `rwbspe`",
    "zinc/general-sparse-rwbspe": "general-sparse, `rwbspe`",
    "zinc/general-sparse-zeros": "general-sparse, `zeros`",
}
PLAIN = "zinc/pairwise-mixed-rwbspe-plain"  # without ring features
PAIRS = ("zinc-24/general-sparse-rwbspe-pairs", "zinc-24/general-sparse-rwbspe")
OTHERS = ("zinc-60/pairwise-mixed-rwbspe", "zinc-60/pairwise-mixed-zeros",
          "molhiv/general-sparse-rwbspe")  # fmt: skip
METRICS = {"mae": "MAE", "rocauc": "ROC-AUC", "accuracy": "accuracy"}
DEVELOPMENT = "accuracy/development.json"
JUDGING = "accuracy/judging.json"


@dataclass(frozen=True)
class Claim:
    """Words that stand on a page, with figures that were computed."""

    page: str
    """The page, relative to the root of the repository."""
    words: str
    """What it says, as far as it is computed; spaces and line ends are alike."""
    source: str
    """The files, below results/."""

    @property
    def stands(self) -> bool:
        """Whether the page says so."""
        text = (ROOT / self.page).read_text(encoding="utf-8")
        return " ".join(self.words.split()) in " ".join(text.split())


def main() -> int:
    """Prints all claims; returns 1 where one does not stand on its page."""
    wrong = 0
    for claim in claims():
        wrong += not claim.stands
        mark = "" if claim.stands else "NOT ON THE PAGE: "
        print(f"{claim.page}: {mark}{' '.join(claim.words.split())}\n    from {claim.source}")
    return int(wrong > 0)


def claims() -> Iterator[Claim]:
    """All of them, computed from the files."""
    gcb = [f"gcb-hard/{name}" for name in (*JUDGED_ON_GCB, JUDGED_BEFORE)]
    kept = {name: Kept.of(name) for name in ("nci", *ZINC, PLAIN, *gcb, *OTHERS)}
    ring = kept_json("zinc/ring-term.json")["all"]
    yield from _of_readme(kept)
    yield from _of_speed()
    yield from _of_results(kept, ring)
    yield from _of_choosing(kept, ring)
    yield from _of_small_tables()
    yield from _of_topology()
    yield from _of_exported()
    yield from _of_campaigns()
    yield from _of_shuffling("docs/scale-out.md")


@dataclass(frozen=True)
class OnGcb:
    """Accuracies of a learner of `benchmarks.gcb`, by seed."""

    scores: list[dict[str, float]]

    @classmethod
    def of(cls, file: str) -> dict[str, "OnGcb"]:
        """All learners of a file."""
        found = kept_json(f"gcb-hard/{file}.json")["scores"]
        return {name: cls([each["accuracy"] for each in scores]) for name, scores in found.items()}

    def told(self, part: str) -> str:
        """The mean, with the deviation where there are several seeds."""
        values = [each[part] for each in self.scores]
        spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
        return f"{statistics.fmean(values):.3f}{spread}"


def _of_readme(kept: dict[str, Kept]) -> Iterator[Claim]:
    page, nci, zinc = "README.md", kept["nci"], kept[PLAIN]
    yield Claim(page, f"| the training median for all | {nci.constant:.3f} |", "nci")
    yield Claim(page, f"2 minutes on two CPU cores | **{nci.told()}** |", "nci")
    yield Claim(
        page,
        f"| ZINC-12k, MAE, one seed | **{zinc.told()}** pairwise-mixed with `rwbspe`, "
        f"{zinc.seconds / 3600:.0f} hours on one core of a busy machine; no ring sizes as "
        "features, which would nearly give a term of the target away | the paper: "
        f"{PAPER['zinc', 'pairwise-mixed', 'rwbspe'].value:.3f} |",
        f"{PLAIN}-0",
    )
    molhiv = kept["molhiv/general-sparse-rwbspe"]
    yield Claim(
        page,
        f"| molhiv, ROC-AUC, one seed | **{molhiv.told()}** general-sparse with `rwbspe`, "
        f"{molhiv.seconds / 60:.0f} minutes on one core | the paper's best: "
        f"{PAPER_BEST['molhiv'].value:.3f} |",
        "molhiv/general-sparse-rwbspe-0",
    )
    judged = OnGcb.of("judged")
    ours, gin = (judged[name] for name in JUDGED_ON_GCB)
    yield Claim(
        page,
        "| regenerated GCB-hard, accuracy on 1,800 graphs drawn when all was chosen, mean of 5 "
        f"seeds (on the 185 of its test part) | **{ours.told('judging-again')}** "
        f"({ours.told('test')}) general-sparse on vertices and edges, without 2-cells or encodings "
        f"| GIN, 1.3 times the weights: {gin.told('judging-again')} ({gin.told('test')}) |",
        "gcb-hard/judged.json",
    )
    found = small_tables(JUDGING)
    by = {who: geometric_mean(ratios(found, who)) for who in ("chemprop", "boosting", "forest")}
    yield Claim(
        page,
        f"| {len(found)} small tables of molecules by which nothing was chosen, RMSE, mean of 5 "
        "seeds | all defaults, there nearly all kernels on fingerprints and little transformer; "
        f"geometric mean of ratios: **{by['chemprop']:.2f}** of chemprop's, "
        f"{by['boosting']:.2f} of gradient boosting's, {by['forest']:.2f} of a random forest's | "
        "same rows |",
        JUDGING,
    )


def _of_speed() -> Iterator[Claim]:
    page = "README.md"
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in kept_json("benchmarks/attention.json")["rows"]:
        rows.setdefault(row["case"], []).append(row)
    for case, (edges, padded, _) in rows.items():
        beside = (f"{row['peer_s'] * 1e3:.1f} ({row['ratio']:.2g}x) |" for row in (edges, padded))
        words = f"| {edges['ours_s'] * 1e3:.1f} | {' '.join(beside)}"
        yield Claim(page, words, f"benchmarks/attention.json, {case}")
    ratios = [
        r["ratio"] for r in kept_json("benchmarks/step.json")["rows"] if "products" in r["peer"]
    ]
    words = f"A whole training step takes {min(ratios):.1f} to {max(ratios):.1f} times its matrix"
    yield Claim(page, words, "benchmarks/step.json")
    epochs = {row["case"]: row for row in kept_json("benchmarks/epoch.json")["rows"]}
    general, mixed = (epochs[f"epoch {name}"] for name in ("general-sparse", "pairwise-mixed"))
    yield Claim(
        page,
        f"An epoch of ZINC takes {general['ours_s']:.0f} s with general-sparse attention and "
        f"{mixed['ours_s']:.0f} s with pairwise-mixed, the paper's choice, beside "
        f"{mixed['peer_s']:.0f} s of PyG's `GPSConv`.",
        "benchmarks/epoch.json",
    )
    memory = {row["case"]: row for row in kept_json("benchmarks/memory.json")["rows"]}
    most = memory["1000000 cells, general-sparse"]["ours_bytes"] / 1e9
    words = f"a complex of a million cells takes {most:.1f} GB in training"
    yield Claim(page, words, "benchmarks/memory.json")


def _of_results(kept: dict[str, Kept], ring: dict[str, int]) -> Iterator[Claim]:
    page = "results/README.md"
    for name, each in kept.items():
        metric = METRICS[each.runs[0].metric]
        metric += " with ring sizes" if name.startswith("zinc") and name != PLAIN else ""
        yield Claim(
            page,
            f"| `{name}`, {metric} | {each.told('val')} | {each.told()} | "
            f"{each.standard_error:.3f} | {each.constant:.3f} |",
            name,
        )
    yield Claim(
        page,
        f"for {ring['exact']:,} of the {ring['molecules']:,} molecules ({_share(ring, 'exact')}) "
        "the largest 2-cell gives this term exactly",
        "zinc/ring-term.json",
    )
    words = (
        f"For {ring['zero']:,} molecules ({_share(ring, 'zero')}) the term is 0; of the "
        f"{ring['molecules'] - ring['zero']} others it is exact for {ring['exact_of_others']}."
    )
    yield Claim(page, words, "zinc/ring-term.json")


def _of_choosing(kept: dict[str, Kept], ring: dict[str, int]) -> Iterator[Claim]:
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
        f"exactly for {_share(ring, 'exact')} of the molecules (for {_share(ring, 'zero')} the "
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
    yield _of_pairs(page)
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


def _of_pairs(page: str) -> Claim:
    told, silent = map(Kept.of, PAIRS)
    folders = [RESULTS / f"{name}-0" for name in PAIRS]
    (apart,) = differences(*(read(folder, "test") for folder in folders))
    return Claim(
        page,
        f"The validation MAE is {told.told('val')} with pairs and {silent.told('val')} without, "
        f"the test MAE {told.told()} and {silent.told()}; over the same molecules that is "
        f"{-apart.difference:.3f} less, with a standard error of {apart.standard_error:.3f},",
        "zinc-24/*",
    )


def small_tables(file: str) -> Scores:
    """The scores on the tables of a group."""
    found = kept_json(file)["sets"]
    return {
        table: {who: [Score(**each) for each in scores] for who, scores in row.items()}
        for table, row in found.items()
    }


def _of_small_tables() -> Iterator[Claim]:
    for file in (JUDGING, DEVELOPMENT):
        for line in lines(small_tables(file)):
            yield Claim("docs/small-tables.md", line, file)


TOPOLOGY = "docs/what-topology-buys.md"
LEARNERS = {
    "signed": "ours, `model.signed_width 16`",
    "unsigned": "ours without, as wide together",
    "gps": "GPS (PyG)",
    "gin": "GIN (PyG)",
}


COUNTED = ("genus", "betti_1", "betti_1_mod_2")


def _of_campaigns() -> Iterator[Claim]:
    page, sittings = "docs/reliability.md", campaigns.read(campaigns.KEPT)
    last = campaigns.latest(sittings)
    if last is None:
        return
    found = campaigns.totals(sittings, last.source)
    whole = not campaigns.missing(found)
    told = "an hour of each campaign without a find" if whole else "not yet an hour of each"
    yield Claim(page, f"with the program of commit `{last.commit}`, {told}", "campaigns.json")
    for line in campaigns.table(found)[2:]:
        yield Claim(page, line, "campaigns.json")


def _of_topology() -> Iterator[Claim]:
    file = "topology/surfaces.json"
    found = kept_json(file)["targets"]["orientable"]
    large = {name: sum(score["correlation"]["surfaces-10x"] for score in scores) / len(scores)
             for name, scores in found.items()}  # fmt: skip
    yield Claim(
        "README.md",
        f"mean of 5 seeds | **{large['signed']:.2f}** with signs in attention and the lowest Hodge "
        "eigenvector, which nearly gives the answer away; "
        f"{large['unsigned']:.2f} with the eigenvector and no signs | GIN {large['gin']:.2f}, GPS "
        f"{large['gps']:.2f} |",
        file,
    )
    for name, words in LEARNERS.items():
        yield Claim(TOPOLOGY, f"| {words} | {_correlations(found[name])} |", file)
    file = "topology/surfaces-walks.json"
    (walks,) = kept_json(file)["targets"]["orientable"].values()
    same, larger = _correlations(walks).split(" | ")
    words = f"With walks instead (`rwbspe:8+rwpe:8`) such a model reaches {same} and {larger}."
    yield Claim(TOPOLOGY, words, file)
    yield from _of_counts()
    yield from _of_fields()


def _of_counts() -> Iterator[Claim]:
    file = "topology/surfaces.json"
    found = kept_json(file)["targets"]
    for name, words in LEARNERS.items():
        told = " | ".join(_accuracies(found[target][name]) for target in COUNTED)
        yield Claim(TOPOLOGY, f"| {words} | {told} |", file)


def _of_fields() -> Iterator[Claim]:
    file = "topology/fields.json"
    flows, paths = (kept_json(file)["sets"][name] for name in ("flows", "trajectories"))
    for words, flow, path in (
        ("ours, `model.signed_width 32`", "signed", "signed"),
        ("the graph network on the line graph", "line graph", "line graph"),
        ("linear: least squares, harmonic projections", "Hodge Laplacian", "harmonic projections"),
        ("zero, edges without signs", "zero", "edges without signs"),
    ):
        yield Claim(TOPOLOGY, f"| {words} | {flows[flow][0]:.3f} | {paths[path][0]:.3f} |", file)
    file = "topology/fields-parts.json"
    flows, paths = (
        ", ".join(f"{score:.3f}" for score in kept_json(file)["sets"][name]["signed, with parts"])
        for name in ("flows", "trajectories")
    )
    words = f"With `data.hodge_parts true` three seeds reach {paths} on `trajectories`"
    yield Claim(TOPOLOGY, words, file)
    yield Claim(TOPOLOGY, f"On `flows` they reach {flows}.", file)


def _of_exported() -> Iterator[Claim]:
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


def _correlations(scores: list[dict[str, Any]]) -> str:
    """Mean and worst of the seeds, on surfaces of the same sizes and on larger ones."""
    told = []
    for where in ("surfaces", "surfaces-10x"):
        values = [score["correlation"][where] for score in scores]
        told.append(f"{sum(values) / len(values):.2f} ({min(values):.2f})")
    return " | ".join(told)


def _accuracies(scores: list[dict[str, Any]]) -> str:
    """The mean of the seeds, on surfaces of the same sizes and on larger ones."""
    told = []
    for where in ("surfaces", "surfaces-10x"):
        values = [score["accuracy"][where] for score in scores]
        told.append(f"{sum(values) / len(values):.2f}")
    return ", ".join(told)


def _share(ring: dict[str, int], what: str) -> str:
    return f"{100 * ring[what] / ring['molecules']:.1f} %"


def _of_shuffling(page: str) -> Iterator[Claim]:
    """What windows of shards cost and are worth."""
    source = "benchmarks/shuffling.json"
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


if __name__ == "__main__":
    sys.exit(main())
