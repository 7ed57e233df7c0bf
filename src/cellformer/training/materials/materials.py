"""The complexes, targets and split that a configuration asks for."""

import logging
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int64

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.patches import Patch
from cellformer.data.dataset import (
    PARTS,
    GraphSequence,
    GraphSet,
    MoleculeDescriptors,
    SmilesList,
    Task,
)
from cellformer.data.preparation import Preparation
from cellformer.data.preparing.patches import numbers_of_cells
from cellformer.data.preparing.prepare import Prepared
from cellformer.data.preparing.shards import ShardExecutor
from cellformer.data.sources import described_as
from cellformer.data.splitting.cell_split import split_cells, split_cells_as
from cellformer.data.splitting.molecule_keys import Leak
from cellformer.data.splitting.splits import Split
from cellformer.data.tables.atom_targets import WORDS
from cellformer.training.config import DataConfig
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.materials.rows import (
    SourceRows,
    find_leaks,
    learned_rows,
    open_rows,
    split_rows,
    with_validation,
)

logger = logging.getLogger(__name__)

MOST_TOLD = 20
"""Targets whose values are counted in the log; a pretraining has hundreds."""


@dataclass(frozen=True, eq=False)
class Materials:
    """What a model learns from: prepared complexes and which of them belong to which part."""

    name: str
    digest: str
    task: Task
    graphs: GraphSequence  # of all rows
    complexes: RaggedComplexes
    rows: Int64[np.ndarray, " complex"]  # that each complex, or what it is a patch of, is made of
    split: dict[str, Int64[np.ndarray, " _"]]  # numbers of complexes that have a target
    failures: tuple[tuple[int, str], ...]  # rows that have no complex, with the reason
    leaks: tuple[Leak, ...] = ()  # molecules in several parts
    column_units: tuple[str, ...] = ()  # of the descriptors that the source brings
    left_out: int = 0  # rows whose molecules are not to be learned
    patches: tuple[Patch, ...] | None = None  # as in `Prepared`
    cells_split: bool = False  # whether cells of the same row train, validate and test

    @property
    def molecule_descriptors(self) -> MoleculeDescriptors:
        """What was computed of the molecules as wholes."""
        return self.graphs.descriptors if isinstance(self.graphs, SmilesList) else "none"

    def cells_of(
        self, chosen: Int64[np.ndarray, " chosen"], rank: int
    ) -> tuple[Int64[np.ndarray, " cell"], Int64[np.ndarray, " cell"], Bool[np.ndarray, " cell"]]:
        """Row and number of all cells of a rank of some complexes, and which count.

        See `numbers_of_cells`.
        """
        rows = np.repeat(self.rows[chosen], self.complexes.num_cells[chosen, rank])
        return rows, *numbers_of_cells(self.complexes, chosen, rank, self.patches)


def gather(
    config: DataConfig, source: GraphSet | None = None, preparation: Preparation | None = None
) -> Materials:
    """Opens the source, prepares its complexes (from the cache where they are) and splits them.

    Without a ``preparation`` it is the one that the configuration describes.
    ``source`` stands in for the one that the configuration names. Raises ValueError if nothing is
    left to train on or to validate with, or at a row without a complex if ``on_error`` says so.
    """
    preparation = preparation or preparation_of(config, config.source)
    if source is None:
        rows = open_rows(config, preparation)
    else:
        source = preparation.open(source)
        rows = SourceRows(source, source.split, (("data", 0),))
    if rows.source.task_or_none is None:
        table = preparation.table_of(config.source) if source is None else None
        if table is not None:
            raise ValueError(
                f"say which column of {table.where} is to be learned, by --target (data.target): "
                + ", ".join(map(repr, table.header))
            )
    return gathered(rows, config, preparation)


