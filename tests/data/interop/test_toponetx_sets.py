import numpy as np
import pytest
import toponetx

import cellformer as cf
from cellformer.complexes.matrices import hodge_laplacian
from cellformer.data.interop.toponetx_others import from_combinatorial, from_simplicial


def cell_complex(sides):
    made = toponetx.CellComplex()
    made.add_cell(list(range(sides)), rank=2)
    return made


def tetrahedra():
    return toponetx.SimplicialComplex([[0, 1, 2], [2, 3], [1, 2, 3, 4], [4, 5, 6]])


def test_simplices_have_the_matrices_of_toponetx():
    theirs = tetrahedra()
    ours = from_simplicial(theirs)
    assert ours.num_cells == theirs.shape
    for rank in range(1, 4):
        np.testing.assert_array_equal(
            ours.boundary(rank).toarray(), theirs.incidence_matrix(rank).toarray()
        )
    for rank in range(1, 3):
        np.testing.assert_array_equal(
            hodge_laplacian(ours, rank).toarray(),
            theirs.hodge_laplacian_matrix(rank).toarray(),
        )


def test_attributes_become_features_and_positions():
    made = toponetx.SimplicialComplex([["a", "c", "b"]])
    for number, node in enumerate("abc"):
        made.add_node(node, kind=number, at=(number, 0.5))
    for edge in ("ab", "ac", "bc"):
        made.add_simplex(tuple(edge), length=float(ord(edge[1])))
    ours = from_simplicial(made, [["kind"], ["length"]], "at")
    assert ours.features[0].discrete[:, 0].tolist() == [0, 1, 2]
    assert ours.features[1].continuous[:, 0].tolist() == [98, 99, 99]
    assert ours.positions.tolist() == [[0, 0.5], [1, 0.5], [2, 0.5]]


def test_a_combinatorial_complex_of_polygons_is_the_cell_complex_it_was_made_from():
    theirs = cell_complex(5)
    theirs.add_edge(0, 7)
    back = from_combinatorial(theirs.to_combinatorial_complex())
    direct = cf.from_toponetx(theirs)
    assert back.num_cells == direct.num_cells == (6, 6, 1)
    np.testing.assert_array_equal(back.boundary(1).toarray(), direct.boundary(1).toarray())
    np.testing.assert_array_equal(
        abs(back.boundary(2)).toarray(), abs(direct.boundary(2)).toarray()
    )


def test_sets_of_vertices_without_a_boundary_are_refused_by_name():
    chord = toponetx.CombinatorialComplex([[0, 1], [1, 2], [2, 3], [0, 3], [0, 2]], ranks=[1] * 5)
    chord.add_cell([0, 1, 2, 3], rank=2)
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3\] of rank 2 is not a cycle"):
        from_combinatorial(chord)
    two = toponetx.CombinatorialComplex(
        [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]], ranks=[1] * 6
    )
    two.add_cell(range(6), rank=2)
    with pytest.raises(ValueError, match="of rank 2 is not a cycle"):
        from_combinatorial(two)
    wide = toponetx.CombinatorialComplex([[0, 1, 2]], ranks=[1])
    with pytest.raises(ValueError, match="rank 1 does not join two"):
        cf.from_toponetx_list([cell_complex(3), wide])


def test_a_list_of_all_kinds_becomes_a_set_that_is_prepared_with_its_cells(tmp_path):
    mixed = [cell_complex(3), tetrahedra(), cell_complex(4).to_combinatorial_complex(),
             toponetx.SimplicialComplex([[0]])]  # fmt: skip
    opened = cf.from_toponetx_list(mixed, [0.5, np.nan, 2, 1], split={"train": [0, 1], "val": [2]})
    assert opened.task.kind == "regression"
    assert np.isnan(opened.targets[1, 0])
    prepared = cf.prepare(opened, cf.OwnCells(), [cf.RWPe(2)], cache_dir=tmp_path, progress=False)
    counts = [prepared.complexes[row].num_cells for row in range(4)]
    assert [row[:3] for row in counts] == [(3, 3, 1), (7, 11, 6), (4, 4, 1), (1, 0, 0)]
    classes = cf.from_toponetx_list(mixed, ["a", "b", "a", "b"])
    assert (classes.task.kind, classes.task.labels) == ("binary", ("a", "b"))
    assert cf.from_toponetx_list(mixed).task_or_none is None
    with pytest.raises(ValueError, match=r"y has shape \(2,\) for 4 complexes"):
        cf.from_toponetx_list(mixed, [1, 2])


def test_every_kind_of_complex_is_read_by_one_function_and_others_are_named():
    simplices = toponetx.SimplicialComplex([[0, 1, 2], [2, 3]])
    assert cf.from_toponetx(simplices).num_cells == (4, 4, 1)
    assert cf.from_toponetx(cell_complex(5).to_combinatorial_complex()).num_cells == (5, 5, 1)
    for number in range(3):
        simplices.add_node(number, mass=number / 2)
    simplices.add_node(3, mass=0.25)
    masses = cf.from_toponetx(simplices, vertex_features=["mass"]).features[0].continuous
    assert masses[:, 0].tolist() == [0, 0.5, 1, 0.25]
    with pytest.raises(ValueError, match="a PathComplex, which is not read; cell complexes, simpl"):
        cf.from_toponetx(toponetx.PathComplex([[0, 1]]))
