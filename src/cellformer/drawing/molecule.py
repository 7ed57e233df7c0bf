"""Where chemists draw the atoms of a molecule."""

import numpy as np
from jaxtyping import Float64
from rdkit.Chem import rdDepictor

from cellformer.complexes.smiles import parse_smiles


def molecule_positions(smiles: str) -> Float64[np.ndarray, "atom 2"]:
    """RDKit's coordinates of a structural formula, in the atom order of `Graph.from_smiles`.

    The unit is RDKit's (a bond is 1.5 long). Raises ValueError if the SMILES is not valid.
    """
    molecule = parse_smiles(smiles)
    rdDepictor.Compute2DCoords(molecule)
    return np.array(molecule.GetConformer().GetPositions()[:, :2], np.float64)
