"""One file for all who learn a table: its molecules, the column, and who trains on which row."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.accuracy.sets import MoleculeTable
from cellformer.basics.files import replace_atomically
from cellformer.chemistry.canonical import canonical_smiles
from cellformer.data.splitting.molecule_keys import molecule_keys
from cellformer.data.splitting.splits import random_split

VALIDATING = 0.1


def written(table: MoleculeTable, seed: int, moleculeace: Path, folder: Path) -> Path:
    """A file with the columns smiles, y and split (train, val, test); made once.

    A table without test rows of its own is divided at random into 80, 10 and 10 %; of one with
    them a tenth of the others validates. All rows of a molecule stay together. Rows that RDKit
    does not read are left out, with a line that counts them.
    """
    path = folder / f"rows-{seed}.csv"
    if path.exists():
        return path
    source = moleculeace / table.file
    if not source.exists():
        source = Path(os.environ["CELLFORMER_DATA"]) / "extra" / table.file
    frame = pd.read_csv(source)
    groups = molecule_keys(frame["smiles"].tolist())
    usable = np.array([canonical_smiles(text) is not None for text in frame["smiles"]])
    if not usable.all():
        print(f"{source.name}: {int((~usable).sum())} rows are no molecules and left out")
    frame, groups = frame[usable].reset_index(drop=True), groups[usable]
    split = np.full(len(frame), "train", dtype="<U5")
    if "split" in frame:
        tested = frame["split"].to_numpy(str) == "test"
        split[tested] = "test"
        rest = np.flatnonzero(~tested)
        parts = random_split(len(rest), (1 - VALIDATING, VALIDATING, 0.0), seed, groups[rest])
        split[rest[parts["val"]]] = "val"
    else:
        parts = random_split(len(frame), seed=seed, groups=groups)
        split[parts["val"]] = "val"
        split[parts["test"]] = "test"
    told = pd.DataFrame({"smiles": frame["smiles"], "y": frame[table.target], "split": split})
    with replace_atomically(path) as unfinished:
        told.to_csv(unfinished, index=False)
    return path
