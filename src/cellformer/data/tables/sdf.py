"""Structure-data files (SDF): a molecule in each record, and properties as columns."""

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from cellformer.basics.archives import one_line
from cellformer.chemistry.reasons import captured
from cellformer.data.tables.delimited import decoded

if TYPE_CHECKING:
    from cellformer.chemistry.listing import MoleculeRecord

END = "$$$$"
PROPERTY = re.compile(r"^>.*<", re.MULTILINE)
NO_ATOMS = "\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n"


def is_sdf(sample: str) -> bool:
    """Whether a text that begins like this is one."""
    lines = [line.rstrip() for line in sample.splitlines()]
    return END in lines or "M  END" in lines


def read_sdf(
    stream: io.BufferedIOBase, where: str, charset: str | None = None
) -> tuple[pd.DataFrame, dict[int, str], "dict[int, MoleculeRecord]"]:
    """A row for each record; why records have no molecule, and the atoms of others, by row.

    The first column, ``smiles``, is the molecule; ``name`` is the title line, where one is filled;
    the others are the properties, as texts, in the order in which they first occur. Raises
    ValueError, naming ``where``, for a file without records.
    """
    from cellformer.chemistry.listing import (
        MoleculeRecord,
        written_record,
    )  # RDKit is slow to import

    columns: dict[str, dict[int, str]] = {}
    smiles: list[str] = []
    names: list[str] = []
    faults: dict[int, str] = {}
    records: dict[int, MoleculeRecord] = {}
    for row, record in enumerate(_records(decoded(stream, where, charset))):
        molecule, reason = _molecule(record)
        text = ""
        if reason:
            faults[row] = reason
        else:
            text, records[row] = written_record(molecule, _raw(record))
        smiles.append(text)
        names.append(record.partition("\n")[0].strip())
        for name in molecule.GetPropNames() if molecule is not None else ():
            columns.setdefault(name, {})[row] = molecule.GetProp(name)
    if not smiles:
        raise ValueError(f"{where} holds no record of an SDF")
    told: dict[str, Any] = {"smiles": smiles}
    if any(names):
        told["name"] = names
    frame = pd.DataFrame(told, dtype=object)
    properties = {
        _free(name, told): pd.Series(cells, dtype=object).reindex(range(len(smiles)))
        for name, cells in columns.items()
    }
    return pd.concat([frame, pd.DataFrame(properties)], axis=1), faults, records


def _records(lines: Iterator[str]) -> Iterator[str]:
    record: list[str] = []
    for line in lines:
        if line.rstrip() == END:
            yield "".join(record)
            record = []
        else:
            record.append(line)
    if any(line.strip() for line in record):  # the end of the last one is often left out
        yield "".join(record)


def _molecule(record: str) -> tuple[Any, str]:
    """The molecule with its properties, and why it cannot be used, or an empty text."""
    from rdkit import Chem, rdBase

    from cellformer.chemistry.writing import check_written

    with rdBase.BlockLogs():
        try:
            molecule = _parsed(record)
            if molecule is not None:
                if molecule.GetNumAtoms() == 0:
                    return molecule, "the structure has no atoms"
                check_written(molecule)
                return molecule, ""
            raw = _parsed(record, sanitize=False)
            if raw is None:
                messages = captured(lambda: _parsed(record, sanitize=False))
                said = messages.partition("ERROR: ")[2].partition("\n")[0]
                reason = f"the structure cannot be read{f': {said}' if said else ''}"
            else:
                problems = Chem.DetectChemistryProblems(raw)
                reason = "the structure is not a valid molecule"
                reason += f": {problems[0].Message()}" if problems else ""
        except Exception as error:  # whatever RDKit raises says something of this record alone
            reason = f"RDKit fails on the structure: {one_line(error)}"
        try:
            return _parsed(NO_ATOMS + _properties(record), sanitize=False), reason
        except Exception:
            return None, reason


def _properties(record: str) -> str:
    """What a record says below its structure, also where that has no end."""
    header = sum(len(line) for line in record.splitlines(keepends=True)[:3])
    first = PROPERTY.search(record, header)
    return record[first.start() :] if first else ""


def _raw(record: str) -> Any:
    """A record that can be read, with all hydrogens that it has."""
    from rdkit import rdBase

    with rdBase.BlockLogs():
        return _parsed(record, sanitize=False)


def _parsed(record: str, sanitize: bool = True) -> Any:
    """What RDKit reads of one record; None where it cannot."""
    from rdkit import Chem

    supplier = Chem.SDMolSupplier()
    supplier.SetData(f"{record}{END}\n", sanitize, sanitize)
    return supplier[0] if len(supplier) else None


def _free(name: str, taken: dict[str, Any]) -> str:
    """The name, or one with a number where a column of ours, in any case, has it."""
    return f"{name}_2" if name.lower() in taken else name
