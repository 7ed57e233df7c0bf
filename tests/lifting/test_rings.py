import itertools
import os

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem, RDConfig

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.relabel import permute_graph
from cellformer.lifting.lift import LiftingLimitError
from cellformer.lifting.rings import Rings
from strategies import assert_same_complex, graphs

CAGES = {
    "cubane": ("C12C3C4C1C5C2C3C45", [4] * 6),
    "cubane again": ("C12C3C4C5C3C1C5C24", None),
    "adamantane": ("C1C2CC3CC1CC(C2)C3", [6] * 4),
    "norbornane": ("C1CC2CCC1C2", [5, 5]),
    "bicyclooctane": ("C1CC2CCC1CC2", [6] * 3),
    "prismane": ("C12C3C4C1C1C2C3C41", None),
    "naphthalene": ("c1ccc2ccccc2c1", [6, 6]),
    "spiro": ("C1CCC2(CC1)CCCC2", [5, 6]),
    "salt": ("[Na+].[Cl-]", []),
    "atom": ("C", []),
    "paracyclophane": ("C1Cc2ccc(cc2)CCc2ccc1cc2", [6, 6, 12, 12, 12, 12]),
    "porphine": ("c1cc2cc3ccc([nH]3)cc3ccc(cc4ccc([nH]4)cc1n2)n3", [5] * 4 + [16]),
}


def relevant_cycles(network):
    """By definition: the cycles that are no sum, over GF(2), of shorter ones."""
    number = {frozenset(edge): i for i, edge in enumerate(network.edges)}
    cycles = sorted(nx.simple_cycles(network), key=len)
    basis = {}  # from the highest bit of a vector to the vector

    def rest(vector):
        while vector and (row := basis.get(vector.bit_length())):
            vector ^= row
        return vector

    relevant = []
    for _, group in itertools.groupby(cycles, key=len):
        vectors = []
        for cycle in group:
            sides = zip(cycle, cycle[1:] + cycle[:1], strict=True)
            vector = sum(1 << number[frozenset(side)] for side in sides)
            if rest(vector):
                relevant.append(frozenset(side for side, i in number.items() if vector >> i & 1))
                vectors.append(vector)
        for vector in vectors:
            if remainder := rest(vector):
                basis[remainder.bit_length()] = remainder
    return relevant


def edge_sets(graph, cells):
    faces = cells.boundary(2)
    return [
        frozenset(frozenset(ends) for ends in graph.edges[faces.indices[a:b]].tolist())
        for a, b in itertools.pairwise(faces.indptr)
    ]


def bare_molecule(graph):
    molecule = Chem.RWMol()
    for _ in range(graph.num_vertices):
        molecule.AddAtom(Chem.Atom(0))
    for low, high in graph.edges.tolist():
        molecule.AddBond(low, high, Chem.BondType.SINGLE)
    return molecule


def rdkit_rings(graph):
    return sorted(tuple(sorted(ring)) for ring in Chem.GetSymmSSSR(bare_molecule(graph)))


def nci_molecules():
    with open(os.path.join(RDConfig.RDDataDir, "NCI", "first_5K.smi")) as lines:
        for line in lines:
            molecule = Chem.MolFromSmiles(line.split()[0], sanitize=False)
            bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()]
            yield Graph.from_edges(
                np.array(bonds, np.int64).reshape(-1, 2), molecule.GetNumAtoms(), name=line.strip()
            )


@settings(deadline=None, max_examples=50)
@given(graph=graphs(max_vertices=8))
def test_the_faces_are_the_relevant_cycles_by_definition(graph, to_networkx):
    found = edge_sets(graph, Rings()(graph))
    assert len(set(found)) == len(found)
    assert set(found) == set(relevant_cycles(to_networkx(graph)))


@pytest.mark.parametrize("network", [nx.wheel_graph(8), nx.ladder_graph(6), nx.cycle_graph(9)])
@pytest.mark.parametrize("rungs", [[], [(0, 4)], [(0, 3), (2, 6)]], ids=str)
def test_sparse_graphs_with_long_rings_too(network, rungs, from_networkx, to_networkx):
    graph = from_networkx(nx.compose(network, nx.Graph(rungs)))
    assert set(edge_sets(graph, Rings()(graph))) == set(relevant_cycles(to_networkx(graph)))


@settings(deadline=None, max_examples=50)
@given(data=st.data(), graph=graphs(max_vertices=10))
def test_faces_do_not_depend_on_the_numbers_of_vertices_and_edges(data, graph, vertex_sets):
    vertices = np.array(data.draw(st.permutations(range(graph.num_vertices))), np.int64)
    edges = np.array(data.draw(st.permutations(range(graph.num_edges))), np.int64)
    relabelled = Rings()(permute_graph(graph, vertices, edges))
    assert sorted(vertex_sets(relabelled, names=vertices)) == sorted(vertex_sets(Rings()(graph)))


@pytest.mark.parametrize("name", CAGES)
def test_known_molecules_in_many_orders_of_their_atoms(name, vertex_sets):
    smiles, sizes = CAGES[name]
    graph = Graph.from_smiles(smiles)
    expected = sorted(vertex_sets(Rings()(graph)))
    if sizes is not None:
        assert sorted(map(len, expected)) == sizes
    rng = np.random.default_rng(0)
    for _ in range(200 if name in ("cubane", "adamantane", "norbornane") else 30):
        atoms = rng.permutation(graph.num_vertices)
        relabelled = Rings()(permute_graph(graph, atoms, rng.permutation(graph.num_edges)))
        assert sorted(vertex_sets(relabelled, names=atoms)) == expected


