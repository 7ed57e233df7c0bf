"""What the trainings of a grid will take, from a few steps of each kind of model."""

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.dataset import Task
from cellformer.encodings.encode import encode
from cellformer.encodings.zeros import Zeros
from cellformer.experiments.grid.grid import Experiment
from cellformer.experiments.grid.results import FAILURE, read_failure
from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.runner import reason
from cellformer.model.config import DataShape, ModelConfig
from cellformer.model.plans.named import attention_plan
from cellformer.model.transformer import CellularTransformer
from cellformer.training.config import DataConfig, RunConfig
from cellformer.training.estimating.estimate import PROBE_NUMBERS
from cellformer.training.estimating.step_memory import step_memory
from cellformer.training.estimating.timed_steps import step_seconds
from cellformer.training.estimating.words import size_text, time_text
from cellformer.training.loop.schedule import epochs_of
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.materials.rows import open_rows
from cellformer.training.runs.curve import seconds_of
from cellformer.training.runs.recipe import number_of_outputs
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import curve_of

TIMED_STEPS = 2
VALIDATION_SHARE = 1 / 3
"""Of the time of a training step that a forward pass alone takes."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some complexes of a data set, and how many there are."""

    complexes: tuple[CellComplex, ...]
    rows: int
    train: float
    validation: float
    task: Task
    lift_seconds: float
    """To lift all rows in one process, about."""

    @property
    def cells(self) -> float:
        """Of all ranks, in a complex, on average."""
        return float(np.mean([sum(cells.num_cells) for cells in self.complexes]))


@dataclass(frozen=True)
class Cost:
    """What a training takes, about."""

    epoch_seconds: float
    memory: float
    """Bytes of a step, beyond the program itself."""
    parameters: int


def sample_of(data: DataConfig, width: int, most: int) -> Sample:
    """Lifts rows drawn at random, until their cells fill a batch; the same rows every time."""
    preparation = preparation_of(data, data.source)
    rows = open_rows(data, preparation)
    source, lifting = rows.source, preparation.whole_lifting
    found: list[CellComplex] = []
    order = np.random.default_rng(0).permutation(len(source))
    began, looked, refused = 0.0, 0, ""
    for row in order.tolist():
        try:
            cells = lifting(source.graph(row))
        except ValueError as error:
            refused = refused or str(error)
            continue
        looked += 1
        if looked == 1:
            began = time.perf_counter()  # the first one compiles what is compiled
        found.append(cells)
        if len(found) >= most or sum(sum(c.num_cells) for c in found) * width > PROBE_NUMBERS:
            break
    if not found:
        raise ValueError(f"{data.source} has no row with a complex: {refused}")
    lift = (time.perf_counter() - began) / max(looked - 1, 1) * len(source)
    parts, shares = rows.split, data.shares
    train, validation = (
        (float(len(parts["train"])), float(len(parts["val"])))
        if parts is not None
        else (len(source) * shares[0], len(source) * shares[1])
    )
    return Sample(tuple(found), len(source), train, validation, source.task, lift)


def encode_seconds(sample: Sample, data: DataConfig) -> float:
    """To encode all rows in one process, about."""
    encodings = preparation_of(data, data.source).encodings
    encode(sample.complexes[0], encodings)  # compiles what is compiled
    began, looked = time.perf_counter(), 0
    for cells in sample.complexes:
        encode(cells, encodings)
        looked += 1
        if time.perf_counter() - began > 1:
            break
    return (time.perf_counter() - began) / looked * sample.rows


def cost_of(config: RunConfig, sample: Sample) -> Cost:
    """Trains a model of this size a few steps, on a batch of the sample."""
    encodings = preparation_of(config.data, config.data.source).encodings
    columns = sum(encoding.size for encoding in encodings)
    batch = collate([encode(cells, (Zeros(columns),)) for cells in sample.complexes])
    plan = attention_plan(config.attention, max_rank=len(batch.num_cells) - 1)
    outputs = number_of_outputs(sample.task, config.training.loss)
    with torch.random.fork_rng(devices=[]):
        shape = DataShape.of(batch, outputs)
        model = CellularTransformer(ModelConfig(config.model, shape), plan)
        taken = statistics.fmean(step_seconds(model, (1 + TIMED_STEPS) * [batch]))
    memory = step_memory(batch, config.model, plan, outputs)
    step_cells = sample.cells * min(config.training.batch_size, max(sample.train, 1))
    per_cell = taken / sum(batch.num_cells)
    complexes = sample.train + VALIDATION_SHARE * sample.validation
    return Cost(per_cell * sample.cells * complexes, memory.bytes(step_cells), memory.parameters)


