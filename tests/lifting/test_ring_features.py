from dataclasses import replace

import numpy as np
import pytest
from rdkit import Chem

from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.lifting.cycle_basis import CycleBasis
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.ring_features import RING_CATEGORIES, RingFeatures
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton


def rings_of(smiles, lifting=Rings(), scheme="standard"):  # noqa: B008
    cells = RingFeatures(lifting)(Graph.from_smiles(smiles, scheme=scheme))
    return sorted(map(tuple, cells.features[2].discrete.tolist()))


def test_rings_say_what_a_chemist_would():
    # size, neighbors, aromatic, atoms other than carbon, double or triple bonds, conjugated
    assert rings_of("c1ccccc1") == [(6, 0, 1, 0, 0, 1)]
    assert rings_of("C1CCCCC1") == [(6, 0, 0, 0, 0, 0)]
    assert rings_of("C1=CCCO1") == [(5, 0, 0, 1, 1, 0)]
    assert rings_of("c1ccc2[nH]ccc2c1") == [(5, 1, 1, 1, 0, 1), (6, 1, 1, 0, 0, 1)]
    assert rings_of("C1CC11CC1") == [(3, 0, 0, 0, 0, 0)] * 2  # a spiro atom is no common bond
    assert rings_of("O=C1CCC1") == [(4, 0, 0, 0, 0, 0)]  # the carbonyl is outside
    assert rings_of("C1CCCCCCCCCCCCCCCCCCCC1")[0][0] == RING_CATEGORIES[0] - 1
    assert rings_of("CCO") == []


@pytest.mark.parametrize("scheme", ["standard", "ogb"])
@pytest.mark.parametrize("lifting", [Rings(), InducedCycles(max_length=8)])
def test_they_do_not_depend_on_the_order_of_the_atoms(scheme, lifting):
    smiles = "O=C1c2ccccc2C(=O)c2cc3[nH]cnc3cc12"
    expected = rings_of(smiles, lifting, scheme)
    molecule = Chem.MolFromSmiles(smiles)
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(molecule.GetNumAtoms()).tolist()
        other = Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)
        assert rings_of(other, lifting, scheme) == expected
    assert (np.array(expected) < RING_CATEGORIES).all()


def test_rings_of_any_graph_say_their_size_and_neighbors():
    square_and_triangle = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 3)]
    cells = RingFeatures(CycleBasis())(Graph.from_edges([*square_and_triangle, (4, 5)]))
    assert sorted(map(tuple, cells.features[2].discrete.tolist())) == [(3, 1), (4, 1)]
    assert rings_of("c1ccc2[nH]ccc2c1", scheme="zinc") == [(5, 1), (6, 1)]
    assert RingFeatures(CycleBasis())(Graph.from_edges([(0, 1)])).num_cells[2] == 0


def test_counts_as_numbers_know_no_limit():
    def counted(smiles, **options):
        rings = RingFeatures(CycleBasis(), as_numbers=True)(Graph.from_smiles(smiles, **options))
        return rings.features[2]

    benzofuran = counted("c1ccc2occc2c1")
    assert sorted(benzofuran.continuous.tolist()) == [[5, 1, 1, 0], [6, 1, 0, 0]]
    assert benzofuran.discrete.tolist() == [[1, 1], [1, 1]]  # aromatic, conjugated
    large = counted("C1CCCCCCCCCCCCCCCCCCCCC1", scheme="zinc")
    assert large.continuous.tolist() == [[22, 0]]
    assert large.discrete.shape == (1, 0)


def test_other_ranks_keep_their_features():
    graph = Graph.from_smiles("c1ccccc1")
    assert RingFeatures(Skeleton())(graph).dim == 1
    cells = RingFeatures(Rings())(graph)
    np.testing.assert_array_equal(cells.features[0].discrete, graph.vertex_features.discrete)


def test_rings_keep_the_features_that_their_lifting_gives():
    def colored(graph):
        cells = Rings()(graph)
        colors = Features(np.full((cells.num_cells[2], 1), 7), np.full((1, 2), 0.5, np.float32))
        return replace(cells, features=(*cells.features[:2], colors))

    rings = RingFeatures(colored)(Graph.from_smiles("c1ccccc1")).features[2]
    assert rings.discrete.tolist() == [[7, 6, 0, 1, 0, 0, 1]]
    assert rings.continuous.tolist() == [[0.5, 0.5]]


def test_a_single_atom_has_no_rings_and_is_no_error():
    cells = RingFeatures(CycleBasis())(Graph.from_smiles("C"))
    assert cells.features[2].discrete.shape == (0, 6)  # columns as in other molecules
