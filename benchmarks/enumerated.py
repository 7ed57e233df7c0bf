"""As many different molecules as are wanted, from those of ZINC by seeded changes of one atom.

First come the molecules themselves, in a random order; then, round by round, each with a hydrogen
of a carbon replaced by another group, its place and group drawn for the molecule. A molecule that
was there before, by its canonical SMILES, is left out.
"""

import csv
import gzip
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from rdkit import Chem

from benchmarks.timing import data_folder
from cellformer.basics.files import replace_atomically
from cellformer.data.splitting.molecule_keys import number_of

GROUPS = (6, 7, 8, 9, 17)
"""Methyl, amino, hydroxyl, fluorine and chlorine, by their atoms."""


def enumerated(bases: Sequence[str], seed: int = 0) -> Iterator[tuple[str, float]]:
    """Different molecules and a number to learn: which share of their heavy atoms is no carbon.

    They end where no molecule has a change left. Numbers of 64 bits tell which were there before.
    """
    seen: set[int] = set()
    order = np.random.default_rng(seed).permutation(len(bases)).tolist()
    changed, found = 0, True
    while found:
        found = False
        for base in order:
            molecule: Chem.Mol | None = Chem.MolFromSmiles(bases[base])
            if changed and molecule is not None:
                molecule = _changed(molecule, changed - 1, (seed, base))
            if molecule is None:
                continue
            found = True
            text = Chem.MolToSmiles(molecule)
            number = number_of(text)
            if number not in seen:
                seen.add(number)
                yield text, _share(molecule)
        changed += 1


def _changed(molecule: Chem.Mol, change: int, seed: tuple[int, int]) -> Chem.Mol | None:
    """The molecule after one of its changes, which are in a random order; None if it has fewer."""
    places = [
        (atom.GetIdx(), group)
        for atom in molecule.GetAtoms()
        if atom.GetAtomicNum() == 6 and atom.GetNumImplicitHs() and not atom.GetNumExplicitHs()
        and atom.GetChiralTag() == Chem.ChiralType.CHI_UNSPECIFIED
        for group in GROUPS
    ]  # fmt: skip
    if change >= len(places):
        return None
    place, group = places[np.random.default_rng(seed).permutation(len(places))[change]]
    larger = Chem.RWMol(molecule)
    larger.AddBond(place, larger.AddAtom(Chem.Atom(group)), Chem.BondType.SINGLE)
    Chem.SanitizeMol(larger)
    return larger


def _share(molecule: Chem.Mol) -> float:
    numbers = [atom.GetAtomicNum() for atom in molecule.GetAtoms()]
    return sum(number != 6 for number in numbers) / len(numbers)


def write_enumerated(table: Path, count: int) -> None:
    """A table of so many, made of ``zinc/zinc_full_smiles.csv.gz`` of `data_folder`.

    Raises ValueError where there are not so many.
    """
    source = data_folder() / "zinc" / "zinc_full_smiles.csv.gz"
    with gzip.open(source, "rt", encoding="utf-8", newline="") as lines:
        bases = [row["smiles"] for row in csv.DictReader(lines)]
    with (
        replace_atomically(table, durable=False) as unfinished,
        unfinished.open("w", encoding="utf-8") as file,
    ):
        file.write("smiles,share\n")
        made = 0
        for text, share in islice(enumerated(bases), count):
            file.write(f"{text},{share:.6f}\n")
            made += 1
        if made < count:
            raise ValueError(f"{source} gives {made} different molecules, not {count}")
