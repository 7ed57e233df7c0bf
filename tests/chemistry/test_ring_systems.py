import networkx as nx
import pytest
from rdkit import Chem

from cellformer.chemistry.ring_systems import check_rings, shortest_rings
from cellformer.chemistry.smiles import parse_smiles


def hoop(units):
    """A macrocycle through that many para-rings."""
    return "C%10" + "Cc1ccc(cc1)" * units + "C%10"


def rings_of(molecule):
    return molecule.GetRingInfo().NumRings()  # of a molecule that somebody holds


def bonds_of(smiles):
    molecule = Chem.MolFromSmiles(smiles, sanitize=False)
    return [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]


def molecule_of(graph):
    molecule = Chem.RWMol()
    number = {vertex: molecule.AddAtom(Chem.Atom(6)) for vertex in graph}
    for a, b in graph.edges:
        molecule.AddBond(number[a], number[b], Chem.BondType.SINGLE)
    return molecule


@pytest.mark.parametrize("units", [3, 5, 8])
def test_the_shortest_rings_of_a_hoop_are_about_those_that_rdkit_lists(units):
    listed = rings_of(Chem.MolFromSmiles(hoop(units)))
    assert listed >= 2**units
    assert listed / 2 <= shortest_rings(bonds_of(hoop(units))) <= listed


@pytest.mark.parametrize(
    ("graph", "rings"),
    [
        (nx.cycle_graph(7), 1),
        (nx.path_graph(4), 0),
        (nx.ladder_graph(30), 29),
        (nx.complete_bipartite_graph(2, 5), 1 + 2 + 3 + 4),
        (nx.complete_graph(4), 0),  # a cage
        (nx.dodecahedral_graph(), 0),
    ],
)
def test_rings_through_pairs_of_atoms_are_counted(graph, rings):
    assert shortest_rings(graph.edges) == rings


def test_a_hoop_whose_rings_would_fill_the_memory_is_refused():
    for units in (16, 20, 60):
        with pytest.raises(ValueError, match=r"^'C%10.*equally short rings") as error:
            parse_smiles(hoop(units))
        assert len(str(error.value).splitlines()) == 1
    assert rings_of(parse_smiles(hoop(10))) > 1024


def test_a_lattice_that_would_take_minutes_is_refused_and_one_of_seconds_is_not():
    with pytest.raises(ValueError, match=r"it: a ring system has 3,\d+ atoms"):
        check_rings(molecule_of(nx.hexagonal_lattice_graph(40, 40)), 1, "it")
    check_rings(molecule_of(nx.hexagonal_lattice_graph(25, 25)), 1, "it")
    check_rings(molecule_of(nx.cycle_graph(10_000)), 1, "it")


def test_many_small_ring_systems_are_no_large_one():
    check_rings(molecule_of(nx.disjoint_union_all([nx.complete_graph(4)] * 500)), 500, "it")
    assert rings_of(parse_smiles("C1CCCCC1" * 200)) == 200


def test_cages_are_no_hoops():
    assert rings_of(parse_smiles("C12C3C4C1C5C2C3C45")) == 6  # cubane
