"""What sets of some sizes take on some machines."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from cellformer.training.config import TrainingConfig
from cellformer.training.estimating.epoch_time import EpochTime, epoch_time
from cellformer.training.estimating.machines import Machines
from cellformer.training.estimating.preparing_time import PreparationTime, preparation_time
from cellformer.training.estimating.rates import Rates


@dataclass(frozen=True)
class Planned:
    """A set of so many rows on these machines."""

    rows: int
    machines: Machines
    preparation: PreparationTime
    epoch: EpochTime


def planned(
    rates: Rates, training: TrainingConfig, rows: Sequence[int], machines: Sequence[Machines]
) -> list[Planned]:
    """Every number of rows on all machines, with the steps and states of this training.

    The rows are taken to be like those that the rates were measured with. Raises ValueError for a
    number of rows below 1.
    """
    if min(rows, default=1) < 1:
        raise ValueError(f"a set has at least one row, got {min(rows)}")
    kept, verified = rates.preparation.stored_bytes, rates.preparation.verify_seconds
    return [
        Planned(
            count,
            each,
            preparation_time(rates.preparation, count, each),
            epoch_time(rates.training, kept, verified, count, each, training),
        )
        for count in rows
        for each in machines
    ]


def table_of(plans: Sequence[Planned]) -> pd.DataFrame:
    """A row for each; times in hours, sizes in GB."""
    return pd.DataFrame(
        {
            "rows": [plan.rows for plan in plans],
            "nodes": [plan.machines.nodes for plan in plans],
            "processes": [plan.machines.processes for plan in plans],
            "prepare_hours": [plan.preparation.seconds / 3600 for plan in plans],
            "of_it_appending": [
                plan.preparation.append / plan.preparation.seconds for plan in plans
            ],
            "shards_wait_for": [plan.preparation.bound for plan in plans],
            "sent_gb": [plan.preparation.sent_bytes / 1e9 for plan in plans],
            "disk_gb": [plan.preparation.disk_bytes / 1e9 for plan in plans],
            "check_hours": [plan.epoch.open / 3600 for plan in plans],
            "epoch_hours": [plan.epoch.seconds / 3600 for plan in plans],
            "steps": [plan.epoch.steps for plan in plans],
            "epoch_is_mostly": [plan.epoch.bound for plan in plans],
            "step_gb": [plan.epoch.step_bytes / 1e9 for plan in plans],
        }
    )
