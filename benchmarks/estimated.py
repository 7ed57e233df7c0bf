"""What `cellformer estimate` foretells beside what happened, and what it says of large sets.

    CELLFORMER_DATA=folder python -m benchmarks.estimated --out results/benchmarks/estimated.json

Measures with ten thousand of the molecules of `benchmarks.enumerated`, then prepares ten times as
many with one process and with two, and trains an epoch with one and two, each a command of its own
with a cache of its own. The plans at the end, of 100 million and a billion rows on 1 to 1,000
machines, are not checked by anything.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.enumerated import write_enumerated
from benchmarks.large import DATA, prepared_bytes
from benchmarks.timing import machine, parser, versions, write_json
from benchmarks.watched import environment
from cellformer.experiments.presets import PRESETS
from cellformer.training.config import RunConfig
from cellformer.training.estimating.machines import Machines
from cellformer.training.estimating.planned import planned, table_of
from cellformer.training.estimating.rates import Rates, measured_rates
from cellformer.training.estimating.words import told_of_plans, told_of_rates
from cellformer.training.runs.curve import seconds_of
from cellformer.training.runs.summary import curve_of

SAMPLE = 10_000
MODEL = replace(PRESETS["default"].model, width=32, layers=4, heads=4)
BATCH_SIZE = 256
ROWS = (100_000_000, 1_000_000_000)
NODES = (1, 10, 100, 1000)
BATCH = 8192
CLUSTER = Machines(processes=64, storage=10_000.0, failures=0.01)


@dataclass(frozen=True)
class Compared:
    """Seconds, or bytes."""

    case: str
    foretold: float
    taken: float

    @property
    def ratio(self) -> float:
        """What was foretold, over what was taken."""
        return self.foretold / self.taken


def configuration(table: Path) -> RunConfig:
    """A small model on the whole set."""
    base = PRESETS["default"]
    data = replace(base.data, source=str(table), target=("share",), molecule_descriptors="none")
    training = replace(base.training, batch_size=BATCH_SIZE, epochs=1, device="cpu")
    return replace(base, data=data, model=MODEL, training=training)


def compared(rates: Rates, config: RunConfig, count: int, folder: Path) -> Iterator[Compared]:
    """Preparations and epochs, by one process and by two."""
    table = folder / "molecules.csv"
    write_enumerated(table, count)
    sample = config.data.source
    run_command(["prepare", sample, *DATA], folder / "warm")  # compiles
    for processes in (1, 2):
        [plan] = planned(rates, config.training, [count], [Machines(processes=processes)])
        cache = folder / f"cache-{processes}"
        began = time.perf_counter()
        workers = f"--data.workers={processes - 1 and processes}"
        run_command(["prepare", str(table), *DATA, workers], cache)
        taken = time.perf_counter() - began - starting(sample, folder)
        yield Compared(f"preparation, {processes}", plan.preparation.seconds, taken)
        if processes == 1:
            yield Compared("bytes on disk", plan.preparation.disk_bytes, prepared_bytes(cache))
        run = folder / f"run-{processes}"
        words = [f"--model.{name}={getattr(MODEL, name)}" for name in ("width", "layers", "heads")]
        run_command(["train", str(table), *DATA, *words, "--epochs=1", "--device=cpu",
                     f"--batch-size={BATCH_SIZE}", f"--training.processes={processes}",
                     f"-o={run}"], cache)  # fmt: skip
        yield Compared(f"epoch, {processes}", plan.epoch.seconds, seconds_of(curve_of(run)))


def run_command(words: list[str], cache: Path) -> None:
    """One command of ours, to its end."""
    subprocess.run(
        [sys.executable, "-m", "cellformer", *words], check=True, env=environment(cache),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def starting(sample: str, folder: Path) -> float:
    """Seconds that a command takes before it does anything: one that finds all prepared."""
    began = time.perf_counter()
    run_command(["prepare", sample, *DATA], folder / "warm")
    return time.perf_counter() - began


def main() -> None:
    """Prints what was measured, the comparison and the plans."""
    options = parser(__doc__.splitlines()[0], runs=1)
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--molecules", type=int, default=10 * SAMPLE)
    chosen = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample.csv"
        write_enumerated(sample, SAMPLE)
        config = configuration(sample)
        rates = measured_rates(config, chosen.seconds)
        print("\n".join(told_of_rates(rates, config)))
        for row in compared(rates, config, chosen.molecules, Path(folder)):
            print(f"{row.case}: foretold {row.foretold:.1f}, taken {row.taken:.1f}, "
                  f"ratio {row.ratio:.2f}", flush=True)  # fmt: skip
            rows.append(row)
    large = replace(config.training, batch_size=BATCH)
    plans = planned(rates, large, ROWS, [replace(CLUSTER, nodes=nodes) for nodes in NODES])
    print("\n".join(told_of_plans(plans)))
    if chosen.out is not None:
        told = {"machine": machine(), "versions": versions(), "looked": rates.looked,
                "molecules": chosen.molecules,
                "compared": [asdict(row) | {"ratio": row.ratio} for row in rows],
                "batch": BATCH, "cluster": asdict(CLUSTER),
                "plans": table_of(plans).to_dict("records")}  # fmt: skip
        write_json(chosen.out, told)


if __name__ == "__main__":
    main()
