"""The tables of molecules, and which of them choices may be made by.

Named before the first trial: whatever is chosen is chosen by the development group, and the
judging group is looked at once, afterwards. ESOL, FreeSolv and CHEMBL264_Ki had been looked at
before, so they develop; the other tables of MoleculeACE with up to 1,400 rows, in the order of
their number of rows, belong to the two groups in turn.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class MoleculeTable:
    """A file with molecules and the column to learn.

    Those of MoleculeACE bring their test rows; the others are split at random, by the seed.
    """

    file: str
    target: str = "y"


def _ace(name: str) -> MoleculeTable:
    return MoleculeTable(f"{name}.csv")


DEVELOPMENT = {
    "ESOL": MoleculeTable(
        "esol_delaney-processed.csv.gz", "measured log solubility in mols per litre"
    ),
    "FreeSolv": MoleculeTable("freesolv.csv.gz", "expt"),
    "CHEMBL264_Ki": _ace("CHEMBL264_Ki"),
    "CHEMBL1871_Ki": _ace("CHEMBL1871_Ki"),
    "CHEMBL4203_Ki": _ace("CHEMBL4203_Ki"),
    "CHEMBL1862_Ki": _ace("CHEMBL1862_Ki"),
    "CHEMBL237_EC50": _ace("CHEMBL237_EC50"),
    "CHEMBL231_Ki": _ace("CHEMBL231_Ki"),
    "CHEMBL218_EC50": _ace("CHEMBL218_EC50"),
    "CHEMBL3979_EC50": _ace("CHEMBL3979_EC50"),
}

JUDGING = {
    "Lipophilicity": MoleculeTable("lipophilicity.csv.gz", "exp"),
    "CHEMBL2047_EC50": _ace("CHEMBL2047_EC50"),
    "CHEMBL2835_Ki": _ace("CHEMBL2835_Ki"),
    "CHEMBL4616_EC50": _ace("CHEMBL4616_EC50"),
    "CHEMBL2034_Ki": _ace("CHEMBL2034_Ki"),
    "CHEMBL262_Ki": _ace("CHEMBL262_Ki"),
    "CHEMBL4005_Ki": _ace("CHEMBL4005_Ki"),
    "CHEMBL2971_Ki": _ace("CHEMBL2971_Ki"),
    "CHEMBL238_Ki": _ace("CHEMBL238_Ki"),
    "CHEMBL287_Ki": _ace("CHEMBL287_Ki"),
}

TABLES = DEVELOPMENT | JUDGING
