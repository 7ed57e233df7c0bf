"""Sets of 10,000 molecules and more: prepared, trained on, scored, predicted and embedded.

Every step of every size is the command of that name in a process of its own, whose memory is
watched; what is done is kept in ``--folder``, so that the same command goes on. The molecules are
those of `benchmarks.enumerated`, from the folder that ``CELLFORMER_DATA`` names. Linux only.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from benchmarks.enumerated import write_enumerated
from benchmarks.once import once
from benchmarks.timing import parser, write_figures
from benchmarks.watched import Watched, environment, watch
from cellformer.basics.files import replace_atomically

MODEL = ("--model.width=16", "--model.layers=2", "--model.heads=2", "--data.target=share",
         "--data.molecule_descriptors=none", "--training.batch_size=256",
         "--training.epochs=1")  # fmt: skip
DATA = tuple(option for option in MODEL if option.startswith("--data."))
STEPS = ("prepare", "train", "evaluate", "predict", "embed")


@dataclass(frozen=True)
class Row:
    """One step of one size; memory as `benchmarks.watched.Watched` tells it."""

    case: str
    step: str
    molecules: int
    seconds: float
    processor_s: float
    rate: float  # molecules a second of the processor
    disk_bytes: int  # of what was prepared
    main_bytes: int
    worker_bytes: int
    with_files_bytes: int
    samples: list[tuple[float, int, int]]
    workers: int
    runs: int = 1


def measure(step: str, molecules: int, folder: Path, workers: int) -> Row:
    """Runs one step; those before it have been run."""
    table, run, cache = (folder / name for name in ("molecules.csv", "run", "cache"))
    if step == "prepare":
        shutil.rmtree(cache, ignore_errors=True)
    if step == "train":
        shutil.rmtree(run, ignore_errors=True)
    arguments = {
        "prepare": [str(table), *DATA, f"--data.workers={workers}"],
        "train": [str(table), *MODEL, "--training.max_steps=20", "-o", str(run)],
        "evaluate": [str(run)],
        "predict": [str(run), str(table), "-o", str(folder / "predicted.csv"), "--overwrite"],
        "embed": [str(run), str(table), "-o", str(folder / "vectors.npy"), "--overwrite"],
    }[step]
    command = [sys.executable, "-m", "cellformer", step, *arguments]
    took: Watched = watch(command, environment(cache))
    return Row(
        f"{step}, {molecules:,} molecules",
        step,
        molecules,
        took.seconds,
        took.processor_s,
        molecules / took.processor_s,
        prepared_bytes(cache),
        took.main_bytes,
        took.worker_bytes,
        took.with_files_bytes,
        took.samples,
        workers,
    )


def prepared_bytes(cache: Path) -> int:
    """Of all complexes that have been prepared into a cache."""
    return sum(file.stat().st_size for file in (cache / "prepared").rglob("*.npy"))


def sizes_up_to(most: int) -> list[int]:
    """10,000 and its multiples by powers of ten up to the largest, and the largest."""
    sizes = [10_000]
    while sizes[-1] * 10 < most:
        sizes.append(sizes[-1] * 10)
    return [*(size for size in sizes if size < most), most]


def show(rows: list[Row]) -> None:
    """A table."""
    print(
        f"{'case':32} {'wall':>9} {'processor':>10} {'a second':>9} {'on disk':>9} {'main':>8} "
        f"{'worker':>8} {'with files':>10}"
    )
    for row in rows:
        memory = (row.main_bytes, row.worker_bytes, row.with_files_bytes)
        told = " ".join(f"{size / 1e6:5.0f} MB" for size in memory)
        disk = f"{row.disk_bytes / row.molecules:7.0f} B"
        print(
            f"{row.case:32} {row.seconds:7.1f} s {row.processor_s:8.1f} s {row.rate:9.0f} {disk} "
            f"{told}"
        )


def picture(rows: list[Row]) -> Figure:
    """Memory over the share of the time, a panel for each step, a line for each size."""
    steps = [step for step in STEPS if any(row.step == step for row in rows)]
    figure = Figure(figsize=(2.6 * len(steps), 2.8), layout="constrained")
    axes = figure.subplots(1, len(steps), sharey=True, squeeze=False)[0]
    colors = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
    sizes = sorted({row.molecules for row in rows})
    for ax, step in zip(axes, steps, strict=True):
        for row in (row for row in rows if row.step == step):
            color = colors[sizes.index(row.molecules) % len(colors)]
            times = [time / row.samples[-1][0] for time, *_ in row.samples]
            mains = [main / 1e6 for _, main, _ in row.samples]
            ax.plot(times, mains, color=color, lw=1.5, label=f"{row.molecules:,}")
            if row.worker_bytes:
                others = [other / 1e6 for *_, other in row.samples]
                ax.plot(times, others, color=color, lw=1, ls=":")
        ax.set_title(step, fontsize=10)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("memory, MB")
    axes[0].set_ylim(0, 1.05 * max(max(row.main_bytes, row.worker_bytes) for row in rows) / 1e6)
    figure.supxlabel("share of the time; dotted: the largest worker", fontsize=9)
    lines = {
        line.get_label(): line for ax in axes for line in ax.lines if line.get_linestyle() == "-"
    }
    figure.legend(
        lines.values(), lines.keys(), title="molecules", loc="outside right center", frameon=False
    )
    return figure


def main() -> None:
    """Measures, or goes on, and shows all that has been measured."""
    options = parser(__doc__.splitlines()[0], runs=1)
    options.add_argument("--molecules", type=int, default=100_000, help="the largest size")
    options.add_argument("--folder", type=Path, required=True, help="what is done is kept here")
    options.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS, help="of them, these")
    options.add_argument("--workers", type=int, default=1, help="processes that prepare")
    options.add_argument("--picture", type=Path, help="memory over time, an .svg or .png")
    given = options.parse_args()
    rows = []
    for size in sizes_up_to(given.molecules):
        folder = given.folder / str(size)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "molecules.csv").exists():
            write_enumerated(folder / "molecules.csv", size)
        for step in (step for step in STEPS if step in given.steps):
            made = once(
                folder / f"{step}.json",
                Row,
                lambda step=step, size=size, folder=folder: measure(  # type: ignore[misc]
                    step, size, folder, given.workers
                ),
            )
            rows.append(made)
    show(rows)
    write_figures(rows, given.out)
    if given.picture:
        with replace_atomically(given.picture) as unfinished:
            ending = given.picture.suffix.removeprefix(".")
            picture(rows).savefig(unfinished, format=ending, dpi=150)


if __name__ == "__main__":
    main()
