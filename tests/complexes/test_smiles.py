import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from cellformer.complexes.smiles import (
    ATOM_CATEGORIES,
    BOND_CATEGORIES,
    atoms_and_bonds,
    parse_smiles,
)


@pytest.mark.parametrize(
    ("smiles", "atoms", "bonds"),
    [
        ("C", 1, 0),
        ("[Na+].[Cl-]", 2, 0),
        ("c1ccc2ccccc2c1", 10, 11),
        ("CCO", 3, 2),
        ("[2H]C", 2, 1),
        ("*C", 2, 1),
    ],
)
def test_any_molecule_has_atoms_and_bonds(smiles, atoms, bonds):
    atom_features, pairs, bond_features = atoms_and_bonds(smiles)
    assert atom_features.shape == (atoms, 9)
    assert pairs.shape == (bonds, 2)
    assert bond_features.shape == (bonds, 3)


def test_features_are_those_of_the_published_scheme():
    atoms, pairs, bonds = atoms_and_bonds("C[C@H](N)C#[N+]/C=C/c1ccccc1")
    # atomic number - 1, chirality, degree, charge + 5, hydrogens, radicals, sp..., aromatic, ring
    assert atoms[0].tolist() == [5, 0, 4, 5, 3, 0, 2, 0, 0]
    assert atoms[1, 1] in (1, 2)
    assert atoms[4].tolist() == [6, 0, 2, 6, 0, 0, 0, 0, 0]
    assert atoms[-1].tolist() == [5, 0, 3, 5, 1, 0, 1, 1, 1]
    by_pair = {tuple(pair): row for pair, row in zip(pairs.tolist(), bonds.tolist(), strict=True)}
    assert by_pair[(3, 4)] == [2, 0, 1]
    assert by_pair[(5, 6)] == [1, 2, 1]
    assert by_pair[(7, 8)] == [3, 0, 1]


def test_the_unusual_falls_into_the_last_category():
    assert atoms_and_bonds("*")[0][0, 0] == 118
    assert atoms_and_bonds("[Fe+6]")[0][0, 3] == 11
    assert atoms_and_bonds("[NH3]->[Fe]")[2][0, 0] == 4


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("", "the SMILES is empty"),
        ("   ", "the SMILES is empty"),
        ("C1CC", "'C1CC' is not a SMILES string"),
        ("hello", "'hello' is not a SMILES string"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C, 5, is greater than permitted"),
        ("c1cccc1", "Can't kekulize mol"),
    ],
)
def test_bad_molecules_are_refused_with_the_reason(smiles, reason, capfd):
    with pytest.raises(ValueError, match=reason):
        parse_smiles(smiles)
    assert capfd.readouterr().err == ""  # RDKit's own complaint does not reach the terminal


@pytest.mark.skipif(
    "CELLFORMER_DATA" not in os.environ, reason="CELLFORMER_DATA names no folder of real data"
)
def test_features_of_molhiv_are_the_stored_ones():
    folder = Path(os.environ["CELLFORMER_DATA"]) / "molhiv"
    stored = np.load(folder / "molhiv_graphs.npz")
    atoms_before = np.concatenate([[0], stored["num_nodes"].cumsum()])
    bonds_before = np.concatenate([[0], stored["num_edges"].cumsum()])
    node_feat, edge_feat, edge_index = (
        stored[name] for name in ("node_feat", "edge_feat", "edge_index")
    )
    with gzip.open(folder / "molhiv.csv.gz", "rt") as lines:
        molecules = [row["smiles"] for row in csv.DictReader(lines)]
    refused = {137, 987, 12882, 18293, 30784, 30785, 35728}  # by newer versions of RDKit
    different = total = 0
    for row in range(0, len(molecules), 40):
        if row in refused:
            continue
        atoms, pairs, bonds = atoms_and_bonds(molecules[row])
        own_atoms = slice(atoms_before[row], atoms_before[row + 1])
        own_bonds = slice(bonds_before[row], bonds_before[row + 1])
        np.testing.assert_array_equal(pairs, edge_index[:, own_bonds].T)
        different += (atoms != node_feat[own_atoms]).sum() + (bonds != edge_feat[own_bonds]).sum()
        total += atoms.size + bonds.size
        assert (atoms < ATOM_CATEGORIES).all()
        assert (bonds < BOND_CATEGORIES).all()
    assert total > 200_000
    assert different < 0.001 * total
