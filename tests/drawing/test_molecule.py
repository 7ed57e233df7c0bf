import numpy as np
import pytest

from cellformer.chemistry.smiles import in_graph_order
from cellformer.chemistry.zinc_types import ATOM_TYPES
from cellformer.complexes.graph import Graph
from cellformer.drawing.molecule import atom_symbols, molecule_positions


@pytest.mark.parametrize("smiles", ["c1ccc2ccccc2c1", "CC(=O)Nc1ccc(O)cc1"])
def test_atoms_are_placed_in_the_order_of_the_graph(smiles):
    graph = Graph.from_smiles(smiles)
    points = molecule_positions(smiles)
    assert points.shape == (graph.num_vertices, 2)
    lengths = np.linalg.norm(points[graph.edges[:, 0]] - points[graph.edges[:, 1]], axis=1)
    np.testing.assert_allclose(lengths, 1.5, atol=0.05)
    np.testing.assert_array_equal(molecule_positions(smiles), points)


@pytest.mark.parametrize(("smiles", "atoms"), [("C", 1), ("[Na+].[Cl-]", 2)])
def test_single_atoms_and_salts_are_placed(smiles, atoms):
    points = molecule_positions(smiles)
    assert len(np.unique(points, axis=0)) == atoms


def test_a_bad_molecule_is_refused():
    with pytest.raises(ValueError, match="not a SMILES string"):
        molecule_positions("C1CC")


@pytest.mark.parametrize("smiles", ["OC(=O)c1ccccc1OC(C)=O", "[NH3+]CC(=O)N", "C1CC1C(Br)C#N"])
def test_atoms_are_drawn_where_the_graph_has_them_whatever_their_order(smiles):
    """The types of ZINC-12k come in another order than the atoms of the SMILES."""
    graph = Graph.from_smiles(smiles, scheme="zinc")
    drawn = in_graph_order(smiles, "zinc")
    types = [ATOM_TYPES[number] for number in graph.vertex_features.discrete[:, 0]]
    assert atom_symbols(drawn) == [kind.split()[0] for kind in types]
    assert atom_symbols(smiles) != atom_symbols(drawn)
    points = molecule_positions(drawn)
    lengths = np.linalg.norm(points[graph.edges[:, 0]] - points[graph.edges[:, 1]], axis=1)
    np.testing.assert_allclose(lengths, 1.5, atol=0.1)  # bonds of RDKit's formulas
    assert in_graph_order(smiles, "standard") == smiles
