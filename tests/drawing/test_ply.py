"""Meshes with what is said of their cells."""

import numpy as np
import pytest
import trimesh

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.readers.mesh_file import read_mesh
from cellformer.drawing.ply import ply_of
from cellformer.lifting.mesh import mesh_complex

POINTS = np.array([[0, 0, 0], [1, 0, 0.1], [1, 1, 0], [0, 1, 0], [2, 0.5, 1 / 3]])
FACES = [[0, 1, 2, 3], [1, 4, 2]]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_what_is_written_is_read_back(rank, tmp_path):
    cells = mesh_complex(POINTS, FACES)
    count = cells.num_cells[rank]
    rng = np.random.default_rng(0)
    values, colors = rng.normal(size=count), rng.uniform(size=(count, 3))
    values[0] = np.nan
    content = ply_of(cells, rank, {"prediction": values, "P(a b)": -values}, colors, ["1: größer"])
    (tmp_path / "a.ply").write_bytes(content)
    again = read_mesh(tmp_path / "a.ply")
    np.testing.assert_array_equal(again.positions, POINTS)
    for own, found in zip(cells.boundaries, again.boundaries, strict=True):
        np.testing.assert_array_equal(own.toarray(), found.toarray())
    assert b"comment 1: gr\\xf6\\xdfer" in content


@pytest.mark.parametrize("rank", [0, 2])
def test_others_read_the_values_and_the_colors(rank, tmp_path):
    cells = mesh_complex(POINTS, [[0, 1, 2], [0, 2, 3], [1, 4, 2]])
    count = cells.num_cells[rank]
    values, colors = np.arange(count) / 3, np.random.default_rng(0).uniform(size=(count, 3))
    (tmp_path / "a.ply").write_bytes(ply_of(cells, rank, {"P(a b)": values}, colors))
    loaded = trimesh.load(tmp_path / "a.ply", process=False)
    raw = loaded.metadata["_ply_raw"]["face" if rank else "vertex"]["data"]
    np.testing.assert_array_equal(np.ravel(raw["P_a_b"]), values)
    shown = loaded.visual.face_colors if rank else loaded.visual.vertex_colors
    assert np.abs(shown[:, :3] / 255 - colors).max() <= 0.51 / 255


def test_no_mesh_is_an_error():
    edge = CellComplex.from_boundaries([[[-1], [1]]])
    with pytest.raises(ValueError, match="places in space"):
        ply_of(edge, 0, {}, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="no cells of rank 3"):
        ply_of(mesh_complex(POINTS, FACES), 3, {}, np.zeros((0, 3)))
