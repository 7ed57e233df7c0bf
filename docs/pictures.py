"""The pictures of the documentation, one function each, drawn while the site is built.

``python docs/pictures.py``, from the root of the repository, draws the picture of the README.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import floors
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure

import cellformer as cf
from cellformer.attention.operator import use_attention
from cellformer.complexes.examples import house, tetrahedron, torus_grid
from cellformer.data.named.drawn_fields import draw_field
from cellformer.drawing.canvas import figure_of, headline, new_axes, write
from cellformer.drawing.colors import EDGE_COLOR, FACE_COLOR, VERTEX_COLOR
from cellformer.drawing.molecule import atom_symbols, bond_orders, hetero_labels
from cellformer.drawing.tokens import cell_centers

ROWS, COLUMNS = 12, 30
CAFFEINE = "Cn1cnc2c1c(=O)n(C)c(=O)n2C"
ENCODINGS = (cf.BSPe(8), cf.RWBSPe(8), cf.RWPe(8), cf.HodgeLap(8), cf.Slepians(8))
SUM = "\N{N-ARY SUMMATION}"
FORMS = ("pairwise-sparse", "pairwise-dense", "pairwise-mixed", "general-sparse", "general-dense")


def cells_of_the_house(theme: cf.Theme) -> Figure:
    """Every cell of a small complex with its name."""
    cells = house()
    ax = new_axes(3.4, 4.8, theme)
    cf.draw_complex(cells, ax=ax, theme=theme)
    for letter, centers in zip("vef", cell_centers(cells, _places(cells)), strict=True):
        for number, place in enumerate(centers):
            write(ax, place, f"{letter}{number}", 12, theme)
    return figure_of(ax)


def boundaries_of_the_house(theme: cf.Theme) -> Figure:
    """B1 and B2 with their signs."""
    cells = house()
    figure, axes = _row(2, (8, 3.2), theme, [6, 2])
    for rank, ax in enumerate(axes, start=1):
        matrix = cells.boundary(rank).toarray()
        _signs(ax, matrix, theme)
        _name(ax, "vef"[rank - 1], "vef"[rank], matrix.shape, theme)
        headline(ax, f"B{rank}", theme)
    return figure


def neighborhoods_of_the_house(theme: cf.Theme) -> Figure:
    """Adjacency and incidence, derived from the boundaries."""
    cells = house()
    shown = (
        ("A↑ of vertices", cf.up_adjacency(cells, 0), "vv"),
        ("A↓ of edges", cf.down_adjacency(cells, 1), "ee"),
        ("I: edges in 2-cells", cf.incidence(cells, 2), "ef"),
    )
    figure, axes = _row(3, (10, 3.6), theme, [5, 6, 2])
    for ax, (title, matrix, letters) in zip(axes, shown, strict=True):
        dense = matrix.toarray()
        ax.imshow(dense, cmap=ListedColormap([theme.page, theme.accent]), vmin=0, vmax=1)
        _name(ax, letters[0], letters[1], dense.shape, theme)
        headline(ax, title, theme)
    return figure


def decomposition_of_a_flow(theme: cf.Theme) -> Figure:
    """A flow around holes and its three parts."""
    field = draw_field(np.random.default_rng(13))
    return cf.draw_flow(field.sea.complex(), field.values[:, 0], size=3.0, theme=theme)


def liftings(theme: cf.Theme) -> Figure:
    """One graph under four liftings."""
    graph = cf.Graph.from_smiles("C1CC2CC1C1C2C1C1=CC=CC=C1")
    places = cf.molecule_positions("C1CC2CC1C1C2C1C1=CC=CC=C1")
    figure, axes = _grid(2, 2, (8, 4.8), theme)
    for ax, (title, lifting) in zip(
        axes,
        (
            ("skeleton", cf.Skeleton()),
            ("rings", cf.Rings()),
            ("induced-cycles", cf.InducedCycles(max_length=8)),
            ("cliques", cf.Cliques()),
        ),
        strict=True,
    ):
        cells = cf.lift(graph, lifting)
        counts = cells.num_cells[2] if cells.dim > 1 else 0
        cf.draw_complex(cells, positions=places, ax=ax, theme=theme, title=f"{title}: {counts}")
    return figure


def relabeled(theme: cf.Theme) -> Figure:
    """The same graph under two numberings, by the lifting of the paper and by the default."""
    rows, columns = np.divmod(np.arange(9), 3)
    places = np.stack([columns, rows], 1).astype(float)
    across = [(v, v + 1) for v in range(9) if v % 3 < 2] + [(v, v + 3) for v in range(6)]
    order = np.random.default_rng(2).permutation(9)
    figure, axes = _row(4, (9, 3), theme)
    for ax, (lifting, moved) in zip(
        axes,
        [
            (lifting, moved)
            for lifting in (cf.CycleBasis(), cf.InducedCycles(max_length=8))
            for moved in (np.arange(9), order)
        ],
        strict=True,
    ):
        graph = cf.Graph.from_edges(moved[np.array(across)])
        where = np.empty_like(places)
        where[moved] = places
        cells = cf.lift(graph, lifting)
        lengths = sorted(np.diff(cells.boundary(2).indptr).tolist())
        name = "cycle-basis" if isinstance(lifting, cf.CycleBasis) else "induced-cycles"
        title = f"{name}\ncycles of {', '.join(map(str, lengths))}"
        cf.draw_complex(cells, positions=where, ax=ax, theme=theme, title=title)
    return figure


def barycentric(theme: cf.Theme) -> Figure:
    """The graph that bspe and rwbspe walk on: every cell, joined to all its faces."""
    cells = house()
    centers = cell_centers(cells, _places(cells))
    points = np.concatenate(centers)
    skeleton = cf.barycentric_skeleton(cells).tocoo()
    ax = new_axes(3.4, 4.8, theme)
    cf.draw_complex(cells, colors=_quiet(cells, theme), ax=ax, theme=theme)
    for a, b in zip(skeleton.row.tolist(), skeleton.col.tolist(), strict=True):
        if a < b:
            ax.plot(*points[[a, b]].T, color=theme.ink, lw=1, zorder=11)
    for rows, color in zip(centers, (VERTEX_COLOR, EDGE_COLOR, FACE_COLOR), strict=True):
        ax.scatter(*rows.T, s=90, color=color, edgecolor=theme.ink, zorder=12)
    return figure_of(ax)


def encodings(theme: cf.Theme) -> Figure:
    """Each encoding on one molecule, three columns read as a color."""
    figure, axes = _grid(2, 3, (9, 6), theme)
    for ax, encoding in zip(axes, ENCODINGS, strict=False):
        cells = cf.encode(_caffeine(), encoding)
        cf.draw_complex(cells, positions=cf.molecule_positions(CAFFEINE), ax=ax, theme=theme,
                        title=type(encoding).__name__.lower(),
                        orders=bond_orders(CAFFEINE, cells))  # fmt: skip
    axes[-1].remove()
    return figure


def eigenvectors(theme: cf.Theme) -> Figure:
    """The first columns of bspe, one by one."""
    cells = cf.encode(torus(), cf.BSPe(4))
    figure, axes = _grid(2, 2, (9, 5), theme)
    for column, ax in enumerate(axes):
        colors = cf.encoding_colors(cells, [column], theme)
        cf.draw_complex(cells, colors=colors, ax=ax, theme=theme, title=f"column {column}")
    return figure


def diagram(theme: cf.Theme) -> Figure:
    """The seven arrows of the paper."""
    return cf.draw_diagram(cf.pairwise_sparse(), theme=theme)


def diagram_mixed(theme: cf.Theme) -> Figure:
    """The same arrows, dense within a rank."""
    return cf.draw_diagram(cf.pairwise_mixed(), theme=theme)


def forms(theme: cf.Theme) -> Figure:
    """Which cell attends to which, in each of the five forms, for the house."""
    cells = house()
    bounds = np.cumsum([0, *cells.num_cells])
    figure, axes = _grid(2, 3, (9, 6.4), theme)
    shades = ListedColormap([theme.page, "#56B4E9", "#E69F00"])
    for ax, name in zip(axes, FORMS, strict=False):
        plan = cf.attention_plan(name)
        seen = np.zeros((bounds[-1], bounds[-1]))
        for relation in plan.relations(cells.dim):
            rows = slice(bounds[relation.receivers[0]], bounds[relation.receivers[-1] + 1])
            columns = slice(bounds[relation.senders[0]], bounds[relation.senders[-1] + 1])
            matrix = relation.matrix(cells).toarray()
            seen[rows, columns] = np.where(matrix != 0, 2, float(relation.dense))
        ax.imshow(seen, cmap=shades, vmin=0, vmax=2)
        for bound in bounds[1:-1]:
            ax.axhline(bound - 0.5, color=theme.ink, lw=1)
            ax.axvline(bound - 0.5, color=theme.ink, lw=1)
        middles = (bounds[1:] + bounds[:-1] - 1) / 2
        ax.set_xticks(middles, ["v", "e", "f"], color=theme.ink)
        ax.set_yticks(middles, ["v", "e", "f"], color=theme.ink)
        _plain(ax, theme)
        headline(ax, name, theme)
        ax.set_xlabel("senders", color=theme.ink)
        ax.set_ylabel("receivers", color=theme.ink)
    axes[-1].remove()
    return figure


def attention(theme: cf.Theme) -> Figure:
    """What the rings of caffeine take from its bonds in a model that has learned nothing yet."""
    cells = cf.encode(_caffeine(), [cf.BSPe(8), cf.RWPe(8)])
    torch.manual_seed(0)
    small = cf.ArchitectureConfig(width=32, layers=2, heads=4)
    config = cf.ModelConfig.for_batch(cf.collate([cells]), small)
    model = cf.CellularTransformer(config, cf.pairwise_sparse())
    with use_attention("reference"):  # nothing to compile for one picture
        attentions = cf.attention_of(model, cells)
    found = next(one for one in attentions if (one.layer, one.arrow) == (0, "1 -> 2"))
    labels = hetero_labels(atom_symbols(CAFFEINE))
    places = cf.molecule_positions(CAFFEINE)
    orders = bond_orders(CAFFEINE, cells)
    return cf.draw_attention(
        cells, found, None, places, labels, size=4.5, theme=theme, orders=orders
    )


def readout(theme: cf.Theme) -> Figure:
    """Vertices are read out one by one and summed."""
    cells = house()
    colors = _quiet(cells, theme)
    colors[0][:] = to_rgb(VERTEX_COLOR)
    ax = new_axes(7, 3.4, theme)
    cf.draw_complex(cells, colors=colors, ax=ax, theme=theme)
    ax.set_xlim(-0.4, 4.6)
    for place in _places(cells):
        arrow = {"arrowstyle": "-|>", "color": theme.faint, "connectionstyle": "arc3,rad=-0.08"}
        ax.annotate("", (2.9, 0.9), place + np.array([0.12, 0]), arrowprops=arrow, zorder=15)
    for x, y, words in (
        (2.1, 1.75, "MLP of\neach vertex"),
        (3.1, 0.9, SUM),
        (4.1, 0.9, "prediction"),
    ):
        size = 22 if words == SUM else 11
        write(ax, np.array([x, y]), words, size, theme)
    ax.annotate("", (3.75, 0.9), (3.25, 0.9), arrowprops={"arrowstyle": "-|>", "color": theme.ink})
    return figure_of(ax)


def solid(theme: cf.Theme) -> Figure:
    """A complex of dimension 3 and the diagram of such complexes."""
    return cf.draw_complex(tetrahedron(), size=4, view=(35, 60), theme=theme)


def diagram_of_solids(theme: cf.Theme) -> Figure:
    """Ten arrows over four ranks."""
    return cf.draw_diagram(cf.Pairwise(cf.paper_diagram(3)), theme=theme)


def mesh(theme: cf.Theme) -> Figure:
    """The torus, colored by where its cells sit."""
    return cf.draw_complex(cf.encode(torus(), cf.BSPe(8)), size=5, theme=theme)


def house_of_the_package(theme: cf.Theme) -> Figure:
    """Who imports from whom."""
    return floors.draw_floors(theme)


def torus() -> cf.CellComplex:
    """A grid of squares closed to a torus, placed in space."""
    cells = torus_grid(ROWS, COLUMNS)
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    around, along = 2 * np.pi * row / ROWS, 2 * np.pi * column / COLUMNS
    radius = 2.4 + np.cos(around)
    places = np.stack([radius * np.cos(along), radius * np.sin(along), np.sin(around)], axis=1)
    return cf.CellComplex.from_boundaries(cells.boundaries, positions=places)


@cache
def _caffeine() -> cf.CellComplex:
    return cf.lift(cf.Graph.from_smiles(CAFFEINE), cf.Rings())


def _places(cells: cf.CellComplex) -> np.ndarray:
    assert cells.positions is not None
    return cells.positions


def _quiet(cells: cf.CellComplex, theme: cf.Theme) -> list[np.ndarray]:
    return [np.tile(np.array(to_rgb(theme.faint)), (count, 1)) for count in cells.num_cells]


def _row(
    count: int,
    size: tuple[float, float],
    theme: cf.Theme,
    widths: Sequence[float] | None = None,
) -> tuple[Figure, Sequence[Axes]]:
    """Axes side by side."""
    figure = Figure(figsize=size, layout="constrained", facecolor=theme.page)
    axes = figure.subplots(1, count, width_ratios=widths)
    for ax in axes:
        ax.set_facecolor(theme.page)
    return figure, axes


def _grid(
    rows: int, columns: int, size: tuple[float, float], theme: cf.Theme
) -> tuple[Figure, Sequence[Axes]]:
    """Axes in rows and columns, row after row."""
    figure = Figure(figsize=size, layout="constrained", facecolor=theme.page)
    axes = figure.subplots(rows, columns).ravel()
    for ax in axes:
        ax.set_facecolor(theme.page)
    return figure, axes


def _signs(ax: Axes, matrix: np.ndarray, theme: cf.Theme) -> None:
    ax.imshow(matrix, cmap=ListedColormap(["#CC79A7", theme.page, "#56B4E9"]), vmin=-1, vmax=1)
    for (row, column), value in np.ndenumerate(matrix):
        if value:
            sign = "+" if value > 0 else "\N{MINUS SIGN}"
            ax.text(column, row, sign, ha="center", va="center", fontsize=16, color="#000000")


def _name(ax: Axes, rows: str, columns: str, shape: tuple[int, ...], theme: cf.Theme) -> None:
    ax.set_yticks(range(shape[0]), [f"{rows}{number}" for number in range(shape[0])])
    ax.set_xticks(range(shape[1]), [f"{columns}{number}" for number in range(shape[1])])
    _plain(ax, theme)


def _plain(ax: Axes, theme: cf.Theme) -> None:
    ax.tick_params(colors=theme.ink, length=0)
    for spine in ax.spines.values():
        spine.set_color(theme.faint)


def main() -> None:
    """Caffeine, a graph of the GCB task, and a torus."""
    graph = replace(cf.open_source("gcb-hard-small").graph(4), positions=None)  # laid out anew
    cloud = cf.lift(graph, cf.CycleBasis())
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    places, orders = cf.molecule_positions(CAFFEINE), bond_orders(CAFFEINE, _caffeine())
    labels = hetero_labels(atom_symbols(CAFFEINE))
    for ax, cells, title, how in (
        (axes[0], _caffeine(), "a molecule and its rings",
         {"positions": places, "orders": orders, "labels": labels}),
        (axes[1], cloud, "a graph and its cycles", {}),
        (axes[2], torus(), "a mesh and its faces", {}),
    ):  # fmt: skip
        cf.draw_complex(cf.encode(cells, cf.BSPe(8)), ax=ax, title=title, **how)
    figure.savefig(Path("docs/images/cells.png"), dpi=110)


if __name__ == "__main__":
    main()
