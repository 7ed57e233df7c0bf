"""GCB-hard: ours and GIN, trained on the same graphs and asked about graphs drawn anew.

    CELLFORMER_DATA=folder python -m benchmarks.gcb --out results/gcb/development.json
    CELLFORMER_DATA=folder python -m benchmarks.gcb --judge --out results/gcb/judged.json

The published test part has 190 graphs, with a standard error of three points. So everyone is asked
about 1,800 graphs of the same distribution too, drawn by `generate_gcb`: choices are made by the
validation part and by the draw "development"; the draws of `JUDGING`, of other seeds, are looked at
only with ``--judge``, afterwards. The first of them judged `skeleton-batch` and GIN, when one of
five seeds had not learned anything; `skeleton-open` was made since, and so was the second one.
``--train paper`` learns the training part of the set alone, ``--train large`` 12,000 graphs of
further seeds. What ``--folder`` holds is not made again.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.asking import Outputs, classes_of, trained
from benchmarks.timing import machine, processor_seconds, write_json
from cellformer.data.named.gcb import generate_gcb
from cellformer.data.readers.npz import write_npz
from cellformer.experiments.baselines.config import GIN, BaselineConfig
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from cellformer.training.materials.materials import gather
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.runs.summary import Summary

SET = "gcb-hard"
SEEDS = {"development": 101, "judging": 102, "judging-again": 103}
"""Of the draws that are asked about."""
JUDGING = ("judging", "judging-again")
LARGE = range(111, 119)
"""Of the draws that are learned with ``--train large``: 12,000 graphs, and 2,400 to validate."""
LEARNED = 12_000


@dataclass(frozen=True)
class Learner:
    """What is trained; parts of the configuration that do not depend on the data."""

    model: ArchitectureConfig | GIN
    attention: str = ""
    encodings: str = "zeros"
    lifting: str = "auto"
    peak_rate: float = 1e-3
    epochs: int = 60
    averaging: float = 0.0

    def config(self, source: str, seed: int) -> RunConfig | BaselineConfig:
        """The training."""
        lifting = "skeleton" if isinstance(self.model, GIN) else self.lifting
        data = DataConfig(source=source, encodings=self.encodings, lifting=lifting)
        optimizer = OptimizerConfig(peak_rate=self.peak_rate, averaging=self.averaging)
        training = TrainingConfig(epochs=self.epochs, batch_size=32, seed=seed, device="cpu")
        if isinstance(self.model, GIN):
            return BaselineConfig(self.model, data, optimizer, training)
        return RunConfig(data, self.attention, self.model, optimizer, training)


def _ours(width: int, layers: int, **chosen: object) -> ArchitectureConfig:
    usual = {"heads": 4, "final_norm": True, "readout_layers": 1, "pooling": "mean",
             "readout_cells": "all", "attention_dropout": 0.1, "dropout": 0.1}  # fmt: skip
    return ArchitectureConfig(width=width, layers=layers, **(usual | chosen))  # type: ignore[arg-type]


LEARNERS = {
    "gin-batch": Learner(GIN(width=100, layers=5)),
    "gin-layer": Learner(GIN(width=100, layers=5, norm="layer")),
    "gin-graph": Learner(GIN(width=100, layers=5, norm="graph")),
    "general": Learner(_ours(56, 4), "general-sparse"),
    "general-degree": Learner(_ours(56, 4, degree_scaling="log"), "general-sparse"),
    "pairwise": Learner(_ours(32, 3), "pairwise-sparse"),
    "skeleton": Learner(_ours(56, 4), "general-sparse", lifting="skeleton"),
    "skeleton-batch": Learner(_ours(56, 4, norm="batch"), "general-sparse", lifting="skeleton"),
    "skeleton-open": Learner(
        _ours(56, 4, norm="batch", final_norm=False), "general-sparse", lifting="skeleton"
    ),
    "walks": Learner(_ours(56, 4), "general-sparse", "rwpe:8"),
}
"""About 100,000 weights each, of GIN a quarter more; ours without encodings but the last."""


@dataclass(frozen=True)
class Score:
    """Accuracies at the best validation epoch, weights, and seconds of the processor."""

    accuracy: dict[str, float]
    parameters: int
    seconds: float


def main() -> None:
    """Prints a line for each learner, and keeps all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--train", choices=("paper", "large"), default="paper")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("runs/gcb"))
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    draws = ["development", *(JUDGING if chosen.judge else [])]
    source = SET if chosen.train == "paper" else str(large_set(chosen.folder / "large.npz"))
    found: dict[str, list[Score]] = {}
    for seed in chosen.seeds:
        for name in chosen.learners:
            folder = chosen.folder / f"{chosen.train}-{name}-{seed}"
            score = scored(LEARNERS[name].config(source, seed), folder, draws)
            found.setdefault(name, []).append(score)
            print(line(f"{name}, seed {seed}", [score]), flush=True)
    for name, scores in found.items():
        print(line(name, scores))
    if chosen.out is not None:
        told = {name: [asdict(score) for score in scores] for name, scores in found.items()}
        described = {name: asdict(LEARNERS[name]) for name in chosen.learners}
        write_json(chosen.out, {"machine": machine(), "train": chosen.train, "draws": SEEDS,
                                "learners": described, "seeds": chosen.seeds,
                                "scores": told})  # fmt: skip