def test_cubane_has_the_same_rings_written_two_ways():
    one = Graph.from_smiles("C12C3C4C1C5C2C3C45")
    two = Graph.from_smiles("C12C3C4C2C5C4C3C15")
    assert Chem.CanonSmiles(one.name) == Chem.CanonSmiles(two.name)
    for graph in (one, two):
        faces = Rings()(graph).boundary(2)
        assert np.diff(faces.indptr).tolist() == [4] * 6
        assert (abs(faces).sum(axis=1) == 2).all()


def test_buckminsterfullerene_has_12_pentagons_and_20_hexagons(from_networkx):
    icosahedron = nx.icosahedral_graph()
    c60 = nx.Graph()
    for u, v in icosahedron.edges:
        c60.add_edge((u, v), (v, u))
    for u in icosahedron:
        for v, w in itertools.combinations(icosahedron[u], 2):
            if icosahedron.has_edge(v, w):
                c60.add_edge((u, v), (u, w))
    cells = Rings()(from_networkx(c60))
    assert np.diff(cells.boundary(2).indptr).tolist() == [5] * 12 + [6] * 20
    assert (abs(cells.boundary(2)).sum(axis=1) == 2).all()
    CellComplex.from_boundaries(cells.boundaries)


def test_rings_of_real_molecules_are_those_of_rdkit(vertex_sets):
    seen = 0
    for graph in itertools.islice(nci_molecules(), 300):
        cells = Rings()(graph)
        assert sorted(vertex_sets(cells)) == rdkit_rings(graph), graph.name
        seen += cells.num_cells[2]
    assert seen > 300


@pytest.mark.parametrize("seed", range(10))
def test_there_are_as_many_as_rdkit_counts(seed, from_networkx):
    graph = from_networkx(nx.random_regular_graph(3, 24, seed=seed))
    molecule = bare_molecule(graph)
    Chem.FindRingFamilies(molecule)
    assert Rings()(graph).num_cells[2] == molecule.GetRingInfo().NumRelevantCycles()


def test_real_molecules_under_200_orders_of_their_atoms(vertex_sets):
    rng = np.random.default_rng(0)
    fused = (graph for graph in nci_molecules() if graph.num_edges > graph.num_vertices + 3)
    for graph in itertools.islice(fused, 2):
        expected = sorted(vertex_sets(Rings()(graph)))
        assert len(expected) > 4
        for _ in range(200):
            atoms = rng.permutation(graph.num_vertices)
            found = vertex_sets(Rings()(permute_graph(graph, atoms)), names=atoms)
            assert sorted(found) == expected


def test_zinc_molecules_have_the_rings_of_rdkit_in_any_order(data, vertex_sets):
    rng = np.random.default_rng(0)
    with np.load(data / "zinc" / "zinc12k_graphs.npz") as arrays:
        vertices, edges = arrays["num_nodes"][:100], arrays["num_edges"][:100]
        index = arrays["edge_index"].astype(np.int64)
    ends = np.cumsum(edges)
    for count, start, stop in zip(vertices.tolist(), ends - edges, ends, strict=True):
        graph = Graph.from_edges(index[:, start:stop].T, count)
        atoms = rng.permutation(count)
        found = vertex_sets(Rings()(permute_graph(graph, atoms)), names=atoms)
        assert sorted(found) == sorted(vertex_sets(Rings()(graph))) == rdkit_rings(graph)


def para_macrocycle(rings):
    """Benzenes in a circle, joined through opposite atoms: 2^rings shortest ways around."""
    network = nx.Graph()
    for i in range(rings):
        nx.add_cycle(network, range(6 * i, 6 * i + 6))
        network.add_edge(6 * i + 3, 6 * ((i + 1) % rings))
    return network


@pytest.mark.parametrize("rings", [2, 3, 5])
def test_every_way_around_a_para_macrocycle_is_a_ring(rings, from_networkx):
    sizes = np.diff(Rings()(from_networkx(para_macrocycle(rings))).boundary(2).indptr)
    assert sizes.tolist() == [6] * rings + [4 * rings] * 2**rings


def test_exponentially_many_rings_meet_the_limit(from_networkx):
    graph = from_networkx(para_macrocycle(40), "macrocycle")
    with pytest.raises(LiftingLimitError, match=r"graph 'macrocycle'.*more than 10000 cycles"):
        Rings()(graph)
    truncated = Rings(over_limit="truncate")(graph)
    assert np.diff(truncated.boundary(2).indptr).tolist() == [6] * 40


def test_greater_rings_than_max_size_are_left_empty(from_networkx):
    graph = from_networkx(para_macrocycle(3))
    assert Rings(11)(graph).num_cells[2] == 3
    assert_same_complex(Rings(12)(graph), Rings()(graph))


@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=9), max_size=st.integers(3, 9))
def test_max_size_only_leaves_out(graph, max_size):
    every = edge_sets(graph, Rings()(graph))
    small = {ring for ring in every if len(ring) <= max_size}
    assert set(edge_sets(graph, Rings(max_size)(graph))) == small


@pytest.mark.parametrize(
    ("network", "max_steps"),
    [
        (nx.gnm_random_graph(400, 1200, seed=0), 50_000),  # while looking for prototypes
        (nx.complete_graph(60), 1_200_000),  # during the elimination
        (nx.complete_graph(100), 20_000_000),
    ],
    ids=str,
)
def test_over_the_limit_on_steps_the_search_ends(network, max_steps, from_networkx):
    with pytest.raises(LiftingLimitError, match=f"more than {max_steps} steps"):
        Rings(max_steps=max_steps)(from_networkx(network))


def test_the_limit_on_cells_is_exact(from_networkx):
    graph = from_networkx(nx.complete_graph(6))
    assert Rings(max_cells=20)(graph).num_cells[2] == 20
    with pytest.raises(LiftingLimitError, match="more than 19 cycles"):
        Rings(max_cells=19)(graph)
