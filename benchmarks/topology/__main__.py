"""What linear learners, a graph network on the line graph, and ours reach on fields on cells.

    python -m benchmarks.topology flows trajectories --epochs 15 --out results/topology/fields.json

prints a line for each; `flows` by the mean absolute error of edges that were not measured,
`trajectories` by accuracy, of the test rows. What ``--folder`` holds is not made again.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.once import once
from benchmarks.timing import machine, processor_seconds, write_json
from benchmarks.topology.hodge import complete_flows, tell_trajectories
from benchmarks.topology.line_graph import LineGraphTraining, train_line_graph
from cellformer.data.dataset import GraphSet
from cellformer.data.named.fields import FIELD_SETS, open_fields
from cellformer.experiments.running.jobs import Job
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig

NETWORKS = ("line graph", "signed", "signed, with parts")
"""The last is given the Hodge decomposition of the fields that all are given."""


@dataclass(frozen=True)
class FieldScore:
    """Of the test rows, at the best validation epoch."""

    score: float


def main() -> None:
    """Prints the table, and keeps it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", choices=FIELD_SETS)
    parser.add_argument("--epochs", type=int, default=0, help="of the networks; 0 leaves them out")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the networks")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--folder", type=Path, default=Path("runs/fields"))
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    for name in chosen.sets:
        source = open_fields(name)
        row = found[name] = {learner: [score] for learner, score in linear(name, source).items()}
        for learner in chosen.networks if chosen.epochs else ():
            for seed in chosen.seeds:
                run = (
                    chosen.folder / f"{name}-{learner.replace(', ', '-').replace(' ', '-')}-{seed}"
                )
                make = partial(trained, learner, source, chosen.epochs, seed, run)
                row.setdefault(learner, []).append(
                    once(Path(f"{run}.json"), FieldScore, make).score
                )
        for learner, scores in row.items():
            print(f"{name}, {learner}: {' '.join(f'{score:.4f}' for score in scores)}", flush=True)
    print(f"{processor_seconds():.0f} s of the processor")
    if chosen.out is not None:
        told = {"machine": machine(), "epochs": chosen.epochs, "seeds": chosen.seeds, "sets": found}
        write_json(chosen.out, told)


def linear(name: str, source: GraphSet) -> dict[str, float]:
    """What learners reach that are linear in the field."""
    if name == "flows":
        flows = complete_flows(source)
        return {"zero": flows.error_of_zero, "Hodge Laplacian": flows.error}
    harmonic, plain = tell_trajectories(source)
    return {"harmonic projections": harmonic, "edges without signs": plain}


def trained(learner: str, source: GraphSet, epochs: int, seed: int, run: Path) -> FieldScore:
    """What a network reaches; ours has columns that flip."""
    if learner == "line graph":
        return FieldScore(train_line_graph(source, LineGraphTraining(epochs=epochs, seed=seed)))
    parts = learner == "signed, with parts"
    config = RunConfig(
        DataConfig(source=source.name, encodings="hodgelap:8+rwpe:8", hodge_parts=parts),
        model=ArchitectureConfig(width=32, heads=4, signed_width=32),
        optimizer=OptimizerConfig(peak_rate=2e-3),
        training=TrainingConfig(epochs=epochs, batch_size=16, seed=seed),
    )
    return FieldScore(Job(config, run).perform().score("test"))


if __name__ == "__main__":
    main()
