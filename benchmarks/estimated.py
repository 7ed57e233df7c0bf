"""What `cellformer estimate` foretells beside what happened, and what it says of large sets.

    CELLFORMER_DATA=folder python -m benchmarks.estimated --out results/benchmarks/estimated.json

Measures with a sample, then prepares ZINC-12k with one process and with two, and trains an epoch
with one and two, each a command of its own with a cache of its own. The plans at the end, of 100
million and a billion rows on 1 to 1,000 machines, are not checked by anything.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

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

SET = "zinc"
MODEL = replace(PRESETS[SET].model, width=32, layers=4, heads=4)
ROWS = (100_000_000, 1_000_000_000)
NODES = (1, 10, 100, 1000)
BATCH = 8192
CLUSTER = Machines(processes=64, storage=10_000.0, failures=0.01)


@dataclass(frozen=True)
class Compared:
    """Seconds."""

    case: str
    foretold: float
    taken: float

    @property
    def ratio(self) -> float:
        """What was foretold, over what was taken."""
        return self.foretold / self.taken


def configuration() -> RunConfig:
    """A small model on the whole set."""
    base = PRESETS[SET]
    return replace(
        base,
        attention="general-sparse",
        data=replace(base.data, source=SET),
        model=MODEL,
        training=replace(base.training, batch_size=64, epochs=1, device="cpu"),
    )


def compared(rates: Rates, config: RunConfig, folder: Path) -> Iterator[Compared]:
    """Preparations and epochs, by one process and by two."""
    run_command(["prepare", SET, "--preset", SET], folder / "warm")  # compiles, and reads
    for processes in (1, 2):
        [plan] = planned(rates, config.training, [rates.rows], [Machines(processes=processes)])
        cache = folder / f"cache-{processes}"
        began = time.perf_counter()
        run_command(["prepare", SET, "--preset", SET, "--data.workers",
                     str(processes - 1 and processes)], cache)  # fmt: skip
        taken = time.perf_counter() - began - starting(folder)
        yield Compared(f"preparation, {processes}", plan.preparation.seconds, taken)
        run = folder / f"run-{processes}"
        words = [f"--model.{name}={getattr(MODEL, name)}" for name in ("width", "layers", "heads")]
        run_command(["train", SET, "--preset", SET, "--attention", config.attention, "--epochs",
                     "1", "--batch-size", str(config.training.batch_size), "--device", "cpu", "-o",
                     str(run), "--training.processes", str(processes), *words], cache)  # fmt: skip
        yield Compared(f"epoch, {processes}", plan.epoch.seconds, seconds_of(curve_of(run)))


def run_command(words: list[str], cache: Path) -> None:
    """One command of ours, to its end."""
    subprocess.run(
        [sys.executable, "-m", "cellformer", *words], check=True, env=environment(cache),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def starting(folder: Path) -> float:
    """Seconds that a command takes before it does anything: one that finds all prepared."""
    began = time.perf_counter()
    run_command(["prepare", SET, "--preset", SET], folder / "warm")
    return time.perf_counter() - began


def main() -> None:
    """Prints what was measured, the comparison and the plans."""
    options = parser(__doc__.splitlines()[0], runs=1)
    options.add_argument("--seconds", type=float, default=3.0)
    chosen = options.parse_args()
    config = configuration()
    rates = measured_rates(config, chosen.seconds)
    print("\n".join(told_of_rates(rates, config)))
    with tempfile.TemporaryDirectory() as folder:
        rows = list(compared(rates, config, Path(folder)))
    for row in rows:
        print(f"{row.case}: foretold {row.foretold:.1f} s, taken {row.taken:.1f} s, "
              f"ratio {row.ratio:.2f}")  # fmt: skip
    large = replace(config.training, batch_size=BATCH)
    plans = planned(rates, large, ROWS, [replace(CLUSTER, nodes=nodes) for nodes in NODES])
    print("\n".join(told_of_plans(plans)))
    if chosen.out is not None:
        told = {"machine": machine(), "versions": versions(), "looked": rates.looked,
                "compared": [asdict(row) | {"ratio": row.ratio} for row in rows],
                "batch": BATCH, "cluster": asdict(CLUSTER),
                "plans": table_of(plans).to_dict("records")}  # fmt: skip
        write_json(chosen.out, told)


if __name__ == "__main__":
    main()
