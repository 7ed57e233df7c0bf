import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.lifting.mesh import mesh_complex
from cellformer.lifting.mesh_features import with_mesh_features

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
CUBE_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def features(points, faces):
    return [f.continuous for f in with_mesh_features(mesh_complex(points, faces)).features]


def test_a_cube_is_as_everyone_knows_it():
    vertices, edges, faces = features(CUBE, CUBE_FACES)
    np.testing.assert_allclose(vertices[:, 0], np.pi / 2, atol=1e-6)  # angle defects: 4 pi in all
    np.testing.assert_allclose(vertices[:, 1], 1, atol=1e-6)
    np.testing.assert_array_equal(vertices[:, 2], 3)
    np.testing.assert_allclose(vertices[:, 3], 1, atol=1e-6)
    np.testing.assert_allclose(edges, np.tile([1, np.pi / 2, 2], (12, 1)), atol=1e-6)
    np.testing.assert_allclose(faces[:, 0], 1, atol=1e-6)
    np.testing.assert_allclose(faces[:, 1], 16 / 20, atol=1e-6)
    np.testing.assert_array_equal(faces[:, 3], 4)


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_moving_turning_mirroring_and_scaling_change_nothing(seed):
    rng = np.random.default_rng(seed)
    points = CUBE + rng.normal(scale=0.1, size=CUBE.shape)
    turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moved = 7 * points @ turned + rng.normal(size=3)
    turned_faces = [face[1:] + face[:1] for face in CUBE_FACES]
    for one, other in zip(features(points, CUBE_FACES), features(moved, turned_faces), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_border_is_flat_and_a_fold_is_not():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0.0], [0, 0, 1]])
    _, edges, _ = features(points, [[0, 1, 2], [0, 3, 1]])
    assert np.allclose(edges[:, 1], 0)  # the plane goes on
    assert sorted(edges[:, 2].tolist()) == [1, 1, 1, 1, 2]
    _, edges, _ = features(points, [[0, 1, 2], [0, 3, 1], [0, 1, 4]])
    assert edges[:, 1].max() == pytest.approx(np.pi / 2, abs=1e-6)
    assert edges[:, 2].max() == 3


def test_degenerate_geometry_stays_finite():
    flat = np.zeros((4, 3))
    assert all(np.isfinite(one).all() for one in features(flat, [[0, 1, 2], [0, 2, 3]]))
    line = np.stack([np.arange(3.0), np.zeros(3), np.zeros(3)], axis=1)
    assert all(np.isfinite(one).all() for one in features(line, [[0, 1, 2]]))
    assert all(np.isfinite(one).all() for one in features(np.eye(3), []))


def test_something_else_is_refused():
    with pytest.raises(ValueError, match="is no mesh"):
        with_mesh_features(examples.path(4))
