import numpy as np
import pytest

from cellformer.drawing.projection import project


@pytest.mark.parametrize(
    ("view", "axes"),
    [
        ((90.0, -90.0), [(1, 0, 0), (0, 1, 0), (0, 0, 1)]),  # from above: x right, y up, z near
        ((0.0, -90.0), [(1, 0, 0), (0, 0, -1), (0, 1, 0)]),  # from the front: z up, y away
        ((0.0, 0.0), [(0, 0, 1), (1, 0, 0), (0, 1, 0)]),
    ],
)
def test_axes_are_seen_where_they_point(view, axes):
    np.testing.assert_allclose(project(np.eye(3), *view), np.array(axes, float), atol=1e-12)


def test_a_view_keeps_lengths():
    points = np.random.default_rng(0).normal(size=(20, 3))
    seen = project(points, 25.0, -60.0)
    np.testing.assert_allclose(seen @ seen.T, points @ points.T, atol=1e-12)
