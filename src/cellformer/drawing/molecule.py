"""Where chemists draw the atoms of a molecule, and what they write there."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from rdkit import rdBase
from rdkit.Chem import rdDepictor

from cellformer.chemistry.bonds import bonds_of
from cellformer.chemistry.limits import MAX_DRAWN_ATOMS, MAX_DRAWN_RINGS
from cellformer.chemistry.reasons import one_reason, quoted
from cellformer.chemistry.smiles import parse_smiles
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends


def molecule_positions(smiles: str) -> Float64[np.ndarray, "atom 2"]:
    """RDKit's coordinates of a structural formula, in the atom order of `Graph.from_smiles`.

    The unit is RDKit's (a bond is 1.5 long). Raises ValueError if the SMILES is not valid or has
    more than 1,000 atoms or 2,000 rings.
    """
    molecule = parse_smiles(smiles)
    atoms, rings = molecule.GetNumAtoms(), molecule.GetRingInfo().NumRings()
    if atoms > MAX_DRAWN_ATOMS or rings > MAX_DRAWN_RINGS:
        raise ValueError(
            f"{quoted(smiles)} has {atoms:,} atoms and {rings:,} rings; structural formulas are "
            f"drawn of up to {MAX_DRAWN_ATOMS:,} and {MAX_DRAWN_RINGS:,}"
        )
    with rdBase.BlockLogs(), one_reason(smiles):
        rdDepictor.Compute2DCoords(molecule)
        return np.array(molecule.GetConformer().GetPositions()[:, :2], np.float64)


def atom_symbols(smiles: str) -> list[str]:
    """The element of every heavy atom, in the same order; ValueError if the SMILES is not valid."""
    return [atom.GetSymbol() for atom in parse_smiles(smiles).GetAtoms()]


def bond_orders(smiles: str, cells: CellComplex) -> list[float]:
    """1, 2 or 3 for every edge of a molecule's complex, 1.5 for an aromatic bond.

    Edges that are no bonds count as single ones. Raises ValueError if the SMILES is not valid.
    """
    molecule = parse_smiles(smiles)
    known = {
        frozenset((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())): bond.GetBondTypeAsDouble()
        for bond in bonds_of(molecule)
    }
    return [known.get(frozenset(pair), 1.0) for pair in edge_ends(cells).tolist()]


def hetero_labels(symbols: Sequence[str]) -> list[str]:
    """What a structural formula writes: every element but carbon."""
    return ["" if symbol == "C" else symbol for symbol in symbols]
