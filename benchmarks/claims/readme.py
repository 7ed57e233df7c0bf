"""What README.md says."""

from collections.abc import Iterator
from typing import Any

from benchmarks.accuracy.table import geometric_mean, ratios
from benchmarks.claims.claim import Claim
from benchmarks.claims.runs import JUDGED_ON_GCB, PLAIN, OnGcb
from benchmarks.claims.small_tables import JUDGING, small_tables
from benchmarks.kept import Kept, kept_json
from cellformer.experiments.grid.paper_results import PAPER, PAPER_BEST

PAGE = "README.md"


def of_readme(kept: dict[str, Kept]) -> Iterator[Claim]:
    """All of the page."""
    yield from _of_accuracy(kept)
    yield from _of_speed()
    yield from _of_surfaces()


def _of_accuracy(kept: dict[str, Kept]) -> Iterator[Claim]:
    page, nci, zinc = PAGE, kept["nci"], kept[PLAIN]
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
    page = PAGE
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


def _of_surfaces() -> Iterator[Claim]:
    file = "topology/surfaces.json"
    found = kept_json(file)["targets"]["orientable"]
    large = {name: sum(score["correlation"]["surfaces-10x"] for score in scores) / len(scores)
             for name, scores in found.items()}  # fmt: skip
    yield Claim(
        PAGE,
        f"mean of 5 seeds | **{large['signed']:.2f}** with signs in attention and the lowest Hodge "
        "eigenvector, which nearly gives the answer away; "
        f"{large['unsigned']:.2f} with the eigenvector and no signs | GIN {large['gin']:.2f}, GPS "
        f"{large['gps']:.2f} |",
        file,
    )
