"""One large complex learned in patches: from the complex to an epoch and predictions of all cells.

Every row is a process of its own. The complex is a torus of squares with a random number on each
vertex; a square learns the mean of those of the vertices around it, two edges away and nearer.
Seconds are the processor's; a first training of a small torus loads and compiles what is needed.
The peak of memory is that of the process above what it held then. Up to ``--whole_cells`` the
predictions are compared with those for the uncut complex. Linux only, as `benchmarks.memory`.
"""

import gc
import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.memory import status
from benchmarks.timing import parser, processor_seconds, write_figures
from cellformer.complexes.examples import torus_grid
from cellformer.complexes.features import Features
from cellformer.complexes.matrices import containment, up_adjacency
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, Task
from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.answer import answer
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.materials.halo import with_halo
from cellformer.training.materials.materials import gather
from cellformer.training.train import train

SIZES = (100_000, 1_000_000, 10_000_000)
PATCH = 20_000
WIDTH, LAYERS, HEADS = 32, 2, 4


@dataclass(frozen=True)
class Row:
    """One size; ``error`` is the test error, ``constant`` that of the same answer for all."""

    case: str
    cells: int
    patches: int
    with_halo: int  # cells of all patches
    gather_s: float  # cutting, encoding, storing
    epoch_s: float
    predict_s: float
    peak_bytes: int
    store_bytes: int
    error: float
    constant: float
    off: float | None  # the largest difference from the predictions for the whole complex
    runs: int = 1


def subject(cells: int) -> GraphSet:
    """The torus of about so many cells, and what its squares learn."""
    side = round((cells / 4) ** 0.5)  # one vertex, two edges and a square each
    bare = torus_grid(side, side)
    numbers = np.random.default_rng(0).normal(size=bare.num_vertices)
    near = sparse.csr_array(up_adjacency(bare, 0), dtype=np.float64)
    spread = (numbers + near @ numbers) / 5
    targets = containment(bare, 0, 2).T.astype(np.float64) @ spread / 4
    first = Features.of(numbers.astype(np.float32)[:, None], bare.num_vertices, "numbers")
    torus = replace(bare, features=(first, *bare.features[1:]))
    return complex_set(
        [torus], [targets], Task("regression", ("mean",), "mae", rank=2), name="torus"
    )


def configuration(patch: int) -> RunConfig:
    """Two layers of the general sparse form, for patches of so many cells."""
    return with_halo(
        RunConfig(
            data=DataConfig(
                source="torus", encodings="rwpe:4", patch_cells=patch, fractions=(0.6, 0.2, 0.2)
            ),
            model=ArchitectureConfig(width=WIDTH, layers=LAYERS, heads=HEADS),
            training=TrainingConfig(epochs=1, batch_size=1, device="cpu", logger="none"),
        )
    )


def measure(cells: int, whole_cells: int) -> Row:
    """Everything in this process."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CELLFORMER_CACHE"] = str(Path(folder) / "cache")
        train(configuration(PATCH // 5), Path(folder) / "first", data=subject(40_000))
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before, source, config = status("VmRSS"), subject(cells), configuration(PATCH)
        times = [processor_seconds()]
        materials = gather(config.data, source)
        times.append(processor_seconds())
        assert materials.patches is not None
        summary = train(config, Path(folder) / "run", data=source)
        times.append(processor_seconds())
        ensemble = Ensemble.open(Path(folder) / "run")
        (run,) = ensemble.runs
        answers = answer(ensemble, source).outputs
        times.append(processor_seconds())
        peak, off = status("VmHWM") - before, None
        if cells <= whole_cells:
            uncut = replace(run, preparation=replace(run.preparation, patches=None))
            off = float(
                np.abs(answer(replace(ensemble, runs=(uncut,)), source).outputs - answers).max()
            )
        store = sum(file.stat().st_size for file in (Path(folder) / "cache").rglob("*.npy"))
    counted = sum(int(own.sum()) for patch in materials.patches for own in patch.own)
    best, constant = (each["test"]["mae"] for each in (summary.scores["best"], summary.baseline))
    assert best is not None
    assert constant is not None
    gathered, learned, told = (after - start for start, after in itertools.pairwise(times))
    return Row(
        f"{counted:,} cells",
        counted,
        len(materials.patches),
        int(materials.complexes.num_cells.sum()),
        gathered,
        learned,
        told,
        peak,
        store,
        best,
        constant,
        off,
    )


def child(cells: int, whole_cells: int) -> Row:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.patches", f"--cells={cells}"]
    done = subprocess.run(
        [*command, f"--whole_cells={whole_cells}"], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return Row(**json.loads(done.stdout))


def main() -> None:
    """All sizes, or as a child one of them."""
    options = parser(__doc__.splitlines()[0], runs=1)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="cells")
    options.add_argument(
        "--whole_cells", type=int, default=1_000_000, help="the largest that is predicted uncut too"
    )
    options.add_argument("--cells", type=int, help="measure this size in this process only")
    given = options.parse_args()
    if given.cells:
        print(json.dumps(asdict(measure(given.cells, given.whole_cells))))
        return
    rows = [child(cells, given.whole_cells) for cells in given.sizes]
    for row in rows:
        off = "-" if row.off is None else f"{row.off:.1e}"
        print(
            f"{row.case}, {row.patches} patches of {row.with_halo / row.cells:.2f} times the cells:"
            f" prepared in {row.gather_s:.1f} s, an epoch {row.epoch_s:.1f} s, predicted in "
            f"{row.predict_s:.1f} s; peak {row.peak_bytes / 1e6:,.0f} MB, "
            f"{row.store_bytes / 1e6:,.0f} MB on disk; error {row.error:.3f} "
            f"(constant {row.constant:.3f}), off by {off}"
        )
    write_figures(rows, given.out)


if __name__ == "__main__":
    main()
