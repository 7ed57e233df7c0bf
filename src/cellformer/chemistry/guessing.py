"""Whether texts are SMILES, where nobody has said so."""

import statistics
from collections.abc import Iterable

from rdkit import Chem, rdBase

LONGEST = 1000
"""Characters; nothing longer is looked at."""
FEWEST_TEXTS, FEWEST_ATOMS, SHARE = 3, 3, 0.9
"""Codes of countries and elements are SMILES too, of one or two atoms."""


def are_smiles(texts: Iterable[str]) -> bool:
    """Whether nearly all of the different texts can be read as SMILES, most of some atoms."""
    different = set(texts) - {""}
    with rdBase.BlockLogs():
        sizes = [size for size in map(_atoms, different) if size]
    enough = len(different) >= FEWEST_TEXTS and len(sizes) >= SHARE * len(different)
    return enough and statistics.median(sizes) >= FEWEST_ATOMS


def _atoms(text: str) -> int:
    """How many atoms a text names; 0 where it is no SMILES."""
    if len(text) > LONGEST or any(map(str.isspace, text)):
        return 0
    molecule = Chem.MolFromSmiles(text, sanitize=False)
    return 0 if molecule is None else molecule.GetNumAtoms()
