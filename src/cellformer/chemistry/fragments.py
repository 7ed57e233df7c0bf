"""The fragments of a molecule: its parts that no bond joins, such as the ions of a salt."""

from typing import Literal, TypeAlias

Fragments: TypeAlias = Literal["all", "largest"]
"""Which fragments of a molecule count: all, or the largest one without salts and solvents."""


def largest_fragment(smiles: str) -> str:
    """The SMILES of the largest fragment; the very text where there is one, or no molecule.

    The largest has the most atoms, hydrogens included; of equally many the heaviest is taken, then
    the first by its SMILES (RDKit's ``LargestFragmentChooser``). Its charge is kept.
    """
    if "." not in smiles:
        return smiles
    from rdkit import Chem, rdBase
    from rdkit.Chem.MolStandardize import rdMolStandardize

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None or len(Chem.GetMolFrags(molecule)) < 2:
            return smiles
        chosen: str = Chem.MolToSmiles(rdMolStandardize.LargestFragmentChooser().choose(molecule))
    return chosen
