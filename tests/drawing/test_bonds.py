import numpy as np
import pytest

import cellformer as cf
from cellformer.complexes.polygons import edge_ends
from cellformer.drawing.bonds import bond_strokes
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.molecule import bond_orders, molecule_positions
from cellformer.drawing.sketch import sketch


@pytest.mark.parametrize(
    ("smiles", "orders"),
    [("C=CC#N", [2, 1, 3]), ("c1ccccc1O", [1.5] * 6 + [1]), ("C", []), ("[Na+].[Cl-]", [])],
)
def test_orders_are_those_of_the_molecule(smiles, orders):
    cells = cf.lift(cf.Graph.from_smiles(smiles), cf.Rings())
    assert sorted(bond_orders(smiles, cells)) == sorted(orders)


def strokes_of(smiles):
    cells = cf.lift(cf.Graph.from_smiles(smiles), cf.Rings())
    orders = np.array(bond_orders(smiles, cells))
    return bond_strokes(molecule_positions(smiles), edge_ends(cells), orders, 0.2), orders


def test_a_bond_has_as_many_lines_as_its_order():
    strokes, orders = strokes_of("C=CC#N")
    assert np.bincount(strokes.edge).tolist() == orders.tolist()
    assert not strokes.broken.any()
    double = strokes.lines[strokes.edge == np.flatnonzero(orders == 2)[0]]
    np.testing.assert_allclose(np.linalg.norm(double[0] - double[1], axis=1), 0.2)


@pytest.mark.parametrize("smiles", ["c1ccccc1", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "c1ccc2ccccc2c1"])
def test_the_broken_line_of_an_aromatic_bond_lies_inside_its_ring(smiles):
    strokes, orders = strokes_of(smiles)
    points = molecule_positions(smiles)
    graph = cf.Graph.from_smiles(smiles)
    rings = cf.lift(graph, cf.Rings()).boundary(2).toarray() != 0
    assert strokes.broken.sum() == (orders == 1.5).sum()
    for edge, line in zip(strokes.edge[strokes.broken], strokes.lines[strokes.broken], strict=True):
        own = [points[np.unique(graph.edges[ring])].mean(axis=0) for ring in rings.T if ring[edge]]
        middle = points[graph.edges[edge]].mean(axis=0)
        nearer = [
            np.linalg.norm(line.mean(axis=0) - center) < np.linalg.norm(middle - center)
            for center in own
        ]
        assert any(nearer)


def test_a_triple_bond_is_drawn_by_more_lines_than_a_single_one():
    counts = []
    for smiles in ("CC", "C#C"):
        cells = cf.lift(cf.Graph.from_smiles(smiles), cf.Rings())
        figure = draw_complex(
            cells, positions=molecule_positions(smiles), orders=bond_orders(smiles, cells)
        )
        counts.append(sum(len(one.get_paths()) for one in figure.axes[0].collections[:-1]))
    assert counts == [2, 6]  # each in its casing


def test_sketches_show_double_and_aromatic_bonds_too():
    cells = cf.lift(cf.Graph.from_smiles("O=Cc1ccccc1"), cf.Rings())
    orders = bond_orders("O=Cc1ccccc1", cells)
    places = molecule_positions("O=Cc1ccccc1")
    plain, drawn = sketch(cells, places), sketch(cells, places, orders=orders)
    assert "stroke-dasharray" not in plain
    assert drawn.count("stroke-dasharray") == 1
    assert drawn.count("M") == plain.count("M") + 1 + 6
