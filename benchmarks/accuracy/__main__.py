"""Ours and its peers on the same rows of small tables of molecules.

    scripts/peers
    CELLFORMER_DATA=folder python -m benchmarks.accuracy --group judging --out results/accuracy.json

trains every learner on every table with every seed, each with one thread and its own defaults, and
prints test error and time side by side. What ``--folder`` holds is not made again, so the same
command goes on where it was stopped. The error is the root mean square error on the test rows; a
ratio is the mean error of ours by that of a peer. The last lines have geometric means of ratios,
and the worst ratio.
"""

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from rdkit import __version__ as rdkit_version

from benchmarks.accuracy.learners import PREDICTED, Learner, learners
from benchmarks.accuracy.rows import written
from benchmarks.accuracy.sets import DEVELOPMENT, JUDGING, TABLES
from benchmarks.accuracy.table import Score, lines
from benchmarks.once import once
from benchmarks.timing import machine, write_json
from cellformer.basics.files import replace_atomically

NAMES = ("cellformer", "chemprop", "forest", "boosting", "gin", "gps")


def main() -> None:
    """Makes what is missing, prints the table, and writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", choices=["development", "judging"], default="judging")
    parser.add_argument("--sets", nargs="+", choices=TABLES, default=None)
    parser.add_argument("--learners", nargs="+", choices=NAMES, default=list(NAMES[:4]))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--folder", type=Path, default=Path("runs/accuracy"))
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers"))
    parser.add_argument("--label", default="cellformer", help="of ours with the extra arguments")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument(
        "--predictions", type=Path, default=None, help="a table of what is said of each test row"
    )
    parser.add_argument("extra", nargs="*", help="further arguments of cellformer train, after --")
    chosen = parser.parse_args()
    sets = chosen.sets or list(DEVELOPMENT if chosen.group == "development" else JUDGING)
    by_name = learners(chosen.peers, chosen.extra)
    found: dict[str, dict[str, list[Score]]] = {name: {} for name in sets}
    for seed in chosen.seeds:
        for name in sets:
            folder = chosen.folder / name
            rows = written(TABLES[name], seed, chosen.peers / "moleculeace", folder)
            for learner in chosen.learners:
                label = chosen.label if learner == "cellformer" else learner
                score = learned(by_name[learner], rows, seed, folder / f"{label}-{seed}")
                found[name].setdefault(learner, []).append(score)
                print(
                    f"{name}, {label}, seed {seed}: {score.rmse:.3f}, {score.seconds:.0f} s",
                    flush=True,
                )
    print("\n".join(lines(found)))
    if chosen.predictions is not None:
        labels = [chosen.label if each == "cellformer" else each for each in chosen.learners]
        table = predictions_of(chosen.folder, sets, labels, chosen.seeds)
        with replace_atomically(chosen.predictions) as unfinished:
            table.to_csv(unfinished, index=False, float_format="%.6g")
    if chosen.out is not None:
        told = {
            "machine": machine(),
            "rdkit": rdkit_version,
            "arguments": chosen.extra,
            "seeds": chosen.seeds,
            "sets": {
                name: {who: [asdict(score) for score in each] for who, each in row.items()}
                for name, row in found.items()
            },
        }
        write_json(chosen.out, told)


def predictions_of(
    folder: Path, sets: Sequence[str], labels: Sequence[str], seeds: Sequence[int]
) -> pd.DataFrame:
    """A line for each test row, table and seed: its truth, and what learners that keep it said."""
    parts = []
    for name, seed in itertools.product(sets, seeds):
        found = {"table": name, "seed": seed}
        for label in labels:
            file = folder / name / f"{label}-{seed}" / PREDICTED
            if file.exists():
                rows = pd.read_csv(file)
                found |= {"row": rows.index, "truth": rows["y"], label: rows["prediction"]}
        parts.append(pd.DataFrame(found))
    return pd.concat(parts)


def learned(learner: Learner, rows: Path, seed: int, folder: Path) -> Score:
    """The score that ``folder`` holds, or that the learner reaches now."""
    folder.mkdir(parents=True, exist_ok=True)
    return once(folder / "score.json", Score, lambda: learner(rows, seed, folder))


if __name__ == "__main__":
    main()
