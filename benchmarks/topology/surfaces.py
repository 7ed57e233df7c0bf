"""What learners know of surfaces, of the sizes that they learned and of ten times larger ones.

    python -m benchmarks.topology.surfaces --out results/topology/surfaces.json

trains everyone on the small surfaces of `surfaces-10x`, in the same loop with the same epochs, rate
and encodings, and asks for the test parts of `surfaces`, whose sizes are those of training, and of
`surfaces-10x`, both drawn anew with seeds that nobody looked at while the model was made. What
``--folder`` holds is not made again. The figures are Matthews' correlation coefficient and the part
of right answers, at the best validation epoch.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, get_args

import numpy as np
from sklearn.metrics import matthews_corrcoef

from benchmarks.asking import Outputs, classes_of, trained
from benchmarks.once import once
from benchmarks.timing import machine, processor_seconds, write_json
from cellformer.data.named.surfaces import open_surfaces
from cellformer.experiments.baselines.config import GIN, GPS, BaselineConfig
from cellformer.model.config import ArchitectureConfig, Norm, Pooling
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from cellformer.training.materials.materials import gather
from cellformer.training.materials.preparation import preparation_of

SMALL, LARGE = "surfaces", "surfaces-10x"
TARGETS = ("orientable", "genus", "betti_1", "betti_1_mod_2", "betti_2")
ENCODINGS = "hodgelap:1"
CHOSEN: dict[tuple[str, bool], tuple[Pooling, Norm]] = {
    ("unsigned", True): ("sum", "batch"),
    ("unsigned", False): ("mean", "batch"),
    ("signed", True): ("mean", "layer"),
    ("signed", False): ("mean", "batch"),
}
"""Of ours, where orientability is learned and where something is counted; the others sum and have
their own norms. The best ones on the validation part with seed 0, for `orientable` (signed columns
tell all with any; the unsigned ones with batch norm, where sums had the smaller loss) and for
`genus`, which stands for all that is counted."""
DRAWS = 1, 2, 3
"""Seeds of the surfaces to test on; those to learn from are drawn with 0."""

Learner: TypeAlias = Callable[[DataConfig, TrainingConfig, Path], Outputs]


@dataclass(frozen=True)
class Score:
    """Of the test parts, by their sets, and the seconds of the processor that learning took."""

    correlation: dict[str, float]
    accuracy: dict[str, float]
    seconds: float


def main() -> None:
    """Prints a line for each learner and target, and keeps all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=["orientable"])
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--encodings", default=ENCODINGS)
    parser.add_argument("--pooling", choices=get_args(Pooling), help="of ours, in place of CHOSEN")
    parser.add_argument("--norm", choices=get_args(Norm), help="of ours, in place of CHOSEN")
    parser.add_argument("--folder", type=Path, default=Path("runs/surfaces"))
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    found: dict[str, dict[str, list[Score]]] = {}
    for target in chosen.targets:
        for name in chosen.learners:
            for seed in chosen.seeds:
                data = DataConfig(source=LARGE, target=(target,), encodings=chosen.encodings)
                training = TrainingConfig(
                    epochs=chosen.epochs, batch_size=32, seed=seed, device="cpu"
                )
                folder = chosen.folder / f"{target}-{name}-{seed}"
                if name in PEERS:
                    learner = PEERS[name]
                else:
                    pooling, norm = CHOSEN[name, target == "orientable"]
                    pooling, norm = chosen.pooling or pooling, chosen.norm or norm
                    folder = folder.with_name(f"{target}-{name}-{pooling}-{norm}-{seed}")
                    learner = partial(_ours, *OURS[name], pooling, norm)
                score = learned(learner, data, training, folder)
                found.setdefault(target, {}).setdefault(name, []).append(score)
            print(line(target, name, found[target][name]), flush=True)
    if chosen.out is not None:
        told = {
            "machine": machine(),
            "epochs": chosen.epochs,
            "encodings": chosen.encodings,
            "seeds": chosen.seeds,
            "targets": {
                target: {name: [asdict(score) for score in scores] for name, scores in row.items()}
                for target, row in found.items()
            },
        }
        write_json(chosen.out, told)


def line(target: str, name: str, scores: Sequence[Score]) -> str:
    """The mean of the seeds, and the worst of them."""
    parts = []
    for where in (SMALL, LARGE):
        values = [score.correlation[where] for score in scores]
        right = np.mean([score.accuracy[where] for score in scores])
        parts.append(
            f"{where} MCC {np.mean(values):.3f} (worst {min(values):.3f}), accuracy {right:.3f}"
        )
    seconds = np.mean([score.seconds for score in scores])
    return f"{target}, {name}: {'; '.join(parts)}; {seconds:.0f} s"


def learned(learner: Learner, data: DataConfig, training: TrainingConfig, folder: Path) -> Score:
    """The score that is kept beside the run, or that it reaches now."""
    return once(
        folder.with_suffix(".json"), Score, lambda: _learned(learner, data, training, folder)
    )


def _learned(learner: Learner, data: DataConfig, training: TrainingConfig, folder: Path) -> Score:
    began = processor_seconds()
    outputs = learner(data, training, folder)
    seconds = processor_seconds() - began
    correlation, accuracy = {}, {}
    for where in (SMALL, LARGE):
        truths, answers = [], []
        for draw in DRAWS:
            drawn = open_surfaces(where, data.target, seed=draw)
            materials = gather(data, drawn, preparation_of(data, LARGE))
            tested = materials.split["test"]
            truths.append(materials.complexes.targets_of(tested)[:, 0].astype(int))
            answers.append(classes_of(outputs(materials.complexes, tested)))
        truth, told = np.concatenate(truths), np.concatenate(answers)
        correlation[where] = float(matthews_corrcoef(truth, told))
        accuracy[where] = float((truth == told).mean())
    return Score(correlation, accuracy, seconds)


def _ours(
    signed_width: int,
    width: int,
    pooling: Pooling,
    norm: Norm,
    data: DataConfig,
    training: TrainingConfig,
    folder: Path,
) -> Outputs:
    config = RunConfig(
        replace(data, metric="accuracy"),
        "pairwise-sparse",
        ArchitectureConfig(
            width=width, layers=2, heads=4, signed_width=signed_width, readout_cells="all",
            pooling=pooling, norm=norm,
        ),
        OptimizerConfig(peak_rate=2e-3),
        training,
    )  # fmt: skip
    return trained(config, folder)


def _peer(network: GIN | GPS, data: DataConfig, training: TrainingConfig, folder: Path) -> Outputs:
    config = BaselineConfig(
        network,
        replace(data, metric="accuracy", lifting="skeleton"),
        OptimizerConfig(peak_rate=2e-3),
        training,
    )
    return trained(config, folder)


PEERS: dict[str, Learner] = {"gin": partial(_peer, GIN()), "gps": partial(_peer, GPS())}
OURS = {"unsigned": (0, 48), "signed": (16, 32)}
LEARNERS = (*PEERS, *OURS)
"""Networks of PyTorch Geometric on the vertices and edges, and ours by the columns that flip with
the orientation of a cell and those that do not, equally wide together."""


if __name__ == "__main__":
    main()
