"""The complexes, targets and split that a configuration asks for."""

import logging
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from cellformer.complexes.ragged import RaggedComplexes
from cellformer.data.dataset import PARTS, GraphSet, Task
from cellformer.data.molecule_keys import Leak
from cellformer.data.prepare import Prepared, prepare
from cellformer.data.splits import Split
from cellformer.training.build import build_encodings, build_lifting
from cellformer.training.config import DataConfig
from cellformer.training.parts import Rows, find_leaks, open_rows, split_rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Materials:
    """What a model learns from: prepared complexes and which of them belong to which part."""

    name: str
    fingerprint: str
    task: Task
    complexes: RaggedComplexes
    split: dict[str, Int64[np.ndarray, " _"]]  # numbers of complexes that have a target
    failures: tuple[tuple[int, str], ...]  # rows that have no complex, with the reason
    leaks: tuple[Leak, ...] = ()  # molecules in several parts


def gather(config: DataConfig, source: GraphSet | None = None) -> Materials:
    """Opens the source, prepares its complexes (from the cache where they are) and splits them.

    ``source`` stands in for the one that the configuration names. Raises ValueError if nothing is
    left to train on or to validate with, or at a row without a complex if ``on_error`` says so.
    """
    rows = open_rows(config) if source is None else Rows(source, source.split, (("data", 0),))
    source = rows.source
    task = source.task  # raises where there is nothing to learn
    prepared = prepare(
        source,
        build_lifting(config),
        build_encodings(config),
        workers=config.workers,
        over_limit="skip" if config.over_limit == "skip" else "fail",
    )
    _judge_failures(rows, prepared, config)
    labeled = np.isfinite(source.targets).any(axis=1)
    usable = prepared.rows[labeled[prepared.rows]]
    split = split_rows(config, rows, usable)
    present = _present(source, prepared, {p: s[np.isin(s, usable)] for p, s in split.items()})
    _tell(source, prepared, present)
    return Materials(
        source.name,
        source.fingerprint,
        task,
        prepared.complexes,
        present,
        tuple(
            (row, reason if len(rows.files) == 1 else f"{rows.name_of(row)}: {reason}")
            for row, reason in prepared.failures
        ),
        find_leaks(rows, split),
    )


def _judge_failures(rows: Rows, prepared: Prepared, config: DataConfig) -> None:
    if not prepared.failures:
        return
    row, reason = prepared.failures[0]
    told = (
        f"{len(prepared.failures)} of {len(rows.source)} rows of {rows.source.name} have no "
        f"complex, for example {rows.name_of(row)}: {reason}"
    )
    if config.on_error == "fail":
        raise ValueError(f"{told}; correct them, or leave them out (data.on_error=skip)")
    logger.warning("%s", told)


def _present(source: GraphSet, prepared: Prepared, split: Split) -> Split:
    """The parts as numbers of prepared complexes; raises where there is nothing to learn from."""
    present = {part: prepared.numbers(split[part]) for part in PARTS}
    for part in ("train", "val"):
        if not len(present[part]):
            raise ValueError(
                f"{source.name}: no labeled complex is left in the {part} part of the split "
                f"({len(prepared.rows)} complexes in all); see data.split and data.fractions"
            )
    return present


def _tell(source: GraphSet, prepared: Prepared, present: Split) -> None:
    """Logs how many complexes have a value, for each target and part, where some lack one."""
    targets = source.targets[prepared.rows]
    if np.isfinite(targets).all():
        return
    for column, name in enumerate(source.task.targets):
        known = np.isfinite(targets[:, column])
        counts = ", ".join(f"{part} {known[present[part]].sum()}" for part in PARTS)
        logger.info("%s has a value in %d of %d rows: %s", name, known.sum(), len(known), counts)
