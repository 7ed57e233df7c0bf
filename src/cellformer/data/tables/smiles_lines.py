"""Lines of SMILES, each perhaps with a name behind it (.smi)."""

import re
from collections.abc import Iterable

import pandas as pd

USUAL = ("smiles", "smi", "canonical_smiles", "isomeric_smiles", "structure")
"""How the first column of a line of names is called."""
_LOOKED_AT = 20


def is_smiles_lines(sample: str) -> bool:
    """Whether a text that begins like this is one: its first line, and most, begin with a SMILES.

    So is one whose first line names columns, that of the SMILES first, with blanks between them.
    """
    filled = list(_filled(sample.splitlines()))[:_LOOKED_AT]
    names = filled[0] if filled else ""
    named = names.partition(" ")[0].lower() in USUAL
    if named and " " in names.strip() and not re.search(r"[,;\t]", names):
        return True
    firsts = [_parts(line)[0] for line in filled]
    read = [_is_smiles(first) for first in firsts]
    return bool(read) and read[0] and sum(read) > len(read) / 2


def read_smiles_lines(lines: Iterable[str], where: str) -> pd.DataFrame:
    """Columns ``smiles`` and, where a line has one, ``name``; or those that a first line names.

    Blank lines and those that begin with # are no rows. Raises ValueError, naming ``where``, where
    there are no others.
    """
    filled = list(_filled(lines))
    if not filled:
        raise ValueError(f"{where} is empty; a line with a SMILES is needed")
    header = filled[0].split("\t") if "\t" in filled[0] else filled[0].split()
    if header[0].strip().lower() in USUAL:
        names = [name.strip() for name in header]
        rows = [_cells(line, len(names)) for line in filled[1:]]
        return pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object)
    parts = [_parts(line) for line in filled]
    frame = pd.DataFrame({"smiles": [smiles for smiles, _ in parts]}, dtype=object)
    if any(name for _, name in parts):
        frame["name"] = pd.Series([name or None for _, name in parts], dtype=object)
    return frame


def _filled(lines: Iterable[str]) -> Iterable[str]:
    return (line for line in lines if line.strip() and not line.startswith("#"))


def _parts(line: str) -> tuple[str, str]:
    """The SMILES, with its extension between bars, and what stands behind it."""
    found = re.match(r"\s*(\S+(?:\s+\|[^|]*\|)?)\s*(.*)", line.rstrip("\r\n"))
    assert found is not None  # the line is not blank
    return found[1], found[2].strip()


def _cells(line: str, count: int) -> list[str | None]:
    text = line.rstrip("\r\n")
    cells = text.split("\t", count - 1) if "\t" in text else text.split(None, count - 1)
    return [*(cell.strip() for cell in cells), *[None] * (count - len(cells))]


def _is_smiles(text: str) -> bool:
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(text, sanitize=False)
    return molecule is not None and molecule.GetNumAtoms() > 0
