"""What linear learners, a graph network on the line graph, and ours reach on fields on cells.

    python -m benchmarks.topology flows trajectories --epochs 15 --out results/topology/fields.json

prints a line for each; `flows` by the mean absolute error of edges that were not measured,
`trajectories` by accuracy, of the test rows. What ours has learned stays in ``--folder``, and is
not learned again.
"""

import argparse
from pathlib import Path

from benchmarks.timing import machine, processor_seconds, write_json
from benchmarks.topology.hodge import complete_flows, tell_trajectories
from benchmarks.topology.line_graph import LineGraphTraining, train_line_graph
from cellformer.data.dataset import GraphSet
from cellformer.data.named.fields import FIELD_SETS, open_fields
from cellformer.experiments.running.jobs import Job
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig


def main() -> None:
    """Prints the table, and keeps it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", choices=FIELD_SETS)
    parser.add_argument("--epochs", type=int, default=0, help="of the networks; 0 leaves them out")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the networks")
    parser.add_argument("--folder", type=Path, default=Path("runs/fields"))
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    for name in chosen.sets:
        source = open_fields(name)
        row = found[name] = {learner: [score] for learner, score in linear(name, source).items()}
        for seed in chosen.seeds if chosen.epochs else ():
            network = LineGraphTraining(epochs=chosen.epochs, seed=seed)
            row.setdefault("line graph", []).append(train_line_graph(source, network))
            for learner, with_parts in (("signed", False), ("signed, with parts", True)):
                run = chosen.folder / f"{name}-{'parts-' * with_parts}{seed}"
                row.setdefault(learner, []).append(ours(name, chosen.epochs, seed, run, with_parts))
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


def ours(name: str, epochs: int, seed: int, run: Path, with_parts: bool) -> float:
    """The test score of a model with columns that flip, at its best validation epoch.

    ``with_parts``, it is given the Hodge decomposition of the fields that it is given.
    """
    config = RunConfig(
        DataConfig(source=name, encodings="hodgelap:8+rwpe:8", hodge_parts=with_parts),
        model=ArchitectureConfig(width=32, heads=4, signed_width=32),
        optimizer=OptimizerConfig(peak_rate=2e-3),
        training=TrainingConfig(epochs=epochs, batch_size=16, seed=seed),
    )
    return Job(config, run).perform().score("test")


if __name__ == "__main__":
    main()
