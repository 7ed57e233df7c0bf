"""The paper's grid: data sets, attentions, encodings and seeds, each combination a training."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cellformer.basics.sealed import read_sealed
from cellformer.encodings.catalog import ENCODINGS
from cellformer.experiments.grid.paper_results import PAPER_SETS
from cellformer.experiments.presets import PRESETS, flatten, override
from cellformer.experiments.running.jobs import Job
from cellformer.model.catalogs import ATTENTIONS
from cellformer.training.config import RunConfig
from cellformer.training.runs.run_folder import RunFolder

AXES = ("data.source", "attention", "data.encodings", "training.seed")
"""The fields that differ from one training of a grid to another."""
PAPER_SEEDS = {"gcb-hard": 5, "molhiv": 1, "zinc": 1}
"""How many the paper trains with (appendix "Training details")."""
_PRESET_OF = {
    **dict.fromkeys(("gcb-hard", "gcb-hard-small", "gcb-easy", "gcb-easy-small"), "gcb-hard"),
    **dict.fromkeys(("zinc", "zinc-full"), "zinc"),
    "molhiv": "molhiv",
}


@dataclass(frozen=True)
class Experiment:
    """One training of the grid, by what it differs in from the others."""

    source: str
    """The data set, by name or path."""
    attention: str
    encoding: str
    seed: int

    @classmethod
    def of(cls, config: RunConfig) -> "Experiment":
        """The one that a configuration belongs to."""
        return cls(config.data.source, config.attention, config.data.encodings,
                   config.training.seed)  # fmt: skip

    @property
    def dataset(self) -> str:
        """The name of the data set, without its folder and ending."""
        return Path(self.source).name.split(".")[0] or "data"

    @property
    def name(self) -> str:
        """As in gcb-hard/general-sparse/bspe/seed-0, which is its folder too."""
        attention, encoding = (_as_folder(text) for text in (self.attention, self.encoding))
        return f"{self.dataset}/{attention}/{encoding}/seed-{self.seed}"


def _as_folder(text: str) -> str:
    """The text of some parts as the name of a folder."""
    return re.sub(r"[:\s]", "", text).replace("/", "-")


@dataclass(frozen=True)
class Grid:
    """Every combination of what is listed; by default the whole grid of the paper.

    ``seeds`` are those of all sets, None: as many as in the paper (``PAPER_SEEDS``, one for a set
    that is not in it); ``seeds_of`` are those of some sets. Raises ValueError where something is
    listed twice.
    """

    datasets: tuple[str, ...] = PAPER_SETS
    attentions: tuple[str, ...] = field(default_factory=lambda: ATTENTIONS.names)
    encodings: tuple[str, ...] = field(default_factory=lambda: ENCODINGS.names)
    seeds: tuple[int, ...] | None = None
    seeds_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seeds = map(self.own_seeds, self.datasets)
        for axis in (self.datasets, self.attentions, self.encodings, *seeds):
            if len(set(axis)) < len(axis) or not axis:
                raise ValueError(f"a grid needs values that differ, got {axis}")
        names = Counter(each.name for each in self)
        name, times = names.most_common(1)[0]
        if times > 1:
            raise ValueError(f"{times} trainings would have the name {name}; rename a data set")

    def own_seeds(self, source: str) -> tuple[int, ...]:
        """Those of one data set."""
        if source in self.seeds_of:
            return self.seeds_of[source]
        return tuple(range(PAPER_SEEDS.get(source, 1))) if self.seeds is None else self.seeds

    def __iter__(self) -> Iterator[Experiment]:
        """All of them; a seed is complete before the next begins, so that tables fill early."""
        for source in self.datasets:
            for seed in self.own_seeds(source):
                for attention in self.attentions:
                    for encoding in self.encodings:
                        yield Experiment(source, attention, encoding, seed)


def configured(experiment: Experiment, values: Mapping[str, Any]) -> RunConfig:
    """The paper's settings for the data set, with some values of the user's own.

    The sets of one kind share them: gcb-hard's are those of all four GCB sets, zinc's also those of
    zinc-full. A data set that is not in the paper gets the preset ``default``. Raises ValueError
    where a value does not fit, or would change what the grid decides.
    """
    for name in AXES:
        if name in values:
            raise ValueError(f"{name} is an axis of the grid and cannot be set beside it")
    own = {
        "data.source": experiment.source,
        "attention": experiment.attention,
        "data.encodings": experiment.encoding,
        "training.seed": experiment.seed,
    }
    return override(paper_preset(experiment.source)[1], {**values, **own})


def paper_preset(source: str) -> tuple[str, RunConfig]:
    """The name and the settings of the preset that a data set has in a grid."""
    name = _PRESET_OF.get(source, "default")
    return name, PRESETS[name]


def jobs_of(
    grid: Grid, values: Mapping[str, Any], folder: str | os.PathLike[str]
) -> tuple[Job, ...]:
    """A job for each training of the grid, in a folder below ``folder`` that has its name.

    Raises ValueError, naming the field, where such a folder holds a run that was configured
    otherwise: results of different settings are never mixed.
    """
    jobs = tuple(Job(configured(each, values), Path(folder) / each.name) for each in grid)
    for job in jobs:
        held = RunFolder(job.folder).config
        if held.exists() and read_sealed(held) != _as_read(job.config):
            _compare(job, RunConfig.from_json(held))  # a file of an older version lacks fields
    return jobs


def _as_read(config: RunConfig) -> object:
    return json.loads(json.dumps(asdict(config)))


def _compare(job: Job, held: RunConfig) -> None:
    before, now = flatten(held), flatten(job.config)
    changed = [name for name in now if before[name] != now[name]]
    if changed:
        name = changed[0]
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise ValueError(
            f"{job.folder} holds a run with {name} {before[name]!r}, and now it is to be "
            f"{now[name]!r}{more}; choose another results folder, or move that run away"
        )
