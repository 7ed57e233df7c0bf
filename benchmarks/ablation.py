"""What each choice of a model changes: it alone is switched on, all else stays.

    CELLFORMER_DATA=folder python -m benchmarks.ablation --out results/ablation.json

The networks have about as many weights as the one without any choice, so those with pairwise
attention are narrower. Every training is a command line, in its score beside what it reached. What
``--folder`` holds is not made again, and a training that was interrupted goes on.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy.rows import written
from benchmarks.accuracy.sets import DEVELOPMENT
from benchmarks.once import once
from benchmarks.timing import machine, processor_seconds, write_json
from cellformer.training.runs.summary import Summary

_WALKS = "--attention general-sparse --data.encodings rwbspe:16 --model.feedforward_width 128"
_ROWS = f"{{}} --target y --data.molecule_descriptors none {_WALKS} --batch-size 32 --epochs 60"
TASKS: Mapping[str, str] = {
    "zinc": f"zinc --preset zinc {_WALKS} --model.width 64 --model.layers 6 "
    "--model.attention_dropout 0.1 --lr 1e-3 --optimizer.warmup 0.05 --batch-size 32 --epochs 24",
    "gcb-hard": "gcb-hard --attention general-sparse --data.encodings zeros --model.width 64 "
    "--model.layers 4 --model.final_norm true --batch-size 32 --epochs 30",
    "ESOL": _ROWS,
    "FreeSolv": _ROWS,
}
"""What is learned, and how without any choice; ``{}`` is a file of rows."""
CHOICES: Mapping[str, str] = {
    "none": "",
    "degree-log": "--model.degree_scaling log",
    "degree-linear": "--model.degree_scaling linear",
    "gate": "--model.gate true",
    "reach": "--model.reach 1,1,2,all",
    "virtual-cell": "--model.virtual_cell true",
    "norm-rms": "--model.norm rms",
    "norm-batch": "--model.norm batch",
    "layer-dropout": "--model.layer_dropout 0.1",
    "dropout": "--model.dropout 0.1",
    "averaging": "--optimizer.averaging 0.999",
    "readout-all": "--model.readout_cells all --model.final_norm true",
    "either-sign": "--data.encodings rwbspe:16+bspe:8 --model.sign_invariant true",
    "random-signs": "--data.encodings rwbspe:16+bspe:8",
    "pairs": "--model.pair_width 16 --model.pair_steps 16",
    "pair-updates": "--model.pair_width 16 --model.pair_steps 16 --model.pair_updates true",
    "pairwise-sparse": "--attention pairwise-sparse --model.width 32 --model.feedforward_width 64",
    "pairwise-mixed": "--attention pairwise-mixed --model.width 32 --model.feedforward_width 64",
    "general-dense": "--attention general-dense",
}


@dataclass(frozen=True)
class Score:
    """At the best validation epoch; seconds of the processor."""

    command: str
    metric: str
    val: float
    test: float
    parameters: int
    seconds: float


def main() -> None:
    """Prints a line for each training and choice, and keeps all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--choices", nargs="+", choices=CHOICES, default=list(CHOICES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--folder", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    found: dict[str, dict[str, list[Score]]] = {task: {} for task in chosen.tasks}
    for seed in chosen.seeds:
        for task in chosen.tasks:
            for choice in chosen.choices:
                score = scored(task, choice, seed, chosen.folder)
                found[task].setdefault(choice, []).append(score)
                print(f"seed {seed}, {line(task, choice, [score])}", flush=True)
    for task, row in found.items():
        for choice, scores in row.items():
            print(line(task, choice, scores))
    if chosen.out is not None:
        told = {
            task: {choice: [asdict(score) for score in scores] for choice, scores in row.items()}
            for task, row in found.items()
        }
        write_json(chosen.out, {"machine": machine(), "seeds": chosen.seeds, "tasks": told})


def line(task: str, choice: str, scores: Sequence[Score]) -> str:
    """The means over the seeds."""
    val, test, seconds = (
        np.mean([getattr(score, name) for score in scores]) for name in ("val", "test", "seconds")
    )
    return (
        f"{task}, {choice}: {scores[0].metric} val {val:.4f}, test {test:.4f}; "
        f"{scores[0].parameters:,} weights, {seconds:.0f} s"
    )


def scored(task: str, choice: str, seed: int, folder: Path) -> Score:
    """The score that is kept beside the run, or that it reaches now."""
    run = folder / f"{task}-{choice}-{seed}"
    return once(run.with_suffix(".json"), Score, lambda: _trained(task, choice, seed, run))


def _trained(task: str, choice: str, seed: int, run: Path) -> Score:
    told = f"{TASKS[task]} {CHOICES[choice]} --seed {seed} --device cpu".split()
    rows = ""
    if task in DEVELOPMENT:
        rows = str(written(DEVELOPMENT[task], seed, Path(), run.parent / "rows" / task))
    words = [rows if word == "{}" else word for word in told]
    began = processor_seconds()
    subprocess.run(
        [sys.executable, "-m", "cellformer", "train", *words, "-o", str(run), "--resume", "auto"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    seconds = processor_seconds() - began
    summary = Summary.read(run)
    return Score(
        f"cellformer train {' '.join(told).replace('{}', f'{task}.csv')}",
        summary.metric,
        summary.score("val"),
        summary.score("test"),
        summary.parameters,
        seconds,
    )


if __name__ == "__main__":
    main()
