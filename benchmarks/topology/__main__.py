"""What linear learners and a graph network on the line graph reach on fields on cells.

    python -m benchmarks.topology flows trajectories
    python -m benchmarks.topology flows --epochs 60     # the network too

prints a line for each; `flows` by the mean absolute error of edges that were not measured,
`trajectories` by accuracy, of the test rows.
"""

import argparse
import time

from benchmarks.topology.hodge import complete_flows, tell_trajectories
from benchmarks.topology.line_graph import LineGraphTraining, train_line_graph
from cellformer.data.named.fields import FIELD_SETS, open_fields


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", choices=FIELD_SETS)
    parser.add_argument("--epochs", type=int, default=0, help="of the network; 0 leaves it out")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the network")
    chosen = parser.parse_args()
    for name in chosen.sets:
        source = open_fields(name)
        if name == "flows":
            found = complete_flows(source)
            print(f"flows, zero: {found.error_of_zero:.4f}")
            print(
                f"flows, Hodge Laplacian: {found.error:.4f} (divergence {found.weights[0]:g}, "
                f"curl {found.weights[1]:g})"
            )
        else:
            harmonic, plain = tell_trajectories(source)
            print(f"trajectories, linear on harmonic projections: {harmonic:.3f}")
            print(f"trajectories, linear on edges without signs: {plain:.3f}")
        for seed in chosen.seeds if chosen.epochs else ():
            began = time.process_time()
            reached = train_line_graph(source, LineGraphTraining(epochs=chosen.epochs, seed=seed))
            spent = time.process_time() - began
            print(f"{name}, line graph, seed {seed}: {reached:.4f} ({spent:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
