import csv
import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from cellformer.chemistry.bonds import bonds_of
from cellformer.chemistry.smiles import (
    ATOM_CATEGORIES,
    BOND_CATEGORIES,
    CHIRALITY,
    STEREO,
    atoms_and_bonds,
    parse_smiles,
)
from cellformer.chemistry.zinc_types import ATOM_TYPES


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
    by_order, _, _ = atoms_and_bonds("C[C@H](N)C#[N+]/C=C/c1ccccc1", "ogb")
    assert by_order[1, 1] == 2  # counterclockwise, as written
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


def stored(real_data, file, *names):
    arrays = np.load(real_data / file)
    return [arrays[name] for name in names]


def rows_of(counts):
    ends = np.concatenate([[0], np.cumsum(counts, dtype=int)])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def smiles_in(file):
    with gzip.open(file, "rt") as lines:
        return [row["smiles"] for row in csv.DictReader(lines)]


def test_features_of_molhiv_are_the_stored_ones(real_data):
    nodes, edges, node_feat, edge_feat, edge_index = stored(
        real_data, "molhiv/molhiv_graphs.npz",
        "num_nodes", "num_edges", "node_feat", "edge_feat", "edge_index",
    )  # fmt: skip
    atom_rows, bond_rows = rows_of(nodes), rows_of(edges)
    molecules = smiles_in(real_data / "molhiv/molhiv.csv.gz")
    refused = {137, 987, 12882, 18293, 30784, 30785, 35728}  # by newer versions of RDKit
    different = total = 0
    for row in range(0, len(molecules), 40):
        if row in refused:
            continue
        atoms, pairs, bonds = atoms_and_bonds(molecules[row], "ogb")
        np.testing.assert_array_equal(pairs, edge_index[:, bond_rows[row]].T)
        different += (atoms != node_feat[atom_rows[row]]).sum()
        different += (bonds != edge_feat[bond_rows[row]]).sum()
        total += atoms.size + bonds.size
        assert (atoms < ATOM_CATEGORIES).all()
        assert (bonds < BOND_CATEGORIES).all()
    assert total > 200_000
    assert different < 0.001 * total


def test_features_of_zinc_are_the_stored_ones_without_exception(real_data):
    nodes, edges, node_type, edge_type, edge_index = stored(
        real_data, "zinc/zinc12k_graphs.npz",
        "num_nodes", "num_edges", "node_type", "edge_type", "edge_index",
    )  # fmt: skip
    atom_rows, bond_rows = rows_of(nodes), rows_of(edges)
    molecules = smiles_in(real_data / "zinc/zinc12k.csv.gz")
    for row in range(0, len(molecules), 12):
        atoms, pairs, bonds = atoms_and_bonds(molecules[row], "zinc")
        np.testing.assert_array_equal(atoms[:, 0], node_type[atom_rows[row]])
        ours = {tuple(sorted(p)): b for p, b in zip(pairs.tolist(), bonds[:, 0], strict=True)}
        ends = edge_index[:, bond_rows[row]].T.tolist()
        theirs = {tuple(sorted(p)): b for p, b in zip(ends, edge_type[bond_rows[row]], strict=True)}
        assert ours == theirs


def test_zinc_types_follow_the_published_dictionary():
    atoms, _, bonds = atoms_and_bonds("C[C@H](N)C(=O)[O-]", "zinc")
    names = [ATOM_TYPES[number] for number in atoms[:, 0]]
    assert sorted(names) == ["C", "C", "C H1", "N", "O", "O -"]
    assert sorted(bonds[:, 0].tolist()) == [1, 1, 1, 1, 2]
    pyrrole, _, bonds = atoms_and_bonds("c1cc[nH]c1", "zinc")
    assert "N" in [ATOM_TYPES[number] for number in pyrrole[:, 0]]  # no bracket in Kekule form
    assert sorted(bonds[:, 0].tolist()) == [1, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="'Si', which ZINC-12k has not"):
        atoms_and_bonds("C[Si](C)(C)C", "zinc")
    with pytest.raises(ValueError, match="which ZINC-12k has not"):
        atoms_and_bonds("[N+3]", "zinc")


ISOMERS = [
    "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "F/C=C/F", "F/C=C\\F", "C[C@H]1CC[C@@H](C)CC1",
    "C[C@H]1CC[C@H](C)CC1", "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O", "C/C=C/C=C\\C",
    "C[C@@H]1CC[C@H]2[C@@H](C)C(=O)O[C@@H]3O[C@@]4(C)CC[C@@H]1[C@]23OO4",
    "C[S@](=O)c1ccccc1", "N/C(C)=N/O",
    "CC[C@@](C)(O)[C@H](F)Cl", "C[P@](CC)c1ccccc1", "C[C@H](O)[C@@H](O)[C@@H](C)O",
]  # fmt: skip


