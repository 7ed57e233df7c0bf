"""A training step that describes pairs of cells against one that does not, in every attention.

A step is that of `benchmarks.step`, and making the batch with its neighborhoods and what is known
of its pairs is part of it. ZINC-12k with the paper's preset; the ratio is the step with pairs over
the one without, so smaller is better.
"""

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from benchmarks.step import step, trainer_of
from benchmarks.timing import Row, data_folder, medians, parser, report
from cellformer.complexes.batches.batch import CellBatch
from cellformer.experiments.presets import PRESETS
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import RunConfig
from cellformer.training.loop.allocator import keep_freed_memory
from cellformer.training.materials.materials import Materials, gather
from cellformer.training.runs.recipe import Recipe

Change: TypeAlias = Callable[[ArchitectureConfig], ArchitectureConfig]
"""From the model without to the one with what is measured."""


def stepping(config: RunConfig, materials: Materials) -> Callable[[], None]:
    """A step on the same complexes every time, from the store on."""
    module, optimizer = trainer_of(Recipe.for_materials(config, materials), materials)
    module.log = lambda *_, **__: None  # type: ignore[method-assign]
    chosen = np.random.default_rng(0).permutation(materials.split["train"])
    complexes = materials.complexes.take(chosen[: config.training.batch_size])
    return lambda: step(module, optimizer, CellBatch.from_ragged(complexes))


def measured(
    attention: str, peer: str, change: Change, materials: Materials, config: RunConfig, runs: int
) -> Row:
    """One attention."""
    plain = dataclasses.replace(config, attention=attention)
    changed = dataclasses.replace(plain, model=change(plain.model))
    ours, without = medians([stepping(changed, materials), stepping(plain, materials)], runs)
    return Row(attention, peer, ours, without, ours / without, runs)


def compare(told: str, peer: str, change: Change) -> None:
    """All attentions, as `cellformer train` runs them: freed memory is kept."""
    keep_freed_memory()
    options = parser(told.splitlines()[0], runs=5)
    options.add_argument("--attention", choices=ATTENTIONS.names, help="this one only")
    chosen = options.parse_args()
    config = PRESETS["zinc"]
    source = str(data_folder() / "zinc/zinc12k_graphs.npz")
    config = dataclasses.replace(config, data=dataclasses.replace(config.data, source=source))
    materials = gather(config.data)
    names = ATTENTIONS.names if chosen.attention is None else (chosen.attention,)
    report(
        [measured(name, peer, change, materials, config, chosen.runs) for name in names], chosen.out
    )


def described(plain: ArchitectureConfig) -> ArchitectureConfig:
    """With vectors of pairs."""
    return dataclasses.replace(plain, pair_width=16)


if __name__ == "__main__":
    compare(__doc__, "without pairs", described)
