"""The rows of a source that train, validate and test."""

import logging
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64

from cellformer.data.dataset import PARTS, GraphSet, SmilesList
from cellformer.data.join import join
from cellformer.data.preparation import Preparation
from cellformer.data.splitting.molecule_keys import Leak, leaks, molecule_keys
from cellformer.data.splitting.splits import (
    Split,
    fold_split,
    random_split,
    scaffold_groups,
    scaffold_split,
)
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
        metric=None if config.metric == "auto" else config.metric,
        split_column=config.split_column,
        targets_of=None if config.targets_of == "auto" else config.targets_of,
    )
    check_use(config, source)
    if config.val_file is None and config.test_file is None:
        return SourceRows(source, source.split, ((config.source, 0),))
    named = {"train": config.source, "val": config.val_file, "test": config.test_file}
    files = {part: file for part, file in named.items() if file is not None}
    task = source.task
    alike = replace(preparation, column_units=source.column_units)
    sets = [
        alike.open(file, target=task.targets, task=task)
        for part, file in files.items()
        if part != "train"
    ]
    starts = np.cumsum([0, len(source), *map(len, sets)])
    blocks = {part: np.arange(*starts[i : i + 2]) for i, part in enumerate(files)}
    return SourceRows(
        join([source, *sets]),
        {part: blocks.get(part, np.zeros(0, np.int64)) for part in PARTS},
        tuple(zip(files.values(), starts[:-1].tolist(), strict=True)),
    )


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
            scaffold_groups([source.smiles[row] for row in chosen])
            if config.split == "scaffold"
            else molecule_groups(config, source, chosen)
        )
        return fold_split(count, config.folds, config.fold, config.seed_of_split, groups)
    if config.split == "scaffold":
        return scaffold_split([source.smiles[row] for row in chosen], config.shares)
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