def as_a_multiset(smiles, scheme="standard"):
    """Atoms with their bonds and neighbors, in no order."""
    atoms, pairs, bonds = atoms_and_bonds(smiles, scheme)
    edges = []
    for (a, b), bond in zip(pairs.tolist(), bonds.tolist(), strict=True):
        edges.append((*sorted([tuple(atoms[a]), tuple(atoms[b])]), tuple(bond)))
    return sorted(map(tuple, atoms.tolist())), sorted(edges)


def shuffled(smiles, seed):
    molecule = Chem.MolFromSmiles(smiles)
    order = np.random.default_rng(seed).permutation(molecule.GetNumAtoms()).tolist()
    return Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)


@pytest.mark.parametrize("smiles", ISOMERS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_standard_features_do_not_depend_on_the_order_of_the_atoms(smiles, seed):
    assert as_a_multiset(shuffled(smiles, seed)) == as_a_multiset(smiles)


def test_standard_features_tell_stereoisomers_apart():
    for one, other in [(0, 1), (2, 3), (4, 5)]:
        assert as_a_multiset(ISOMERS[one]) != as_a_multiset(ISOMERS[other])
    # OGB's do depend on it: the reason for the standard ones.
    orders = {str(as_a_multiset(shuffled(ISOMERS[0], seed), "ogb")) for seed in range(20)}
    assert len(orders) == 2


def test_standard_features_of_real_molecules_do_not_depend_on_the_order(real_data):
    molecules = smiles_in(real_data / "extra/lipophilicity.csv.gz")
    for row in range(0, len(molecules), 30):
        for seed in range(3):
            assert as_a_multiset(shuffled(molecules[row], seed)) == as_a_multiset(molecules[row])


def test_standard_and_ogb_features_differ_in_stereochemistry_alone():
    for smiles in ISOMERS:
        ours, pairs, bonds = atoms_and_bonds(smiles)
        theirs, same_pairs, their_bonds = atoms_and_bonds(smiles, "ogb")
        np.testing.assert_array_equal(pairs, same_pairs)
        np.testing.assert_array_equal(
            np.delete(ours, CHIRALITY, 1), np.delete(theirs, CHIRALITY, 1)
        )
        np.testing.assert_array_equal(np.delete(bonds, STEREO, 1),
                                      np.delete(their_bonds, STEREO, 1))  # fmt: skip
        assert (ours < ATOM_CATEGORIES).all()
        assert (bonds < BOND_CATEGORIES).all()


@pytest.mark.parametrize(
    "smiles",
    [
        "[H]C([H])([H])/C=C/[H]", "[H]/C(F)=C(/[H])Cl", "[H][C@](F)(Cl)Br", "[H]/N=C(/C)F",
        "[H]N=C(C)F", "[2H]C", "[H][H]", "[H]", "C~C", "CC(C)=NO", "C[C@@H]1CC[C@H](C)CC1",
        "O=C1CCCCCCC=C1", "[NH3]->[Fe]", "C[N+](=O)[O-]", "F/C=C/F name", "CC=CC |t:1|",
        "CC=CC |c:1|", "CC=CC |w:1.1|", "C[C@H](F)Cl |&1:1|", "CC(F)Cl |wU:1.0|", "CCO |^1:0|",
    ],
)  # fmt: skip
def test_molecules_are_those_of_rdkits_own_reader(smiles):
    def told(molecule):
        return (
            Chem.MolToCXSmiles(molecule),
            [(atom.GetChiralTag(), atom.GetTotalNumHs()) for atom in molecule.GetAtoms()],
            [(bond.GetStereo(), bond.GetBondType()) for bond in molecule.GetBonds()],
        )

    assert told(parse_smiles(smiles)) == told(Chem.MolFromSmiles(smiles))


def test_large_molecules_get_fewer_steps_for_their_labels(monkeypatch):
    from cellformer.chemistry import stereo

    steps = []

    def assign(_, maxRecursiveIterations):
        steps.append(maxRecursiveIterations)

    monkeypatch.setattr(stereo.rdCIPLabeler, "AssignCIPLabels", assign)
    for count in (100, 4_000):
        molecule = parse_smiles("C[C@H](F)Cl" + "." + "C" * (count - 4))
        stereo.stereo_labels(molecule, list(molecule.GetAtoms()), bonds_of(molecule))
    assert steps == [stereo.MAX_STEPS, stereo.MAX_STEPS // 2]
