"""The rows of a source that train, validate and test."""

import logging
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from jaxtyping import Bool, Int64

from cellformer.data.computed_targets import with_computed_targets
from cellformer.data.dataset import PARTS, GraphSet, SmilesList
from cellformer.data.join import join
from cellformer.data.left_out import among, repeated
from cellformer.data.preparation import Preparation
from cellformer.data.splitting.molecule_keys import Leak, leaks, molecule_keys
from cellformer.data.splitting.splits import (
    Split,
    fold_split,
    random_split,
    scaffold_groups,
    scaffold_split,
)
from cellformer.data.texts import ChosenTexts
from cellformer.training.config import DataConfig
from cellformer.training.materials.preparation import check_use

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """All rows of a configuration's files, one file after the other."""

    source: GraphSet
    split: Split | None  # that the files make
    files: tuple[tuple[str, int], ...]  # the name of each, and its first row

    def name_of(self, row: int) -> str:
        """How a user finds a row: its number, from 0, and the file where there are several."""
        if len(self.files) == 1:
            return f"row {row}"
        file, first = max((each for each in self.files if each[1] <= row), key=lambda f: f[1])
        return f"row {row - first} of {file}"


def open_rows(config: DataConfig, preparation: Preparation) -> SourceRows:
    """Opens the source, and the files of validation and test rows if there are any.

    Raises ValueError for a field that is of no use to the source.
    """
    source = preparation.open(
        config.source,
        target=config.target,
        kind=None if config.kind == "auto" else config.kind,
        metric=None if config.metric == "auto" or config.computed_targets else config.metric,
        split_column=config.split_column,
        targets_of=None if config.targets_of == "auto" else config.targets_of,
    )
    check_use(config, source)
    rows = _with_further_files(source, config, preparation)
    if config.computed_targets:
        computed = with_computed_targets(
            rows.source, fragments=config.computed_fragments, workers=config.workers
        )
        rows = replace(rows, source=_judged(computed, config))
    return rows


def _with_further_files(
    source: GraphSet, config: DataConfig, preparation: Preparation
) -> SourceRows:
    """The rows of the source, then those of the other files that the configuration names."""
    named = [("train", file) for file in config.more_sources]
    named += [(part, file) for part, file in (("val", config.val_file), ("test", config.test_file))
              if file is not None]  # fmt: skip
    if not named:
        return SourceRows(source, source.split, ((config.source, 0),))
    alike = replace(preparation, column_units=source.column_units)
    if config.computed_targets:
        source, sets = _unlabeled(source), [_unlabeled(alike.open(file)) for _, file in named]
    else:
        task = source.task
        sets = [alike.open(file, target=task.targets, task=task) for _, file in named]
    for each, (_, file) in zip(sets, named, strict=True):
        if (each.smiles_or_none is None) != (source.smiles_or_none is None):
            raise ValueError(
                f"{config.source} and {file} are of two kinds: only one of them consists of "
                "molecules given as SMILES, whose features are others; learn them in two trainings"
            )
    sizes = [len(source), *map(len, sets)]
    part_of = np.repeat(["train", *(part for part, _ in named)], sizes)
    split: Split | None = {part: np.flatnonzero(part_of == part) for part in PARTS}
    if set(part_of) == {"train"}:
        further = np.arange(len(source), len(part_of))
        split = None if source.split is None else source.split | {
            "train": np.concatenate([source.split["train"], further])
        }  # fmt: skip
    files = [config.source, *(file for _, file in named)]
    starts = [0, *accumulate(sizes)][:-1]
    return SourceRows(join([source, *sets]), split, tuple(zip(files, starts, strict=True)))


def _unlabeled(source: GraphSet) -> GraphSet:
    """The graphs and their split alone, so that sets with different targets can be joined."""
    none = np.zeros((len(source), 0), np.float32)
    return replace(
        source, targets=none, task_or_none=None, cell_offsets=None, cell_split=None, bounds=None
    )


def _judged(source: GraphSet, config: DataConfig) -> GraphSet:
    """With the metric that was asked for."""
    if config.metric == "auto":
        return source
    return replace(source, task_or_none=replace(source.task, metric=config.metric))


def learned_rows(
    config: DataConfig, rows: SourceRows, preparation: Preparation
) -> Bool[np.ndarray, " row"]:
    """Which rows may belong to a part: all but the molecules that are to be left out.

    Where targets are computed, further rows of one molecule are left out too. Raises ValueError for
    rows that are no molecules.
    """
    source = rows.source
    kept = np.ones(len(source), bool)
    if config.leave_out:
        plain = replace(
            preparation, reader=None, columns=(), column_units=(), separator=None, charset=None,
            fragments="all", molecule_descriptors="none",
        )  # fmt: skip
        others = [plain.open_new(file, source.task) for file in config.leave_out]
        found = among(source, others, config.workers)
        kept &= ~found
        logger.info(
            "%d of %d rows of %s are left out: they are molecules of %s",
            found.sum(), len(source), source.name, " or ".join(config.leave_out),
        )  # fmt: skip
    if config.computed_targets and source.smiles_or_none is not None:
        again = repeated(source, config.workers)
        kept &= ~again
        if again.any():
            logger.info("%d rows are molecules of earlier ones, and left out", again.sum())
    return kept


