"""An arc from one cell to another, as wide as what goes along it is strong."""

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch


def add_arc(
    ax: Axes,
    start: Float64[np.ndarray, " 2"],
    stop: Float64[np.ndarray, " 2"],
    share: float,
    color: str,
    unit: float,
) -> None:
    """``share`` of the strongest, in 0 ... 1; a ring of 0.3 ``unit`` where both ends are one."""
    width, opacity = 0.4 + 3.2 * share, 0.1 + 0.85 * share**1.5
    if np.allclose(start, stop):
        ax.add_patch(Circle(tuple(start.tolist()), 0.3 * unit, fill=False, ec=color, lw=width,
                            alpha=opacity, zorder=10))  # fmt: skip
        return
    ax.add_patch(
        FancyArrowPatch(
            tuple(start.tolist()),
            tuple(stop.tolist()),
            connectionstyle="arc3,rad=0.22",
            arrowstyle="-|>" if share > 0.25 else "-",
            mutation_scale=6 + 5 * share,
            shrinkA=1,
            shrinkB=2,
            color=color,
            lw=width,
            alpha=opacity,
            zorder=10,
        )
    )