def gathered(
    rows: SourceRows,
    config: DataConfig,
    preparation: Preparation,
    executor: ShardExecutor | None = None,
) -> Materials:
    """`gather` of rows that are open already; an ``executor`` prepares them elsewhere."""
    rows, preparation = _without_descriptors(rows, config, preparation)
    source = rows.source
    _check_described(source, preparation)
    task = source.task  # raises where there is nothing to learn
    within = _is_within(source, rows, config, preparation)
    if within:
        source = _split_within(source, config)
        rows = replace(rows, source=source, split=source.split)
    prepared = preparation.stored(source, workers=config.workers, executor=executor)
    _judge_failures(rows, prepared, config)
    kept = learned_rows(config, rows, preparation)
    usable = np.unique(prepared.rows[(source.has_target() & kept)[prepared.rows]])
    by_patch = not within and prepared.patches is not None and _too_few(source, rows)
    if by_patch:
        logger.info("%s: patches of the same complexes train, validate and test", source.name)
        split, present = {}, split_rows(config, rows, _labeled(prepared))
    else:
        split = source.split if within and source.split else split_rows(config, rows, usable)
        present = _numbers(prepared, {p: s[np.isin(s, usable)] for p, s in split.items()})
    _check_parts(source, prepared, present)
    _tell(source, prepared, present)
    return Materials(
        source.name,
        source.digest,
        task,
        source.graphs,
        prepared.complexes,
        prepared.rows % (len(source) // (len(PARTS) if within else 1)),
        present,
        tuple(
            (row, reason if len(rows.files) == 1 else f"{rows.name_of(row)}: {reason}")
            for row, reason in prepared.failures
        ),
        find_leaks(rows, split),
        source.column_units,
        int((~kept).sum()),
        prepared.patches,
        within or by_patch,
    )


def _without_descriptors(
    rows: SourceRows, config: DataConfig, preparation: Preparation
) -> tuple[SourceRows, Preparation]:
    """Molecules are not described as wholes where their atoms or bonds are predicted.

    Raises ValueError where that is asked for.
    """
    task = rows.source.task_or_none
    if task is None or task.rank is None or not isinstance(rows.source.graphs, SmilesList):
        return rows, preparation
    asked = {
        "molecule_descriptors": config.molecule_descriptors not in ("auto", "none"),
        "descriptors": bool(preparation.columns),
    }
    for field, given in asked.items():
        if given:
            raise ValueError(
                f"data.{field} describes molecules as wholes, but the targets are of "
                f"{WORDS[task.rank]}; leave it out"
            )
    plain = described_as(rows.source, None, "none")
    return replace(rows, source=plain), replace(preparation, molecule_descriptors="none")


def _check_described(source: GraphSet, preparation: Preparation) -> None:
    """New molecules are described as the preparation says: so must the learned ones be."""
    if isinstance(source.graphs, SmilesList):
        own, wanted = source.graphs.scheme, preparation.features
        if own != wanted:
            raise ValueError(
                f"the molecules of {source.name} have the features {own!r}, but the configuration "
                f"asks for {wanted!r}; set data.features to {own!r}"
            )
    described = source.graphs.descriptors if isinstance(source.graphs, SmilesList) else "none"
    if described != preparation.molecule_descriptors:
        raise ValueError(
            f"the complexes of {source.name} have the descriptors {described!r}, but the "
            f"configuration asks for {preparation.molecule_descriptors!r}; set "
            f"data.molecule_descriptors to {described!r}"
        )
    given = 0 if source.columns is None else source.columns.shape[1]
    if given != len(preparation.columns):
        raise ValueError(
            f"{source.name} has {given} columns of descriptors, data.descriptors names "
            f"{len(preparation.columns)}"
        )


def _is_within(
    source: GraphSet, rows: SourceRows, config: DataConfig, preparation: Preparation
) -> bool:
    """Whether each cell of the same complexes trains, validates or tests.

    So they do where the source says which, and where there are too few complexes to be split, and
    no patches of them; but molecules are split as wholes.
    """
    if source.task.rank is None or rows.split is not None or isinstance(source.graphs, SmilesList):
        return False
    few = _too_few(source, rows) and preparation.patches is None
    return _brings_cells(source, config) or few


def _too_few(source: GraphSet, rows: SourceRows) -> bool:
    """Whether there are too few complexes for each to belong to a part."""
    return rows.split is None and len(source) < len(PARTS)


def _brings_cells(source: GraphSet, config: DataConfig) -> bool:
    """Whether the split that the source brings, of cells, is the one that is asked for."""
    return source.cell_split is not None and config.split == "auto" and config.folds is None


def _split_within(source: GraphSet, config: DataConfig) -> GraphSet:
    """The cells in parts of their own: those that the source says, or random ones."""
    if source.cell_split is not None and _brings_cells(source, config):
        logger.info("%s says which cells train, validate and test", source.name)
        return split_cells_as(source, with_validation(config, source.cell_split, source.name))
    if config.folds is not None:
        raise ValueError(
            f"{source.name} has {len(source)} complexes, too few for a cross-validation, whose "
            "folds consist of whole complexes; train one model, or an ensemble, which splits the "
            "cells at random"
        )
    if config.split == "scaffold":
        raise ValueError(
            f"{source.name} is split by cells, which have no scaffolds; use a random split"
        )
    logger.info("%s: cells of the same complexes train, validate and test", source.name)
    return split_cells(source, config.shares, config.seed_of_split)


def _judge_failures(rows: SourceRows, prepared: Prepared, config: DataConfig) -> None:
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


def _numbers(prepared: Prepared, split: Split) -> Split:
    """The parts as numbers of prepared complexes; of patches, of those with a target."""
    present = {part: prepared.numbers(split[part]) for part in PARTS}
    if prepared.patches is None:
        return present
    labeled = _labeled(prepared)
    return {part: numbers[np.isin(numbers, labeled)] for part, numbers in present.items()}


def _labeled(prepared: Prepared) -> Int64[np.ndarray, " complex"]:
    """The complexes with a cell that has a target."""
    complexes = prepared.complexes
    assert complexes.target_rank is not None
    known = np.isfinite(complexes.targets_of(np.arange(len(complexes)))).any(axis=1)
    counted = np.concatenate([[0], np.cumsum(known)])
    return np.flatnonzero(np.diff(counted[complexes.ranks[complexes.target_rank].offsets]))


def _check_parts(source: GraphSet, prepared: Prepared, present: Split) -> None:
    """Raises ValueError where there is nothing to learn from, or to validate with."""
    for part in ("train", "val"):
        if not len(present[part]):
            raise ValueError(
                f"{source.name}: no labeled complex is left in the {part} part of the split "
                f"({len(prepared.rows)} {'complexes' if prepared.patches is None else 'patches'} "
                f"in all); see data.split{', data.patch_cells' if prepared.patches else ''} and "
                "data.fractions"
            )


def _tell(source: GraphSet, prepared: Prepared, present: Split) -> None:
    """Logs how many complexes have a value, for each target and part, where some lack one.

    Of more than `MOST_TOLD` targets only those with the fewest values are told of.
    """
    known = np.isfinite(prepared.complexes.targets_of(np.arange(len(prepared.rows))))
    if known.all():
        return
    of_part = {p: np.isfinite(prepared.complexes.targets_of(present[p])).sum(0) for p in PARTS}
    names = source.task.targets
    for column in sorted(np.argsort(known.sum(axis=0), kind="stable")[:MOST_TOLD]):
        counts = ", ".join(f"{part} {of_part[part][column]}" for part in PARTS)
        own = known[:, column]
        logger.info(
            "%s has a value in %d of %d rows: %s", names[column], own.sum(), len(own), counts
        )
    if len(names) > MOST_TOLD:
        logger.info("%d more targets have at least as many values", len(names) - MOST_TOLD)
