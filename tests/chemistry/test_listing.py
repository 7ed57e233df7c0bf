import numpy as np
import pandas as pd
import pytest
from rdkit import Chem

from cellformer.chemistry.listing import listing_of, written_record
from cellformer.complexes.graph import Graph


@pytest.mark.parametrize(
    ("smiles", "vertices", "edges"),
    [
        ("CCO", [0, 1, 2], [0, 1]),
        ("C1CC1 name", [0, 1, 2], [0, 1, 2]),  # bonds that close rings come last
        ("[H]C([H])([H])O[H]", [-1, 0, -1, -1, 1, -1], [-1, -1, -1, 0, -1]),
        ("C[2H]", [0, 1], [0]),  # an isotope is an atom of the graph
        ("[H][H]", [0, 1], [0]),
        ("[Na+].[Cl-]", [0, 1], []),
        ("CCO |$a;b;c$|", [0, 1, 2], [0, 1]),
    ],
)
def test_listed_atoms_and_bonds_are_found_in_the_graph(smiles, vertices, edges):
    listing = listing_of(smiles)
    assert listing.vertices.tolist() == vertices
    assert listing.edges.tolist() == edges
    graph = Graph.from_smiles(smiles)
    assert (listing.num_vertices, listing.num_edges) == (graph.num_vertices, graph.num_edges)


def elements(graph):
    return graph.vertex_features.discrete[:, 0] + 1


def test_every_bond_of_real_molecules_joins_its_atoms(real_data):
    texts = pd.read_csv(real_data / "extra/esol_delaney-processed.csv.gz")["smiles"][::25]
    for text in texts:
        with_hydrogens = Chem.AddHs(Chem.MolFromSmiles(text))
        written = Chem.MolToSmiles(with_hydrogens, allHsExplicit=True)
        for smiles in (text, written):
            listing, graph = listing_of(smiles), Graph.from_smiles(smiles)
            listed = Chem.MolFromSmiles(smiles, sanitize=False)
            numbers = np.array([atom.GetAtomicNum() for atom in listed.GetAtoms()])
            kept = listing.vertices >= 0
            np.testing.assert_array_equal(numbers[kept], elements(graph)[listing.vertices[kept]])
            assert (numbers[~kept] == 1).all()
            for bond, edge in zip(listed.GetBonds(), listing.edges.tolist(), strict=True):
                ends = listing.vertices[[bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()]]
                assert edge < 0 or sorted(ends) == graph.edges[edge].tolist()


def test_a_record_keeps_the_order_of_its_atoms_and_hydrogens():
    raw = Chem.AddHs(Chem.MolFromSmiles("OC(=O)c1ccccc1"))
    smiles, record = written_record(Chem.RemoveHs(raw), raw)
    assert smiles == "O=C(O)c1ccccc1"
    listing, graph = listing_of(smiles, record), Graph.from_smiles(smiles)
    assert len(listing.vertices) == 15
    assert (listing.vertices[9:] == -1).all()
    assert elements(graph)[listing.vertices[:9]].tolist() == [8, 6, 8, 6, 6, 6, 6, 6, 6]
    single = listing.edges[raw.GetBondBetweenAtoms(0, 1).GetIdx()]
    double = listing.edges[raw.GetBondBetweenAtoms(1, 2).GetIdx()]
    assert graph.edge_features.discrete[[single, double], 0].tolist() == [0, 1]


def test_what_has_no_order_of_atoms_is_refused():
    with pytest.raises(ValueError, match="no order of atoms to list values in; write it as SMILES"):
        listing_of("InChI=1S/CH4/h1H4")
    with pytest.raises(ValueError, match="not a SMILES"):
        listing_of("nonsense")
