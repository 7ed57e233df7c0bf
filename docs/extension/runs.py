"""A table of every training in results/."""

import json
from pathlib import Path
from typing import Any

from cellformer.training.runs.summary import Summary

FOLDER = Path(__file__).parents[2] / "results"


def runs() -> str:
    """One row for each folder with a config.json and a summary.json, by data set and score."""
    found = []
    for file in sorted(FOLDER.rglob("summary.json")):
        if not file.with_name("config.json").exists():
            continue
        summary = Summary.read(file.parent)
        config = json.loads(file.with_name("config.json").read_text(encoding="utf-8"))
        test, constant = (
            part.get("test", {}).get(summary.metric)
            for part in (summary.reported, summary.baseline)
        )
        told = [
            summary.data.name,
            _network(config),
            f"`{config['data']['encodings']}`",
            f"`{config['data']['lifting']}`",
            f"{summary.epochs}",
            f"{summary.parameters:,}",
            summary.metric,
            _number(test),
            _number(constant),
            f"`{file.parent.relative_to(FOLDER)}`",
        ]
        found.append((told[0], told[1], told[2], told))
    head = (
        "data set", "attention, or other network", "encodings", "lifting", "epochs", "parameters",
        "metric", "test", "constant answer", "folder of results/",
    )  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(told) + " |" for *_, told in sorted(found)]
    return "\n".join(lines)


def _network(config: dict[str, Any]) -> str:
    if "attention" in config:
        pairs = ", pairs described" if config["model"].get("pair_width") else ""
        return f"`{config['attention']}`{pairs}"
    note = ", not the published network" if config["baseline"] == "MinCutPool" else ""
    return f"{config['baseline']} (PyG{note})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
