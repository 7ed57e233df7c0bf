"""Shuffling shards and within a window, beside shuffling all rows at once.

What an order is worth: how far rows are from where they lie, as a share of what it is in a random
order; the rank correlation of place and row, whose sign is of no matter; and how many pairs of a
batch lie in the same shard. The curve is that of a small model on ZINC-12k, whose rows are sorted
by their targets first, which is the worst case, or lie as they are. ``--store`` is read from under
a limit of memory, by a cgroup (version 1, and the right to make one), so that pages are dropped.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from unittest import mock

import numpy as np

import cellformer as cf
from benchmarks.timing import data_folder, machine, parser, write_json
from cellformer.complexes.many.store import open_ragged
from cellformer.data.loading.epochs import EpochBatches
from cellformer.data.loading.loader import SHARD, batches
from cellformer.data.sources import open_source
from cellformer.experiments.presets import PRESETS
from cellformer.training.loop import fit
from cellformer.training.runs.curve import read_curve

ROWS, BATCH = 1_000_000, 128
WINDOWS = (SHARD, 4 * SHARD, 16 * SHARD, 64 * SHARD)
SMALL = 256
"""Rows of a shard of the small training, which has 10,000 rows."""
CURVES = (("as is", None), ("as is", 4 * SMALL), ("sorted", 16 * SMALL), ("sorted", 4 * SMALL),
          ("sorted", SMALL))  # fmt: skip
MEMORY = Path("/sys/fs/cgroup/memory")


@dataclass(frozen=True)
class Quality:
    """What an order is worth."""

    window: int | None  # None: all at once
    distance: float  # 1 in a random order
    correlation: float
    same_shard: float


@dataclass(frozen=True)
class Curve:
    """The best validation error of a training, and that after each epoch, means over seeds."""

    rows: str
    window: int | None
    best: float
    epochs: list[float]
    seeds: int


@dataclass(frozen=True)
class Reading:
    """An epoch of batches from a store, with so much memory for its pages."""

    window: int | None
    limit_bytes: int
    store_bytes: int
    share: float  # of the epoch that was read
    seconds: float
    read_bytes: int  # from the disk


def quality(window: int | None) -> Quality:
    """Of the first epoch."""
    rows = np.arange(ROWS)
    shards = rows // SHARD
    ones = np.ones(ROWS, np.int64)
    sampler = EpochBatches(ones, BATCH, True, 0, window=window, shards=shards)
    made = list(sampler)
    order = np.concatenate(made)
    distance = np.abs(order - rows).mean() / (ROWS / 3)
    correlation = abs(np.corrcoef(order, rows)[0, 1])
    alike = [_pairs_alike(shards[batch]) for batch in made if len(batch) > 1]
    return Quality(window, float(distance), float(correlation), float(np.mean(alike)))


def _pairs_alike(shards: np.ndarray) -> float:
    _, counts = np.unique(shards, return_counts=True)
    pairs = len(shards) * (len(shards) - 1)
    return float((counts * (counts - 1)).sum() / pairs)


def curve(rows: str, window: int | None, seeds: int, epochs: int, folder: Path) -> Curve:
    """Of a small model on ZINC-12k, in shards of 256 rows: as they lie, or sorted by the target."""
    source = open_source(str(data_folder() / "zinc/zinc12k_graphs.npz"))
    places = np.arange(len(source))
    if rows == "sorted":
        places[np.argsort(source.targets[:, 0], kind="stable")] = np.arange(len(source))
    zinc = PRESETS["zinc"]
    model = replace(zinc.model, width=32, layers=3, heads=4)
    found = []
    with mock.patch.object(fit, "_shards", lambda materials, chosen: places[chosen] // SMALL):
        for seed in range(seeds):
            training = replace(
                zinc.training, epochs=epochs, batch_size=BATCH, window=window, seed=seed,
                logger="none",
            )  # fmt: skip
            run = folder / f"{rows}-{window}-{seed}"
            cf.train(replace(zinc, model=model, training=training), run, data=source)
            found.append([row["val_mae"] for row in read_curve(run / "curve.csv")])
    means = np.mean(found, axis=0).tolist()
    return Curve(rows, window, float(np.min(found, axis=1).mean()), means, seeds)


def reading(store: Path, window: int | None, limit: int, share: float) -> Reading:
    """In a process of its own, whose memory, pages of files among it, is limited."""
    group = MEMORY / f"shuffling-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        command = [
            sys.executable,
            "-m",
            "benchmarks.shuffling",
            "--read",
            str(store),
            str(window or 0),
        ]
        done = subprocess.run(
            [*command, str(group), str(share)], check=True, stdout=subprocess.PIPE, text=True
        )
        seconds, read = map(float, done.stdout.split())
    finally:
        _remove(group)
    size = sum(file.stat().st_size for file in store.glob("*.npy"))
    return Reading(window, limit, size, share, seconds, int(read))


def _remove(group: Path) -> None:
    """A process that has ended belongs to it for a moment still."""
    for _ in range(100):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return
    group.rmdir()


def read(store: Path, window: int | None, group: Path, share: float) -> None:
    """A share of an epoch of batches; prints its seconds and the bytes that the disk gave."""
    complexes, _ = open_ragged(store, verify=False)
    loader = batches(complexes, np.arange(len(complexes)), BATCH, True, window=window)
    for file in store.glob("*.npy"):
        with file.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    (group / "cgroup.procs").write_text(str(os.getpid()))
    blocks, began = resource.getrusage(resource.RUSAGE_SELF).ru_inblock, time.monotonic()
    for _ in islice(loader, int(share * len(loader))):
        pass
    taken = time.monotonic() - began
    blocks = resource.getrusage(resource.RUSAGE_SELF).ru_inblock - blocks
    (MEMORY / "cgroup.procs").write_text(str(os.getpid()))
    print(taken, blocks * 512)


def told(window: int | None) -> str:
    """Of a window."""
    return "all at once" if window is None else f"window {window:,}"


def main() -> None:
    """Prints what is asked for, and writes it."""
    if sys.argv[1:2] == ["--read"]:
        store, size, group, share = sys.argv[2:]
        read(Path(store), int(size) or None, Path(group), float(share))
        return
    options = parser(__doc__.splitlines()[0], runs=2)
    options.add_argument("--curves", type=int, default=0, metavar="EPOCHS", help="of trainings")
    options.add_argument("--store", type=Path, help="a prepared set that is read")
    options.add_argument("--limit", type=int, default=300_000_000, help="bytes of memory for it")
    options.add_argument("--share", type=float, default=0.4, help="of an epoch that is read")
    given = options.parse_args()
    kept: dict[str, list[object]] = {"quality": [], "curves": [], "reading": []}
    print(f"{ROWS:,} rows, shards of {SHARD:,}, batches of {BATCH}")
    for window in (None, *reversed(WINDOWS)):
        row = quality(window)
        kept["quality"].append(asdict(row))
        print(
            f"{told(window):18} distance {row.distance:6.1%}, correlation {row.correlation:.4f}, "
            f"pairs of the same shard {row.same_shard:7.2%}",
            flush=True,
        )
    if given.curves:
        with tempfile.TemporaryDirectory() as folder:
            for rows, window in CURVES:
                found = curve(rows, window, given.runs, given.curves, Path(folder))
                kept["curves"].append(asdict(found))
                each = " ".join(f"{value:.3f}" for value in found.epochs)
                print(f"{rows:7} {told(window):18} best {found.best:.4f}  {each}", flush=True)
    if given.store:
        for window in (None, 16 * SHARD, SHARD):
            share = given.share if window else given.share / 20  # which takes as long
            taken = reading(given.store, window, given.limit, share)
            kept["reading"].append(asdict(taken))
            print(
                f"{told(window):18} {taken.share:.0%} of an epoch in {taken.seconds:6.1f} s, "
                f"{taken.read_bytes / taken.store_bytes / taken.share:7.1f} times its bytes read "
                f"from the disk, {taken.limit_bytes / taken.store_bytes:.0%} of them fit",
                flush=True,
            )
    if given.out:
        write_json(given.out, {"machine": machine(), **kept})


if __name__ == "__main__":
    main()
