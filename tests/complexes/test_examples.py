import numpy as np
import pytest

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import hodge_laplacian
from cellformer.complexes.polygons import boundary_walks, edge_ends
from strategies import NAMED

SIZES = {
    "vertex": (1,),
    "edgeless": (3,),
    "path": (4, 3),
    "hollow triangle": (3, 3),
    "triangle": (3, 3, 1),
    "house": (5, 6, 2),
    "two triangles": (6, 6, 2),
    "bow tie": (6, 6, 1),
    "hollow tetrahedron": (4, 6, 4),
    "tetrahedron": (4, 6, 4, 1),
    "grid": (12, 17, 6),
    "torus": (12, 24, 12),
    "Petersen": (10, 15, 12),
}
BETTI = {
    "vertex": [1],
    "edgeless": [3],
    "path": [1, 0],
    "hollow triangle": [1, 1],
    "triangle": [1, 0, 0],
    "house": [1, 0, 0],
    "two triangles": [2, 0, 0],
    "bow tie": [2, 1, 0],
    "hollow tetrahedron": [1, 0, 1],
    "tetrahedron": [1, 0, 0, 0],
    "grid": [1, 0, 0],
    "torus": [1, 2, 1],
}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_complex_has_its_cells_and_is_one(name):
    cells = NAMED[name]()
    assert cells.num_cells == SIZES[name]
    CellComplex.from_boundaries(cells.boundaries, cells.num_vertices)
    assert cells.name


@pytest.mark.parametrize("name", BETTI)
def test_a_named_complex_has_its_holes(name):
    cells = NAMED[name]()
    kernels = [
        count - np.linalg.matrix_rank(hodge_laplacian(cells, rank).toarray()) if count else 0
        for rank, count in enumerate(cells.num_cells)
    ]
    assert kernels == BETTI[name]


@pytest.mark.parametrize("name", NAMED)
def test_orientations_are_canonical(name):
    cells = NAMED[name]()
    ends = edge_ends(cells)
    assert (ends[:, 0] < ends[:, 1]).all()
    assert sorted(ends.tolist()) == ends.tolist()
    for (walk,) in boundary_walks(cells):
        assert walk[0] == min(walk)
        assert walk[0] < walk[1] < walk[-1]


def test_the_hollow_triangle_has_the_eigenvalues_of_the_paper():
    laplacian = hodge_laplacian(examples.triangle(filled=False), 0).toarray()
    np.testing.assert_allclose(np.linalg.eigvalsh(laplacian), [0, 3, 3], atol=1e-12)


def test_every_edge_of_the_petersen_graph_lies_in_four_pentagons():
    boundary = examples.petersen().boundary(2)
    assert np.diff(boundary.indptr).tolist() == [5] * 12
    assert abs(boundary).sum(axis=1).tolist() == [4] * 15


@pytest.mark.parametrize("vertices", [3, 4, 30])
def test_a_cycle_has_one_face_of_its_own_length(vertices):
    cells = examples.cycle(vertices)
    assert cells.num_cells == (vertices, vertices, 1)
    assert len(boundary_walks(cells)[0][0]) == vertices


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="at least 3 vertices, got 2"):
        examples.cycle(2)
    with pytest.raises(ValueError, match="at least 3 x 3, got 2 x 5"):
        examples.torus_grid(2, 5)


def test_small_paths_are_ordinary():
    assert examples.path(1).num_cells == (1, 0)
    assert examples.path(2).num_cells == (2, 1)
