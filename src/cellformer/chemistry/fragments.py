"""The fragments of a molecule: its parts that no bond joins, such as the ions of a salt."""

from typing import Literal, TypeAlias

Fragments: TypeAlias = Literal["all", "largest"]
"""Which fragments of a molecule count: all, or the largest one without salts and solvents."""


def largest_fragment(smiles: str) -> str:
    """The SMILES of the largest fragment; the very text where there is one, or no molecule.

    The largest has the most atoms, hydrogens included; of equally many the heaviest is taken, then
    the first by its SMILES (RDKit's ``LargestFragmentChooser``). Its charge is kept. Raises
    ValueError where RDKit fails to choose, and for a molecule too large to be written.
    """
    if "." not in smiles:
        return smiles
    from rdkit import Chem, rdBase
    from rdkit.Chem.MolStandardize import rdMolStandardize

    from cellformer.chemistry.reasons import one_reason
    from cellformer.chemistry.smiles import parse_smiles
    from cellformer.chemistry.writing import check_written, written

    try:
        molecule = parse_smiles(smiles)
    except ValueError:
        return smiles
    with rdBase.BlockLogs(), one_reason(smiles):
        if len(Chem.GetMolFrags(molecule)) < 2:
            return smiles
        check_written(molecule)
        return written(rdMolStandardize.LargestFragmentChooser().choose(molecule))
