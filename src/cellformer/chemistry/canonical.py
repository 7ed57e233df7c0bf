"""One SMILES for each molecule."""


def canonical_smiles(smiles: str) -> str | None:
    """RDKit's canonical SMILES (see `written`); None if there is no valid molecule."""
    from rdkit import rdBase

    from cellformer.chemistry.reasons import one_reason
    from cellformer.chemistry.smiles import parse_smiles
    from cellformer.chemistry.writing import written

    try:
        with rdBase.BlockLogs(), one_reason(smiles):
            return written(parse_smiles(smiles))
    except ValueError:
        return None
