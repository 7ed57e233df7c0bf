"""How long machines train for an epoch, from the measured times of steps."""

import math
from dataclasses import dataclass

import numpy as np

from cellformer.training.config import TrainingConfig
from cellformer.training.estimating.machines import Machines
from cellformer.training.estimating.preparing_time import DAY
from cellformer.training.estimating.rates import TrainingRates

MOST_DRAWN = 1_000_000
"""Complexes that are drawn for the batches played through."""
MOST_STEPS = 200
MOST_EXPONENT = 700.0  # the largest that exp can take
BYTES_PER_GRADIENT = 4


@dataclass(frozen=True)
class EpochTime:
    """Of the steps of one epoch, without validation."""

    open: float
    """Seconds until every machine has compared the store with its checksums, once for a run."""
    seconds: float
    """Of an epoch, what failures cost included."""
    steps: int
    bound: str
    """What takes the largest part of a step, or of an epoch with failures."""
    part: float
    """That part."""
    step_bytes: float
    """Memory of a step in each process, beside the program."""


def epoch_time(
    rates: TrainingRates,
    stored_bytes: float,
    verify_seconds: float,
    rows: int,
    machines: Machines,
    training: TrainingConfig,
) -> EpochTime:
    """Plays through some steps of ``batch_size`` complexes, shared by all processes.

    Every process takes its part of each batch, and all wait for the one with the most cells; then
    gradients go round a ring. Where reading the batch from the storage takes longer, it decides. A
    failure costs what was done since the last state, which is kept every ``state_minutes`` and at
    the end of an epoch, and the restart.
    """
    learned = max(round(rates.train_share * rows), 1)
    batch = min(training.batch_size, learned)
    steps = math.ceil(learned / batch)
    processes = machines.all_processes
    most, mean = _cells(rates, batch, processes, steps)
    computing = rates.fixed_seconds + rates.cell_seconds * mean
    waiting = rates.cell_seconds * max(most - mean, 0.0)
    network = 0.0
    if processes > 1:
        bytes_round = 2 * (processes - 1) / processes * BYTES_PER_GRADIENT * rates.parameters
        network = 2 * math.log2(processes) * machines.latency
        if machines.nodes > 1:
            network += bytes_round / machines.network_bytes
    reading = batch * stored_bytes / machines.storage_bytes
    parts = {"computing": computing, "waiting for the largest part": waiting, "network": network}
    step = sum(parts.values())
    if reading > step:
        parts["storage"] = reading - step
        step = reading
    alone = steps * step
    rate = machines.nodes * machines.failures / DAY
    seconds = alone
    if rate:
        kept = min(60 * training.state_minutes, alone)
        # The mean time to get through ``kept`` seconds without a failure, if each begins them anew.
        once = math.expm1(min(rate * kept, MOST_EXPONENT)) * (1 / rate + 60 * machines.restart)
        seconds = alone / kept * once
    parts = {name: steps * value for name, value in parts.items()}
    parts["failures"] = seconds - alone
    bound = max(parts, key=lambda name: parts[name])
    return EpochTime(
        max(verify_seconds * rows, machines.nodes * stored_bytes * rows / machines.storage_bytes),
        seconds,
        steps,
        bound,
        parts[bound] / seconds,
        rates.step_bytes(most),
    )


def _cells(rates: TrainingRates, batch: int, processes: int, steps: int) -> tuple[float, float]:
    """The cells of the largest part of a batch, and of all parts, on average over steps."""
    rounds = max(1, min(MOST_STEPS, steps, MOST_DRAWN // batch))
    random = np.random.default_rng(0)
    most = []
    share = math.ceil(batch / processes)
    for _ in range(rounds):
        drawn = random.choice(rates.cells, batch)
        whole = np.zeros(share * processes)
        whole[:batch] = drawn
        most.append(whole.reshape(share, processes).sum(axis=0).max())
    return float(np.mean(most)), batch * float(rates.cells.mean()) / processes
