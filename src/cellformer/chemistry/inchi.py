"""Molecules that are given as InChI, by the library of the InChI Trust in RDKit."""

BEGINNING = "InChI="


def smiles_of_inchi(text: str) -> str:
    """RDKit's SMILES of an InChI; raises ValueError, in one line, where there is none."""
    from rdkit import rdBase
    from rdkit.Chem import rdinchi

    from cellformer.chemistry.limits import check_text
    from cellformer.chemistry.reasons import one_reason, quoted
    from cellformer.chemistry.writing import written

    check_text(text)
    with rdBase.BlockLogs(), one_reason(text):
        molecule, _, message, log = rdinchi.InchiToMol(text.strip(), True, True)
        if molecule is None or not molecule.GetNumAtoms():
            said = " ".join((message or log or "it is damaged").split())
            raise ValueError(f"{quoted(text)} is an InChI without a molecule: {said}")
        return written(molecule)
