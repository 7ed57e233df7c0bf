"""The complexes, targets and split that a configuration asks for."""

import logging
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from cellformer.complexes.ragged import RaggedComplexes
from cellformer.data.cell_split import split_cells
from cellformer.data.dataset import PARTS, GraphSet, Task
from cellformer.data.prepare import Prepared, prepare
from cellformer.data.sources import open_source
from cellformer.data.splits import random_split, scaffold_split
from cellformer.training.build import build_encodings, build_features, build_lifting
from cellformer.training.config import DataConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Materials:
    """What a model learns from: prepared complexes and which of them belong to which part."""

    name: str
    fingerprint: str
    task: Task
    complexes: RaggedComplexes
    split: dict[str, Int64[np.ndarray, " _"]]  # numbers of complexes
    failures: tuple[tuple[int, str], ...]  # rows that have no complex, with the reason


def gather(config: DataConfig) -> Materials:
    """Opens the source, prepares its complexes (from the cache where they are) and splits them.

    Raises ValueError if nothing is left to train on or to validate with.
    """
    source = open_source(
        config.source,
        target=config.target or None,
        smiles_column=config.smiles_column,
        kind=None if config.kind == "auto" else config.kind,
        metric=None if config.metric == "auto" else config.metric,
        features=build_features(config),
    )
    task = source.task  # raises where there is nothing to learn
    if task.rank is not None and source.split is None and len(source) < len(PARTS):
        logger.info("%s: cells of the same complexes train, validate and test", source.name)
        source = split_cells(source, config.fractions, config.split_seed)
    prepared = prepare(
        source,
        build_lifting(config),
        build_encodings(config),
        workers=config.workers,
        over_limit="skip" if config.over_limit == "skip" else "fail",
    )
    if prepared.failures:
        logger.warning(
            "%d of %d rows of %s have no complex, for example row %d: %s",
            len(prepared.failures),
            len(source),
            source.name,
            *prepared.failures[0],
        )
    return Materials(
        source.name,
        source.fingerprint,
        task,
        prepared.complexes,
        _split(source, prepared, config),
        prepared.failures,
    )


def _split(
    source: GraphSet, prepared: Prepared, config: DataConfig
) -> dict[str, Int64[np.ndarray, " _"]]:
    """The parts as numbers of prepared complexes."""
    if config.split == "auto" and source.split is not None:
        parts = source.split
    elif config.split == "scaffold":
        parts = scaffold_split(source.smiles, config.fractions)
    else:
        parts = random_split(len(source), config.fractions, config.split_seed)
    present = {part: prepared.numbers(parts[part]) for part in PARTS}
    for part in ("train", "val"):
        if not len(present[part]):
            raise ValueError(
                f"{source.name}: no complex is left in the {part} part of the split "
                f"({len(prepared.rows)} complexes in all); see data.split and data.fractions"
            )
    return present
