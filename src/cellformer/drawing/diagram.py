"""A picture of a tensor diagram: ranks and the arrows between them."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch

from cellformer.drawing.canvas import figure_of, headline, new_axes, write
from cellformer.drawing.colors import EDGE_COLOR, FACE_COLOR, VERTEX_COLOR
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.model.diagram import Arrow
from cellformer.model.plan import AttentionPlan

WORDS = ("vertices", "edges", "2-cells")
SPARSE, DENSE = ("-", 1.6), ("--", 3.0)


def draw_diagram(plan: AttentionPlan, title: str = "", theme: Theme = LIGHT) -> Figure:
    """A disk for every rank, an arrow from each sending to each receiving rank.

    Arrows carry their neighborhood: A with an arrow up or down for adjacency, I for incidence.
    Dense ones are wide and broken. Source: the paper, section "Tensor diagrams for cellular
    transformers".
    """
    ranks = plan.diagram.num_ranks
    ax = new_axes(2.1 * ranks + 1.2, 3.2, theme)
    ax.set_xlim(-1, 2 * ranks - 1)
    ax.set_ylim(-1.35, 1.4)
    ax.set_aspect("equal")
    ax.set_axis_off()
    for rank in range(ranks):
        color = (VERTEX_COLOR, EDGE_COLOR, FACE_COLOR)[min(rank, 2)]
        ax.add_patch(Circle((2 * rank, 0), 0.36, fc=color, ec=theme.ink, lw=1, zorder=5))
        ax.text(2 * rank, 0, str(rank), ha="center", va="center", fontsize=14, zorder=6,
                color="#000000" if rank >= 2 else "#FFFFFF", fontweight="bold")  # fmt: skip
        word = WORDS[rank] if rank < len(WORDS) else f"{rank}-cells"
        ax.text(2 * rank, -1.2, word, ha="center", va="center", color=theme.ink, fontsize=11)
    drawn: dict[tuple[int, int], int] = {}
    relations = plan.relations(plan.diagram.max_rank)
    for relation in relations:
        for arrow in relation.arrows:
            ends = (arrow.sender, arrow.receiver)
            _add_arrow(ax, arrow, relation.dense, drawn.get(ends, 0), theme)
            drawn[ends] = drawn.get(ends, 0) + 1
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
    line, width = DENSE if dense else SPARSE
    at, to = 2.0 * arrow.sender, 2.0 * arrow.receiver
    if arrow.sender == arrow.receiver:
        reach = 1.0 + 0.35 * place
        start, stop, bend = (at - 0.2, 0.3), (at + 0.2, 0.3), -2.2 * reach
        middle = np.array([at, 0.5 + 0.55 * reach])
    else:
        side = 1.0 if to > at else -1.0
        away = 0.22 + 0.22 * place
        start, stop, bend = (at + 0.34 * side, 0.12 * side), (to - 0.34 * side, 0.12 * side), -0.35
        span = abs(to - at)
        bend *= 1 + place + (0.4 if span > 2 else 0)
        middle = np.array([(at + to) / 2, side * (0.14 + 0.25 * span * away + 0.25)])
    ax.add_patch(
        FancyArrowPatch(
            start,
            stop,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>",
            mutation_scale=16,
            lw=width,
            ls=line,
            color=theme.ink,
            zorder=4,
            shrinkA=0,
            shrinkB=0,
        )
    )
    write(ax, middle, _name(arrow), 12.0, theme)


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
