"""Which rows train, validate and test."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

Split = dict[str, Int64[np.ndarray, " _"]]


def random_split(rows: int, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0) -> Split:
    """A random division of ``rows`` rows; the same seed gives the same one. Indices ascend."""
    ends = _ends(rows, fractions)
    order = np.random.default_rng(seed).permutation(rows)
    parts = np.split(order, ends)
    return {name: np.sort(part) for name, part in zip(("train", "val", "test"), parts, strict=True)}


def scaffold_split(smiles: Sequence[str], fractions: Sequence[float] = (0.8, 0.1, 0.1)) -> Split:
    """Molecules with the same Bemis-Murcko scaffold fall into the same part; no randomness.

    Groups are taken by falling size, the one whose first molecule comes later first, and go to
    the first part that still has room. Source: MoleculeNet (Wu et al. 2018) and the split of the
    Open Graph Benchmark's ogbg-molhiv, chirality included. Rows whose SMILES is not valid belong
    to no part. Indices ascend.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(smiles):
        scaffold = scaffold_of(text)
        if scaffold is not None:
            groups[scaffold].append(row)
    rows = sum(map(len, groups.values()))
    train_end, val_end = _ends(rows, fractions)
    train: list[int] = []
    val: list[int] = []
    test: list[int] = []
    for group in sorted(groups.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if len(train) + len(group) <= train_end:
            train += group
        elif len(train) + len(val) + len(group) <= val_end:
            val += group
        else:
            test += group
    named = zip(("train", "val", "test"), (train, val, test), strict=True)
    return {name: np.sort(np.asarray(part, np.int64)) for name, part in named}


def scaffold_of(smiles: str) -> str | None:
    """The SMILES of a molecule's rings and the links between them; None if it is not valid.

    A molecule without rings has the empty scaffold.
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem.Scaffolds import MurckoScaffold

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None or not molecule.GetNumAtoms():
            return None
        return str(
            MurckoScaffold.MurckoScaffoldSmiles(  # type: ignore[no-untyped-call]
                mol=molecule, includeChirality=True
            )
        )


def _ends(rows: int, fractions: Sequence[float]) -> tuple[int, int]:
    """Where the validation and the test rows begin."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6:
        raise ValueError(
            f"fractions must be three numbers >= 0 that sum to 1, got {tuple(fractions)}"
        )
    train, val, _ = fractions
    # The tiny addition keeps e.g. 0.8 + 0.1 of 10 rows, 8.999..., at 9.
    return int(train * rows + 1e-6), int((train + val) * rows + 1e-6)
