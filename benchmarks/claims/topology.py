"""What docs/what-topology-buys.md says."""

from collections.abc import Iterator
from typing import Any

from benchmarks.claims.claim import Claim
from benchmarks.kept import kept_json

TOPOLOGY = "docs/what-topology-buys.md"
LEARNERS = {
    "signed": "ours, `model.signed_width 16`",
    "unsigned": "ours without, as wide together",
    "gps": "GPS (PyG)",
    "gin": "GIN (PyG)",
}
COUNTED = ("genus", "betti_1", "betti_1_mod_2")


def of_topology() -> Iterator[Claim]:
    """All of the page."""
    file = "topology/surfaces.json"
    found = kept_json(file)["targets"]["orientable"]
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


def _correlations(scores: list[dict[str, Any]]) -> str:
    """Mean and worst of the seeds, on surfaces of the same sizes and on larger ones."""
    both = _on_both(scores, "correlation")
    return " | ".join(f"{sum(each) / len(each):.2f} ({min(each):.2f})" for each in both)


def _accuracies(scores: list[dict[str, Any]]) -> str:
    """The mean of the seeds, on surfaces of the same sizes and on larger ones."""
    return ", ".join(f"{sum(each) / len(each):.2f}" for each in _on_both(scores, "accuracy"))


def _on_both(scores: list[dict[str, Any]], metric: str) -> list[list[float]]:
    """By seed, on surfaces of the same sizes and on larger ones."""
    return [[each[metric][where] for each in scores] for where in ("surfaces", "surfaces-10x")]
