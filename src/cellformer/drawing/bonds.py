"""Double, triple and aromatic bonds as parallel lines."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

_STROKES = {
    1.0: ((0.0, 1.0, False),),
    1.5: ((0.0, 0.8, False), (1.0, 0.4, True)),
    2.0: ((-0.5, 0.6, False), (0.5, 0.6, False)),
    3.0: ((-0.85, 0.5, False), (0.0, 0.5, False), (0.85, 0.5, False)),
}
"""For each order its lines: how far aside, how wide, and whether broken."""


@dataclass(frozen=True, eq=False)
class Strokes:
    """Lines in the plane, of which one edge may have several."""

    lines: Float64[np.ndarray, "stroke 2 2"]
    edge: Int64[np.ndarray, " stroke"]  # whose it is
    width: Float64[np.ndarray, " stroke"]  # in that of a single bond
    broken: Bool[np.ndarray, " stroke"]


def bond_strokes(
    points: Float64[np.ndarray, "vertex 2"],
    ends: Int64[np.ndarray, "edge 2"],
    orders: Float64[np.ndarray, " edge"] | None,
    gap: float,
) -> Strokes:
    """The lines of bonds by their order; 1.5 is an aromatic one, all others a single one.

    Lines of a double bond are ``gap`` apart. The broken line of an aromatic one lies inside the
    ring, the side where its aromatic neighbors are.
    """
    known = np.ones(len(ends)) if orders is None else orders
    sides = _sides(points, ends, known == 1.5) * gap
    found = [
        (points[ends[edge]] + aside * sides[edge], edge, width, broken)
        for edge, order in enumerate(known.tolist())
        for aside, width, broken in _STROKES.get(order, _STROKES[1.0])
    ]
    return Strokes(
        np.array([line for line, *_ in found], np.float64).reshape(-1, 2, 2),
        np.array([edge for _, edge, _, _ in found], np.int64),
        np.array([width for _, _, width, _ in found], np.float64),
        np.array([broken for *_, broken in found], bool),
    )


def _sides(
    points: Float64[np.ndarray, "vertex 2"],
    ends: Int64[np.ndarray, "edge 2"],
    pulling: Bool[np.ndarray, " edge"],
) -> Float64[np.ndarray, "edge 2"]:
    """For every edge a direction across it, towards what pulling edges join to its ends."""
    along = points[ends[:, 1]] - points[ends[:, 0]]
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) / length
    pull = np.zeros_like(points)  # of every vertex towards its neighbors
    np.add.at(pull, ends[pulling, 0], along[pulling])
    np.add.at(pull, ends[pulling, 1], -along[pulling])
    towards = ((pull[ends[:, 0]] + pull[ends[:, 1]]) * across).sum(axis=1, keepdims=True)
    sides: Float64[np.ndarray, "edge 2"] = np.where(towards < -1e-9, -across, across)
    return sides
