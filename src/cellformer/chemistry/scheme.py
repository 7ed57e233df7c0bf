"""Which features the atoms and bonds of a molecule get."""

from typing import Literal, TypeAlias

MoleculeScheme: TypeAlias = Literal["standard", "ogb", "zinc"]
"""Which features the atoms and bonds of a molecule get, see `Graph.from_smiles`."""
