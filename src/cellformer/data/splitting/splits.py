"""Which rows train, validate and test."""

import heapq
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Int64

from cellformer.chemistry.limits import MAX_DRAWN_ATOMS
from cellformer.data.dataset import PARTS
from cellformer.data.splitting.molecule_keys import number_of

Split = dict[str, Int64[np.ndarray, " _"]]


def random_split(
    rows: int,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    groups: Int64[np.ndarray, " row"] | None = None,
) -> Split:
    """A random division of ``rows`` rows; the same seed gives the same one. Indices ascend.

    Rows with the same number in ``groups`` stay together, so parts may be larger or smaller than
    asked for; no part that should have rows goes without while there are groups enough.
    """
    ends = _ends(rows, fractions)
    order = np.random.default_rng(seed).permutation(rows)
    if groups is not None:
        _, members = np.unique(groups, return_inverse=True)
        place = np.full(members.max(initial=-1) + 1, rows)
        np.minimum.at(place, members[order], np.arange(rows))  # where a group is met first
        order = order[np.argsort(place[members[order]], kind="stable")]
        met = place[members[order]]
        starts = np.flatnonzero(np.r_[True, met[1:] != met[:-1]]) if rows else np.zeros(0, int)
        ends = _between_groups(np.append(starts, rows), ends)
    parts = np.split(order, ends)
    return _named(np.sort(part) for part in parts)


def fold_split(
    rows: int,
    folds: int,
    fold: int,
    seed: int = 0,
    groups: Int64[np.ndarray, " row"] | None = None,
) -> Split:
    """One of ``folds`` divisions for cross-validation: each row is in the test part of one.

    Fold number ``fold`` is the test part, the next one validates, all others train. Rows with the
    same number in ``groups`` stay together: groups go, by falling size and in random order among
    equals, to the fold that is smallest so far. Indices ascend. Raises ValueError unless
    3 <= folds <= rows and 0 <= fold < folds.
    """
    if not 3 <= folds <= rows:
        raise ValueError(f"folds must be from 3 to the number of rows ({rows}), got {folds}")
    if not 0 <= fold < folds:
        raise ValueError(f"fold must be from 0 to {folds - 1}, got {fold}")
    _, members, sizes = np.unique(
        np.arange(rows) if groups is None else groups, return_inverse=True, return_counts=True
    )
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = [(0, number) for number in range(folds)]  # a heap
    fold_of = np.zeros(len(sizes), np.int64)
    for group in order.tolist():
        size, number = filled[0]
        fold_of[group] = number
        heapq.heapreplace(filled, (size + int(sizes[group]), number))
    owner = fold_of[members]
    test, val = owner == fold, owner == (fold + 1) % folds
    return _named(np.flatnonzero(part) for part in (~test & ~val, val, test))


def scaffold_split(smiles: Sequence[str], fractions: Sequence[float] = (0.8, 0.1, 0.1)) -> Split:
    """Molecules with the same Bemis-Murcko scaffold fall into the same part; no randomness.

    Groups are taken by falling size, the one whose first molecule comes later first, and go to
    the first part that still has room. Source: MoleculeNet (Wu et al. 2018) and the split of the
    Open Graph Benchmark's ogbg-molhiv, chirality included. Rows whose SMILES is not valid belong
    to no part. Indices ascend.
    """
    keys = scaffold_groups(smiles)
    rows = np.flatnonzero(keys >= 0)
    _, first, members, sizes = np.unique(
        keys[rows], return_index=True, return_inverse=True, return_counts=True
    )
    train_end, val_end = _ends(len(rows), fractions)
    train = val = 0
    part_of = np.zeros(len(sizes), np.int8)
    for group in np.lexsort((first, sizes))[::-1].tolist():
        size = int(sizes[group])
        if train + size <= train_end:
            train += size
        elif train + val + size <= val_end:
            val += size
            part_of[group] = 1
        else:
            part_of[group] = 2
    return _named(rows[part_of[members] == number] for number in range(len(PARTS)))


def scaffold_groups(smiles: Sequence[str]) -> Int64[np.ndarray, " row"]:
    """A number from 0 per row, equal for equal scaffolds; different ones below 0 if not valid."""
    keys = -1 - np.arange(len(smiles))
    numbers = np.zeros(len(smiles), np.int64)
    valid = np.zeros(len(smiles), bool)
    for row, text in enumerate(smiles):
        scaffold = scaffold_of(text)
        if scaffold is not None:
            valid[row], numbers[row] = True, number_of(scaffold)
    _, first, members = np.unique(numbers[valid], return_index=True, return_inverse=True)
    keys[valid] = np.argsort(np.argsort(first))[members]  # by where each is met first
    return keys


def scaffold_of(smiles: str) -> str | None:
    """The SMILES of a molecule's rings and the links between them; None if it is not valid.

    A molecule without rings has the empty scaffold. One of more than `MAX_DRAWN_ATOMS` atoms
    stands for itself: its SMILES is its scaffold.
    """
    from rdkit import rdBase
    from rdkit.Chem.Scaffolds import MurckoScaffold

    from cellformer.chemistry.reasons import one_reason
    from cellformer.chemistry.smiles import parse_smiles

    try:
        molecule = parse_smiles(smiles)
        if molecule.GetNumAtoms() > MAX_DRAWN_ATOMS:
            return smiles
        with rdBase.BlockLogs(), one_reason(smiles):
            return str(
                MurckoScaffold.MurckoScaffoldSmiles(  # type: ignore[no-untyped-call]
                    mol=molecule, includeChirality=True
                )
            )
    except ValueError:
        return None


def _named(parts: Iterable[Int64[np.ndarray, " _"]]) -> Split:
    return dict(zip(PARTS, parts, strict=True))


def _between_groups(borders: Int64[np.ndarray, " _"], ends: tuple[int, int]) -> tuple[int, int]:
    """The borders of groups, from 0 to the number of rows, that are nearest to two ends."""
    last = len(borders) - 1
    wanted = np.diff([0, *ends, borders[-1]]) > 0  # parts that should have a group at least
    train, val, test = wanted.astype(int).tolist() if wanted.sum() <= last else (0, 0, 0)
    first = int(np.abs(borders - ends[0]).argmin())
    first = min(max(first, train), last - val - test)
    second = int(np.abs(borders - ends[1]).argmin())
    second = min(max(second, first + val), last - test)
    return int(borders[first]), int(borders[second])


def _ends(rows: int, fractions: Sequence[float]) -> tuple[int, int]:
    """Where the validation and the test rows begin."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6:
        raise ValueError(
            f"fractions must be three numbers >= 0 that sum to 1, got {tuple(fractions)}"
        )
    train, val, _ = fractions
    # The tiny addition keeps e.g. 0.8 + 0.1 of 10 rows, 8.999..., at 9.
    return int(train * rows + 1e-6), int((train + val) * rows + 1e-6)
