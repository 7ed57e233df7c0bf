"""Three-dimensional positions seen from a direction."""

import numpy as np
from jaxtyping import Float64


def project(
    positions: Float64[np.ndarray, "vertex 3"], elevation: float, azimuth: float
) -> Float64[np.ndarray, "vertex 3"]:
    """Coordinates to the right, upwards, and towards the viewer, without perspective.

    The viewer looks at the origin from ``elevation`` degrees above the x-y plane, ``azimuth``
    degrees around the z axis from the x axis.
    """
    up, around = np.radians(elevation), np.radians(azimuth)
    towards = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
    right = np.array([-np.sin(around), np.cos(around), 0.0])
    seen: Float64[np.ndarray, "vertex 3"] = positions @ np.stack(
        [right, np.cross(towards, right), towards], axis=1
    )
    return seen
