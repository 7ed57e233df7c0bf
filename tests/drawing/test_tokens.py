import numpy as np

from cellformer.complexes import examples
from cellformer.drawing.tokens import cell_centers, cell_names


def test_every_cell_is_at_the_mean_of_its_vertices():
    cells = examples.grid(1, 2)
    centers = cell_centers(cells, cells.positions)
    np.testing.assert_allclose(centers[1][0], (0.5, 0))
    np.testing.assert_allclose(centers[2], [(0.5, 0.5), (1.5, 0.5)])


def test_cells_are_named_after_vertices_and_atoms():
    house = cell_names(examples.house())
    assert house[0] == ["0", "1", "2", "3", "4"]
    assert house[1][1] == "0-3"
    assert house[2] == ["face 0", "face 1"]
    assert cell_names(examples.triangle(), ["C", "N", "O"])[1:] == [
        ["C0-N1", "C0-O2", "N1-O2"],
        ["ring 0"],
    ]
    assert cell_names(examples.tetrahedron())[3] == ["3-cell 0"]
