"""What this machine needs for a shard of a set and for a step of training, measured."""

import itertools
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.many.growing import GrowingStore
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.store import open_ragged
from cellformer.data.dataset import GraphSet
from cellformer.data.loading.loader import batches
from cellformer.data.preparation import Preparation
from cellformer.data.preparing.shards import SHARD_ROWS, Shard, ShardTask, read_shard
from cellformer.model.config import DataShape, DescriptorShape, ModelConfig
from cellformer.model.described import CellModel, cell_model
from cellformer.model.plans.named import attention_plan
from cellformer.training.config import RunConfig
from cellformer.training.estimating.estimate import PROBE_NUMBERS
from cellformer.training.estimating.step_memory import BYTES_PER_PARAMETER, step_memory
from cellformer.training.estimating.timed_steps import step_seconds
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.materials.rows import open_rows
from cellformer.training.runs.recipe import number_of_outputs

STEPS = 5
"""Steps of each size that are timed."""
A_COMPLEX = """
import cellformer as cf
cells = cf.lift(cf.Graph.from_edges([(0, 1), (0, 2), (1, 2)]), cf.CycleBasis())
cf.encode(cells, [cf.RWBSPe(2), cf.BSPe(2)])
"""


@dataclass(frozen=True, eq=False)
class PreparationRates:
    """Of the parts of a preparation that do not depend on how many machines share it."""

    open_seconds: float
    """To read one row of the source, in the process that hands out the work."""
    cut_seconds: float
    """To cut one shard of rows out and to write it down for a worker, in that process."""
    make_seconds: Float64[np.ndarray, " shard"]
    """To lift, encode and store a shard of `SHARD_ROWS` rows in one worker: the shards seen."""
    sent_bytes: float
    """Of a row on its way to a worker."""
    stored_bytes: float
    """Of the complex of a row on disk."""
    append_seconds: float
    """To append the complex of one row to the store of all, in the process that hands out."""
    verify_seconds: float
    """To compare the complex of one row with its checksum when the store is opened."""
    start_seconds: float
    """Until a worker that is started has read and compiled what it needs."""


@dataclass(frozen=True, eq=False)
class TrainingRates:
    """Of a step of training."""

    parameters: int
    cells: Float64[np.ndarray, " complex"]
    """Of the complexes seen, all ranks together."""
    fixed_seconds: float
    """Of a step, whatever its batch."""
    cell_seconds: float
    """Of a step for each cell of its batch, reading from the store included."""
    cell_bytes: float
    """Kept for each cell of a batch until the step has been made."""
    train_share: float
    """Of the rows that train."""

    def step_bytes(self, cells: float) -> float:
        """The memory of a step on so many cells, beside the program."""
        return BYTES_PER_PARAMETER * self.parameters + cells * self.cell_bytes


@dataclass(frozen=True, eq=False)
class Rates:
    """What was measured."""

    source: str
    rows: int
    looked: int
    """Rows that were prepared to measure."""
    preparation: PreparationRates
    training: TrainingRates


def measured_rates(config: RunConfig, seconds: float = 20.0) -> Rates:
    """Prepares shards of the source for ``seconds``, at least two, and makes steps of training.

    The shards come from places drawn at random, the same ones every time. All is stored in a
    temporary folder and removed. Raises ValueError as `open_rows` does, and where no row seen has a
    complex.
    """
    preparation = preparation_of(config.data, config.data.source)
    began = time.perf_counter()
    opened = open_rows(config.data, preparation)
    source = opened.source
    if not len(source):
        raise ValueError(f"{config.data.source} has no rows")
    open_seconds = (time.perf_counter() - began) / len(source)
    with tempfile.TemporaryDirectory(prefix="cellformer-") as folder:
        looked, rates, complexes = _prepared(
            source, preparation, Path(folder), seconds, open_seconds
        )
        share = config.data.shares[0]
        if opened.split is not None:
            share = len(opened.split["train"]) / len(source)
        training = _trained(config, source, complexes, share)
        del complexes  # memory-mapped, and the folder goes
    return Rates(config.data.source, len(source), looked, rates, training)