def split_rows(
    config: DataConfig,
    rows: SourceRows,
    usable: Int64[np.ndarray, " usable"] | None = None,
) -> Split:
    """The rows of each part; a split made here divides the ``usable`` ones (by default all).

    Where the files make a split without validation rows, a random share of its training rows, as
    large as ``fractions`` says, becomes them.
    """
    source = rows.source
    chosen = np.arange(len(source)) if usable is None else usable
    if config.folds is not None or config.split != "auto" or rows.split is None:
        return {part: chosen[places] for part, places in _divide(config, source, chosen).items()}
    if len(rows.split["val"]):
        _refuse_useless(config, source.name)
        return rows.split
    train = np.intersect1d(rows.split["train"], chosen)
    groups = molecule_groups(config, source, train)
    return _halved(config, {**rows.split, "train": train}, source.name, groups)


def with_validation(config: DataConfig, split: Split, name: str) -> Split:
    """A split of cells, with some of those that train to validate where it has none.

    Raises ValueError for a field that is of use to a split made here alone.
    """
    if len(split["val"]):
        _refuse_useless(config, name)
        return split
    return _halved(config, split, name, None)


def _halved(
    config: DataConfig, split: Split, name: str, groups: Int64[np.ndarray, " train"] | None
) -> Split:
    """The split with a random share of its training rows, or groups of them, to validate."""
    train, fractions = split["train"], config.shares
    share = fractions[1] / ((fractions[0] + fractions[1]) or 1)
    halves = random_split(len(train), (1 - share, share, 0.0), config.seed_of_split, groups)
    logger.info(
        "%s brings no validation rows: %d of its %d training rows become them",
        name,
        len(halves["val"]),
        len(train),
    )
    return split | {"train": train[halves["train"]], "val": train[halves["val"]]}


def _divide(config: DataConfig, source: GraphSet, chosen: Int64[np.ndarray, " chosen"]) -> Split:
    """A split of the chosen rows, as places among them."""
    count = len(chosen)
    if config.folds is not None:
        groups = (
            scaffold_groups(ChosenTexts(source.smiles, chosen))
            if config.split == "scaffold"
            else molecule_groups(config, source, chosen)
        )
        return fold_split(count, config.folds, config.fold, config.seed_of_split, groups)
    if config.split == "scaffold":
        return scaffold_split(ChosenTexts(source.smiles, chosen), config.shares)
    groups = molecule_groups(config, source, chosen)
    return random_split(count, config.shares, config.seed_of_split, groups)


def _refuse_useless(config: DataConfig, name: str) -> None:
    """What belongs to a split made here is of no use where the files make it."""
    given = {
        "fractions": config.fractions is not None,
        "split_seed": config.split_seed is not None,
        "duplicates": config.duplicates == "apart",
    }
    for field, is_given in given.items():
        if is_given:
            raise ValueError(
                f"data.{field} is of no use, as {name} brings its own split; to split it "
                "anew set data.split to random"
            )


def molecule_groups(
    config: DataConfig, source: GraphSet, chosen: Int64[np.ndarray, " chosen"]
) -> Int64[np.ndarray, " chosen"] | None:
    """Which of the chosen rows a random split keeps together, if any."""
    if not isinstance(source.graphs, SmilesList):
        if config.duplicates == "apart":
            raise ValueError(
                f"data.duplicates is of use to molecules given as SMILES only; leave it out for "
                f"{source.name}"
            )
        return None
    if config.duplicates == "apart":
        return None
    groups: Int64[np.ndarray, " chosen"] = molecule_keys(source.smiles)[chosen]
    return groups


def find_leaks(rows: SourceRows, split: Split) -> tuple[Leak, ...]:
    """Molecules that are in several parts, with a warning; none where there are no molecules."""
    source = rows.source
    if not isinstance(source.graphs, SmilesList):
        return ()
    found = leaks(split, molecule_keys(source.smiles))
    for part in ("val", "test"):
        shared = [leak for leak in found if {"train", part} <= set(leak.rows)]
        if shared:
            logger.warning(
                "%d molecules of the %s part of %s are in its training part too, for example "
                "%s is %s; scores of that part may be too good",
                len(shared),
                part,
                source.name,
                rows.name_of(shared[0].rows[part][0]),
                rows.name_of(shared[0].rows["train"][0]),
            )
    return found
