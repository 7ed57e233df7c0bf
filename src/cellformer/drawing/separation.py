"""Texts that lie over each other are moved apart."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import BboxBase

from cellformer.drawing.canvas import figure_of

DISTANCES = (0.25, 0.4, 0.6)
ANGLES = np.radians([270, 90, 0, 180, 315, 225, 45, 135])


def separate(ax: Axes, texts: Sequence[Text], taken: Sequence[Text], unit: float) -> None:
    """Moves texts, in their order, to where no earlier one nor one of ``taken`` is.

    A text stays, or goes up to 0.6 ``unit`` (the length of an edge) away; one for which there is
    no room within the axes is taken out. What is in the figure must be there already.
    """
    for text in texts:
        text.set_in_layout(False)  # the axes stay where they are
    figure_of(ax).draw_without_rendering()  # settles where the axes are
    inside = ax.get_window_extent()
    occupied = [text.get_window_extent() for text in taken]
    around = [
        distance * unit * np.array([np.cos(angle), np.sin(angle)])
        for distance in DISTANCES
        for angle in ANGLES
    ]
    for text in texts:
        place = np.array(text.get_position(), np.float64)
        for aside in (np.zeros(2), *around):
            text.set_position(tuple((place + aside).tolist()))
            box = text.get_window_extent()
            if _within(box, inside) and not any(box.overlaps(other) for other in occupied):
                occupied.append(box.padded(1))
                break
        else:
            text.remove()


def _within(box: BboxBase, outer: BboxBase) -> bool:
    return bool(
        box.x0 >= outer.x0 and box.x1 <= outer.x1 and box.y0 >= outer.y0 and box.y1 <= outer.y1
    )