def _prepared(
    source: GraphSet, preparation: Preparation, folder: Path, seconds: float, open_seconds: float
) -> tuple[int, PreparationRates, RaggedComplexes]:
    count = len(source)
    starts = np.random.default_rng(0).permutation(np.arange(0, count, SHARD_ROWS)).tolist()
    make: list[float] = []
    cut: list[float] = []
    shards: list[Shard] = []
    sent = looked = 0
    began = time.perf_counter()
    # The first one is made twice, and counts the second time: it compiles what is compiled.
    for number, start in enumerate([starts[0], *starts]):
        if number > 2 and time.perf_counter() - began > seconds:
            break
        stop = min(start + SHARD_ROWS, count)
        cutting = time.perf_counter()
        task = ShardTask(
            source.graphs.part(start, stop), start, preparation.whole_lifting,
            preparation.encodings, folder / f"rows-{start:09d}.npz",
        )  # fmt: skip
        written = len(pickle.dumps(task))
        making = time.perf_counter()
        shard = task()
        made = time.perf_counter()
        if number == 0:
            continue
        whole = SHARD_ROWS / (stop - start)  # a last, shorter one counts as if it were whole
        cut.append((making - cutting) * whole)
        make.append((made - making) * whole)
        sent, looked = sent + written, looked + stop - start
        if shard.complexes:
            shards.append(shard)
    if not shards:
        raise ValueError(f"{source.name}: none of the {looked} rows looked at has a complex")
    appending = time.perf_counter()
    growing = GrowingStore(folder / "growing")
    for shard in shards:
        growing.append(read_shard(shard.file)[1])
    growing.finish(folder / "store", {})
    appended = time.perf_counter()
    complexes = open_ragged(folder / "store")[0]
    verified = time.perf_counter()
    size = sum(file.stat().st_size for file in (folder / "store").iterdir())
    return (
        looked,
        PreparationRates(
            open_seconds,
            float(np.median(cut)),
            np.array(make),
            sent / looked,
            size / looked,
            (appended - appending) / looked,
            (verified - appended) / looked,
            _start_seconds(),
        ),
        complexes,
    )


def _start_seconds() -> float:
    """Until another process has a complex of a graph that is small; the parts are not the set's,
    which it may not be able to import."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", A_COMPLEX], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _trained(
    config: RunConfig, source: GraphSet, complexes: RaggedComplexes, train_share: float
) -> TrainingRates:
    cells = complexes.num_cells.sum(axis=1).astype(np.float64)
    task = source.task_or_none
    outputs = 1 if task is None else number_of_outputs(task, config.training.loss)
    plan = attention_plan(config.attention, max_rank=len(complexes.ranks) - 1)
    every = np.arange(len(complexes))
    mean = float(cells.mean())
    most = max(int(PROBE_NUMBERS / config.model.width / mean), 1)
    size = min(config.training.batch_size, len(every), most)
    descriptors = DescriptorShape.of(complexes.descriptors)
    first = CellBatch.from_ragged(complexes.take(every[:size]))
    shape = replace(DataShape.of(first, outputs), descriptors=descriptors)
    with torch.random.fork_rng(devices=[]):
        model = cell_model(ModelConfig(config.model, shape), plan)
    memory = step_memory(first, config.model, plan, outputs, descriptors)
    large = _step_seconds(model, complexes, size)
    small = _step_seconds(model, complexes, max(size // 4, 1))
    per_cell = large / (size * mean)
    if size >= 4:  # a line through both, that neither part of which is negative
        slope = (large - small) / ((size - size // 4) * mean)
        per_cell = min(max(slope, 0.0), per_cell)
    return TrainingRates(
        memory.parameters,
        cells,
        large - per_cell * size * mean,
        per_cell,
        memory.bytes_per_cell,
        train_share,
    )


def _step_seconds(model: CellModel, complexes: RaggedComplexes, size: int) -> float:
    """The median of some steps from the store to the optimizer, on batches of so many complexes."""
    loader = batches(complexes, np.arange(len(complexes)), size, shuffle=True)
    again = itertools.chain.from_iterable(itertools.repeat(loader))
    return statistics.median(step_seconds(model, itertools.islice(again, 1 + STEPS)))
