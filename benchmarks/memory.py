"""Memory of one large complex: built, encoded, batched, and a forward and backward of two layers.

Every row is a process of its own, which measures how far its memory rises above what it held
before, so the complex, its encodings, the batch, the model and all that autograd keeps count.
The peer is the same model whose attention is computed on an edge list in plain PyTorch, up to the
size that ``--peer_cells`` allows. Linux only: it alone tells the peak of a process anew.
"""

import gc
import itertools
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.timing import parser, write_figures
from cellformer.attention.operator import Implementation, use_attention
from cellformer.complexes.batches.batch import collate
from cellformer.complexes.examples import torus_grid
from cellformer.encodings.encode import encode
from cellformer.encodings.rwpe import RWPe
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.plans.named import attention_plan
from cellformer.model.transformer import CellularTransformer
from cellformer.training.estimating.step_memory import kept_tensors

SIZES = (10_000, 100_000, 1_000_000)
ATTENTIONS = ("pairwise-sparse", "general-sparse")
PEER = "edge list (our reference in PyTorch)"
WIDTH, LAYERS, HEADS = 32, 2, 4


@dataclass(frozen=True)
class Measured:
    """One process."""

    cells: int
    peak_bytes: int
    build_s: float
    encode_s: float
    batch_s: float
    step_s: float  # forward and backward
    kept_bytes: int  # by autograd, at the end of the forward
    largest_shape: list[int]
    largest_bytes: int


@dataclass(frozen=True)
class Row:
    """Seconds of forward and backward as in all benchmarks, and the memory of it all.

    The peer's figures are None where it was not run.
    """

    case: str
    peer: str
    ours_s: float
    peer_s: float | None
    ratio: float | None
    runs: int
    cells: int
    ours_bytes: int
    peer_bytes: int | None
    bytes_ratio: float | None
    bytes_per_cell: float
    ours: Measured


def measure(cells: int, attention: str, implementation: Implementation) -> Measured:
    """Everything in this process, after a small run that loads and compiles what is needed."""
    with use_attention(implementation):
        _run(400, attention)
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before = status("VmRSS")
        return _run(cells, attention, before)


def _run(cells: int, attention: str, before: int = 0) -> Measured:
    side = round((cells / 4) ** 0.5)  # one vertex, two edges and a square each
    times = [time.perf_counter()]
    made = torus_grid(side, side)
    times.append(time.perf_counter())
    made = encode(made, RWPe(8))
    times.append(time.perf_counter())
    batch = collate([made])
    times.append(time.perf_counter())
    torch.manual_seed(0)
    config = ModelConfig.for_batch(
        batch, ArchitectureConfig(width=WIDTH, layers=LAYERS, heads=HEADS)
    )
    model = CellularTransformer(config, attention_plan(attention))
    model(batch).sum().backward()
    times.append(time.perf_counter())
    made_s, encode_s, collate_s, step_s = (b - a for a, b in itertools.pairwise(times))
    peak = status("VmHWM")
    with kept_tensors() as kept:
        model(batch)
    largest = max(kept.values(), key=_bytes)
    return Measured(
        sum(made.num_cells),
        peak - before,
        made_s,
        encode_s,
        collate_s,
        step_s,
        sum(map(_bytes, kept.values())),
        list(largest.shape),
        _bytes(largest),
    )


def _bytes(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def status(field: str) -> int:
    """A number of bytes that Linux tells of this process: VmRSS now, VmHWM its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise KeyError(field)


def child(cells: int, attention: str, implementation: Implementation) -> Measured:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory"]
    given = [f"--cells={cells}", f"--attention={attention}", f"--implementation={implementation}"]
    done = subprocess.run([*command, *given], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return Measured(**json.loads(done.stdout))


def best(runs: int, cells: int, attention: str, implementation: Implementation) -> Measured:
    """The run of median time."""
    found = [child(cells, attention, implementation) for _ in range(runs)]
    return sorted(found, key=lambda one: one.step_s)[len(found) // 2]


def row(cells: int, attention: str, runs: int, peer_cells: int) -> Row:
    """Ours, and the peer where it fits."""
    ours = best(runs, cells, attention, "fused")
    peer = best(runs, cells, attention, "reference") if cells <= peer_cells else None
    return Row(
        f"{cells} cells, {attention}",
        PEER,
        ours.step_s,
        None if peer is None else peer.step_s,
        None if peer is None else peer.step_s / ours.step_s,
        runs,
        ours.cells,
        ours.peak_bytes,
        None if peer is None else peer.peak_bytes,
        None if peer is None else peer.peak_bytes / ours.peak_bytes,
        ours.peak_bytes / ours.cells,
        ours,
    )


def show(rows: list[Row]) -> None:
    """A table."""
    print(
        f"{'case':32} {'build':>7} {'encode':>7} {'batch':>7} {'step':>7} {'peak':>9} "
        f"{'a cell':>8} {'kept':>9} {'largest tensor':>26} {'peer step':>9} {'peer peak':>9}"
    )
    for one in rows:
        ours = one.ours
        seconds = " ".join(
            f"{value:5.2f} s" for value in (ours.build_s, ours.encode_s, ours.batch_s, ours.step_s)
        )
        shape = "x".join(map(str, ours.largest_shape))
        peer = (
            f"{one.peer_s:7.2f} s {one.peer_bytes / 1e6:6.0f} MB"
            if one.peer_s is not None and one.peer_bytes is not None
            else "  not run"
        )
        print(
            f"{one.case:32} {seconds} {ours.peak_bytes / 1e6:6.0f} MB {one.bytes_per_cell:6.0f} B "
            f"{ours.kept_bytes / 1e6:6.0f} MB {shape:>16} {ours.largest_bytes / 1e6:6.0f} MB {peer}"
        )


def main() -> None:
    """All sizes, or as a child one of them."""
    options = parser(__doc__.splitlines()[0], runs=1)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="cells")
    options.add_argument(
        "--peer_cells", type=int, default=100_000, help="the largest size that the peer is run at"
    )
    options.add_argument("--cells", type=int, help="measure this size in this process only")
    options.add_argument("--attention", choices=ATTENTIONS, default=ATTENTIONS[0])
    options.add_argument("--implementation", choices=("fused", "reference"), default="fused")
    given = options.parse_args()
    if given.cells:
        print(json.dumps(asdict(measure(given.cells, given.attention, given.implementation))))
        return
    rows = [
        row(cells, attention, given.runs, given.peer_cells)
        for attention in ATTENTIONS
        for cells in given.sizes
    ]
    show(rows)
    write_figures(rows, given.out)


if __name__ == "__main__":
    main()
