"""What a pretrained model adds on small tables, and how much of it plain descriptors know.

    CELLFORMER_DATA=folder python -m benchmarks.accuracy.pretrained cellformer-base

trains on 50, 100, 200 and 500 rows of every table and on all of them, from nothing and from the
given run, each with the whole recipe and with the cells alone; and beside them a ridge regression
and a forest on what the pretraining learned (RDKit's descriptors), linear models on the vectors of
``cellformer embed``, on Morgan counts and on both, and chemprop. A tenth of the rows that are not
tested validates. What ``--folder`` holds is not made again. The error is the root mean square error
on the test rows. The first table of the output has the mean over seeds, the second the geometric
means of ratios.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cellformer as cf
from benchmarks.accuracy.__main__ import learned
from benchmarks.accuracy.learners import Features, Learner, chemprop, described, fitted, ours
from benchmarks.accuracy.rows import written
from benchmarks.accuracy.sets import DEVELOPMENT, JUDGING, TABLES
from benchmarks.accuracy.table import Score, geometric_mean
from benchmarks.timing import machine, write_json
from cellformer.basics.files import replace_atomically
from cellformer.training.runs.shipped import run_path

CELLS = ("--data.molecule_descriptors", "none")
MORGAN_COLUMNS = 2048
NAMES = ("nothing", "pretrained", "cells from nothing", "cells pretrained", "ridge of descriptors",
         "forest of descriptors", "linear of vectors", "linear of Morgan counts",
         "linear of vectors and descriptors", "chemprop")  # fmt: skip
SIZES = (50, 100, 200, 500, 0)
"""Rows that train or validate; 0: all."""


def learners(base: Path, peers: Path) -> Mapping[str, Learner]:
    """All by name."""
    start = ("--from", str(base))
    made = (
        ours(),
        ours(start),
        ours(CELLS),
        ours((*CELLS, *start)),
        linear(descriptors),
        forest,
        linear(lambda smiles: vectors(base, smiles)),
        linear(morgan),
        linear(lambda smiles: np.hstack([vectors(base, smiles), descriptors(smiles)])),
        chemprop(peers / "bin" / "python"),
    )
    return dict(zip(NAMES, made, strict=True))


def main() -> None:
    """Makes what is missing, prints the tables, and writes them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "base", type=Path, help="the run folder of cellformer pretrain, or cellformer-base"
    )
    parser.add_argument("--group", choices=["development", "judging"], default="judging")
    parser.add_argument("--sets", nargs="+", choices=TABLES, default=None)
    parser.add_argument("--learners", nargs="+", choices=NAMES, default=list(NAMES[:-1]))
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--folder", type=Path, default=Path("runs/pretrained"))
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers"))
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    sets = chosen.sets or list(DEVELOPMENT if chosen.group == "development" else JUDGING)
    by_name = learners(run_path(chosen.base).resolve(), chosen.peers)
    found: dict[str, dict[str, list[Score]]] = {}
    for seed in chosen.seeds:
        for name in sets:
            folder = chosen.folder / name
            whole = written(TABLES[name], seed, chosen.peers / "moleculeace", folder)
            for count in chosen.rows:
                rows = fewer(whole, count, seed)
                if rows is None:
                    continue
                case = f"{name}, {count or 'all'} rows"
                for who in chosen.learners:
                    place = folder / f"{who.replace(' ', '-')}-{count}-{seed}"
                    score = learned(by_name[who], rows, seed, place)
                    found.setdefault(case, {}).setdefault(who, []).append(score)
                    print(f"{case}, {who}, seed {seed}: {score.rmse:.3f}", flush=True)
    print("\n".join(summary(found)))
    if chosen.out is not None:
        told = {
            "machine": machine(),
            "base": cf.load(chosen.base).summary.data.digest,
            "seeds": chosen.seeds,
            "cases": {
                case: {who: [asdict(score) for score in each] for who, each in row.items()}
                for case, row in found.items()
            },
        }
        write_json(chosen.out, told)


def fewer(whole: Path, count: int, seed: int) -> Path | None:
    """The file with so many rows that train or validate, in the same shares; made once.

    Fewer rows are always among more. None where the file has no more; 0 takes all.
    """
    if not count:
        return whole
    frame = pd.read_csv(whole)
    tested = frame["split"] == "test"
    learned_from = frame[~tested]
    if len(learned_from) <= count:
        return None
    path = whole.with_name(f"{whole.stem}-{count}.csv")
    if not path.exists():
        share = count / len(learned_from)
        order = np.random.default_rng(seed).permutation(len(learned_from))
        mixed = learned_from.iloc[order]
        parts = [own.head(max(round(share * len(own)), 2)) for _, own in mixed.groupby("split")]
        kept = pd.concat([*parts, frame[tested]]).sort_index()
        with replace_atomically(path) as unfinished:
            kept.to_csv(unfinished, index=False)
    return path


def summary(found: Mapping[str, Mapping[str, Sequence[Score]]]) -> list[str]:
    """The mean errors, and geometric means of the ratios to those from nothing, by rows."""
    names = list(next(iter(found.values())))
    told = ["| table | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    means = {case: {who: float(np.mean([s.rmse for s in row[who]])) for who in names}
             for case, row in found.items()}  # fmt: skip
    told += [
        f"| {case} | " + " | ".join(f"{row[who]:.3f}" for who in names) + " |"
        for case, row in means.items()
    ]
    base = "nothing" if "nothing" in names else names[0]
    told += ["", f"by the error of: {base}", *told[:2]]
    for rows in dict.fromkeys(case.partition(", ")[2] for case in means):
        own = [row for case, row in means.items() if case.endswith(f", {rows}")]
        values = [geometric_mean([row[who] / row[base] for row in own]) for who in names]
        told.append(f"| {rows} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    return told


def linear(features: Features) -> Learner:
    """A ridge regression on scaled features, its penalty chosen within the training rows."""

    def learn(rows: Path, seed: int, _: Path) -> Score:
        model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 5, 15)))
        return fitted(rows, features, model)

    return learn


def forest(rows: Path, seed: int, _: Path) -> Score:
    """500 trees on RDKit's descriptors."""
    return fitted(rows, descriptors, RandomForestRegressor(500, random_state=seed, n_jobs=1))


def descriptors(smiles: Sequence[str]) -> NDArray[np.float32]:
    """RDKit's descriptors, 0 where unknown."""
    return described(smiles)[:, MORGAN_COLUMNS:]


def morgan(smiles: Sequence[str]) -> NDArray[np.float32]:
    """Morgan counts of radius 2 in 2,048 columns."""
    return described(smiles)[:, :MORGAN_COLUMNS]


def vectors(base: Path, smiles: Sequence[str]) -> NDArray[np.float32]:
    """Those of the pretrained model, of all its layers, as a mean over the atoms and as a sum."""
    found: NDArray[np.float32] = np.nan_to_num(
        np.asarray(cf.embed(base, list(smiles), pool="both", layers="all"))
    )
    return found


if __name__ == "__main__":
    main()
