"""A picture of a tensor diagram: ranks and the arrows between them."""

from collections import Counter

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, PathPatch, Polygon
from matplotlib.path import Path

from cellformer.drawing.canvas import figure_of, headline, new_axes, write
from cellformer.drawing.colors import EDGE_COLOR, FACE_COLOR, VERTEX_COLOR
from cellformer.drawing.contrast import writing_on
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.relations.diagram import Arrow

WORDS = ("vertices", "edges", "2-cells")
RADIUS, HEAD = 0.36, 0.2
SPARSE, DENSE = ("-", 1.6), ("--", 3.0)


def draw_diagram(plan: AttentionPlan, title: str = "", theme: Theme = LIGHT) -> Figure:
    """A disk for every rank, an arrow from each sending to each receiving rank.

    Arrows carry their neighborhood: A with an arrow up or down for adjacency, I for incidence.
    Dense ones are wide and broken. Source: the paper, section "Tensor diagrams for cellular
    transformers".
    """
    ranks = plan.diagram.num_ranks
    relations = plan.relations(plan.diagram.max_rank)
    ends = Counter((arrow.sender, arrow.receiver) for one in relations for arrow in one.arrows)
    several = max((count for (a, b), count in ends.items() if a == b), default=0) > 1
    low = -1.75 if several else -1.2  # the second loop of a rank is below it
    ax = new_axes(2.1 * ranks + 1.2, 2.0 - low, theme)
    ax.set_xlim(-1, 2 * ranks - 1)
    ax.set_ylim(low - 0.15, 1.4)
    ax.set_aspect("equal")
    ax.set_axis_off()
    for rank in range(ranks):
        color = (VERTEX_COLOR, EDGE_COLOR, FACE_COLOR)[min(rank, 2)]
        ax.add_patch(Circle((2 * rank, 0), RADIUS, fc=color, ec=theme.ink, lw=1, zorder=5))
        ax.text(2 * rank, 0, str(rank), ha="center", va="center", fontsize=14, zorder=6,
                color=str(writing_on(np.array(to_rgb(color)))), fontweight="bold")  # fmt: skip
        word = WORDS[rank] if rank < len(WORDS) else f"{rank}-cells"
        ax.text(2 * rank, low, word, ha="center", va="center", color=theme.ink, fontsize=11)
    drawn: Counter[tuple[int, int]] = Counter()
    for relation in relations:
        for arrow in relation.arrows:
            between = (arrow.sender, arrow.receiver)
            _add_arrow(ax, arrow, relation.dense, drawn[between], theme)
            drawn[between] += 1
    kinds = {relation.dense for relation in relations}
    handles = [
        Line2D([], [], color=theme.ink, ls=line, lw=width, label=word)
        for dense, (line, width), word in (
            (False, SPARSE, "sparse: to neighbors"),
            (True, DENSE, "dense: to all cells of the complex"),
        )
        if dense in kinds
    ]
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2,
              frameon=False, labelcolor=theme.ink, fontsize=9, handlelength=3.2)  # fmt: skip
    together = any(len(relation.senders) == ranks > 1 for relation in relations)
    told = title or ("one softmax over the cells of all ranks" if together else "")
    headline(ax, told, theme)
    return figure_of(ax)


def _add_arrow(ax: Axes, arrow: Arrow, dense: bool, place: int, theme: Theme) -> None:
    """A curve, a head in its last direction, and the name beside it."""
    line, width = DENSE if dense else SPARSE
    loop = arrow.sender == arrow.receiver
    path = (_loop if loop else _arc)(arrow.sender, arrow.receiver, place)
    tip, along = path[3].copy(), (path[3] - path[2]) / np.linalg.norm(path[3] - path[2])
    base, across = tip - HEAD * along, 0.45 * HEAD * np.array([-along[1], along[0]])
    path[3] = base + 0.1 * HEAD * along
    curve = Path(path, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    ax.add_patch(PathPatch(curve, fill=False, lw=width, ls=line, ec=theme.ink, zorder=4))
    ax.add_patch(Polygon([tip, base + across, base - across], fc=theme.ink, ec="none", zorder=4))
    if loop:
        bulge = path.T @ [0.04, 0.23, 0.43, 0.3] + np.array([0.18, 0.02])
        name = write(ax, bulge, _name(arrow), 12.0, theme)
        name.set_horizontalalignment("left")
    else:
        middle = path.T @ [0.125, 0.375, 0.375, 0.125]
        aside = [0.0, 0.2 if arrow.receiver > arrow.sender else -0.2]
        write(ax, middle + aside, _name(arrow), 12.0, theme)


def _loop(rank: int, _: int, place: int) -> Float64[np.ndarray, "4 2"]:
    """Bezier points of a loop above a disk or below it, at right angles to its rim."""
    wider = place // 2
    angles = 125.0 + 12 * wider, 55.0 - 12 * wider
    leaving, meeting = (_spoke(angle) * [1, (-1) ** place] for angle in angles)
    reach = 4.2 + 1.6 * wider
    return [2.0 * rank, 0.0] + RADIUS * np.stack(
        [leaving, reach * leaving, reach * meeting, 1.05 * meeting]
    )


def _arc(sender: int, receiver: int, place: int) -> Float64[np.ndarray, "point 2"]:
    """Bezier points from a rank to a higher one above, to a lower one below the disks."""
    side = 1.0 if receiver > sender else -1.0
    span = 2.0 * (receiver - sender)
    high = side * (0.3 + 0.12 * (abs(span) - 2) + 0.3 * place)
    start = RADIUS * _spoke(20.0)
    x, y = 2.0 * sender, float(start[1]) * side
    return np.array(
        [
            (x + side * start[0], y),
            (x + 0.3 * span, y + high),
            (x + 0.7 * span, y + high),
            (x + span - 1.05 * side * start[0], y),
        ]
    )


def _spoke(degrees: float) -> Float64[np.ndarray, "2"]:
    angle = np.radians(degrees)
    return np.array([np.cos(angle), np.sin(angle)])


def _name(arrow: Arrow) -> str:
    match arrow.neighborhood:
        case "up":
            return "A\N{UPWARDS ARROW}"
        case "down":
            return "A\N{DOWNWARDS ARROW}"
        case "incidence":
            return "I" if arrow.receiver < arrow.sender else "I\N{MODIFIER LETTER CAPITAL T}"
        case str():
            return arrow.neighborhood
        case own:
            return getattr(own, "__name__", "own")