def line(name: str, scores: Sequence[Score]) -> str:
    """The mean of the seeds for each part and draw, and their standard deviation."""
    told = []
    for part in scores[0].accuracy:
        values = [score.accuracy[part] for score in scores]
        spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
        told.append(f"{part} {np.mean(values):.3f}{spread}")
    seconds = np.mean([score.seconds for score in scores])
    return f"{name}: {', '.join(told)}; {scores[0].parameters:,} weights, {seconds:.0f} s"


def scored(config: RunConfig | BaselineConfig, folder: Path, draws: Sequence[str]) -> Score:
    """The score that is kept beside the run, with these draws, or that it reaches now."""
    kept = folder.with_suffix(".json")
    known = Score({}, 0, 0.0)
    if kept.exists():
        known = Score(**json.loads(kept.read_text(encoding="utf-8")))
    lacking = [draw for draw in draws if draw not in known.accuracy]
    if not lacking:
        return known
    began = processor_seconds()
    outputs = trained(config, folder)
    seconds = known.seconds or processor_seconds() - began
    summary = Summary.read(folder)
    own = {part: float(summary.score(part)) for part in ("val", "test")}
    accuracy = own | known.accuracy | {draw: asked(outputs, config.data, draw) for draw in lacking}
    score = Score(accuracy, summary.parameters, seconds)
    write_json(kept, asdict(score))
    return score


def asked(outputs: Outputs, data: DataConfig, draw: str) -> float:
    """The accuracy on all graphs of a draw."""
    drawn = generate_gcb(SET, SEEDS[draw])
    materials = gather(data, drawn, preparation_of(data, SET))
    every = np.arange(len(materials.complexes))
    truth = materials.complexes.targets_of(every)[:, 0].astype(int)
    return float((classes_of(outputs(materials.complexes, every)) == truth).mean())


def large_set(file: Path) -> Path:
    """A file of 12,000 graphs to learn and further ones to validate, made if it is not there."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        drawn = [generate_gcb(SET, seed) for seed in LARGE]
        graphs = [one.graph(row) for one in drawn for row in range(len(one))]
        targets = np.concatenate([one.targets for one in drawn])
        rows = np.random.default_rng(0).permutation(len(graphs))
        split = {"train": rows[:LEARNED], "val": rows[LEARNED:-600], "test": rows[-600:]}
        write_npz(file, graphs, targets, split, "multiclass")
    return file


if __name__ == "__main__":
    main()