def forecast(jobs: Sequence[Job]) -> Iterator[str]:
    """What would be run, what is there already, and what the rest will take: lines to show.

    Nothing is trained or stored. A data set that is not here is told of and does not stop
    the rest.
    """
    total, memory = 0.0, 0.0
    unknown = 0
    samples: dict[str, Sample | str] = {}
    costs: dict[tuple[str, str], Cost | str] = {}
    prepared: dict[tuple[str, str], float] = {}
    for job in jobs:
        config, name = job.config, Experiment.of(job.config).name
        if job.finished:
            yield f"{name}: done"
            continue
        source = config.data.source
        if source not in samples:
            samples[source] = _sample(config)
        sample, key = samples[source], (source, config.attention)
        if key not in costs:
            costs[key] = sample if isinstance(sample, str) else _cost(config, sample)
        cost = costs[key]
        if isinstance(sample, str) or isinstance(cost, str):
            unknown += 1
            yield f"{name}: to train; no estimate: {cost}"
            continue
        if (encoded := (source, config.data.encodings)) not in prepared:
            prepared[encoded] = sample.lift_seconds + encode_seconds(sample, config.data)
        seconds, words = _remaining(job, cost, sample)
        total += seconds
        memory = max(memory, cost.memory)
        yield (
            f"{name}: {words}, about {time_text(seconds)} ({time_text(cost.epoch_seconds)} an "
            f"epoch), {cost.parameters:,} parameters, {size_text(cost.memory)} for a step"
        )
    left = sum(not job.finished for job in jobs)
    yield f"{len(jobs)} trainings: {len(jobs) - left} done, {left} to run"
    if left > unknown:
        apart = f", without the {unknown} that have no estimate" if unknown else ""
        yield (
            f"time: about {time_text(total)} one after the other on this machine{apart}; and at "
            f"most {time_text(sum(prepared.values()))} to prepare {len(prepared)} sets of "
            "complexes that are not cached yet"
        )
        yield f"memory: at most {size_text(memory)} for a step, beside the program and the data"


def _sample(config: RunConfig) -> Sample | str:
    try:
        return sample_of(config.data, config.model.width, config.training.batch_size)
    except (ValueError, OSError) as error:
        return reason(error)


def _cost(config: RunConfig, sample: Sample) -> Cost | str:
    try:
        return cost_of(config, sample)
    except (ValueError, RuntimeError) as error:
        return reason(error)


def _beside_kernels(config: RunConfig) -> bool:
    described = preparation_of(config.data, config.data.source).molecule_descriptors
    return described != "none" and config.model.descriptor_head == "kernel"


def _remaining(job: Job, cost: Cost, sample: Sample) -> tuple[float, str]:
    """Seconds that are left of a job, and what there is of it."""
    chosen, curve = job.config.training, RunFolder(job.folder).curve
    steps = math.ceil(sample.train / chosen.batch_size)
    longest = epochs_of(chosen, steps, _beside_kernels(job.config))
    epochs, spent, words = longest, 0.0, "to train"
    if curve.exists():
        rows = curve_of(job.folder)
        epochs, spent = longest - len(rows), seconds_of(rows)
        words = f"to go on after epoch {len(rows)} of {longest}"
    if (Path(job.folder) / FAILURE).exists():
        words += f" (it failed before: {read_failure(job.folder)})"
    seconds = epochs * cost.epoch_seconds
    if chosen.max_minutes is not None:
        seconds = min(seconds, max(60 * chosen.max_minutes - spent, 0.0))
    return seconds, words
