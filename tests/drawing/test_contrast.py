import matplotlib
import numpy as np
import pytest

import cellformer as cf
from cellformer.complexes import examples
from cellformer.drawing.attention import draw_attention
from cellformer.drawing.contrast import LEAST, MOST, contrast, luminance, seen_on, writing_on
from cellformer.drawing.contributions import draw_contributions
from cellformer.drawing.diagram import draw_diagram
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.flows import draw_flow
from cellformer.drawing.molecule import (
    atom_symbols,
    bond_orders,
    hetero_labels,
    molecule_positions,
)
from cellformer.drawing.theme import DARK, LIGHT
from cellformer.explaining.attention import ArrowWeights
from cellformer.explaining.contributions import Contributions

MOLECULES = ("c1ccc2ccccc2c1", "CC(=O)Nc1ccc(O)cc1", "C#CC=C(Cl)C(=O)OBr")
SHAPES = {
    **dict.fromkeys(MOLECULES),
    "Petersen": examples.petersen,
    "cliques": lambda: cf.lift(cf.Graph.from_edges(np.argwhere(np.tri(6, k=-1))), cf.Cliques()),
    "grid in space": lambda: examples.grid(4, 4),
}
SIGNALS = {
    "bspe": lambda cells: cf.encode(cells, cf.BSPe(8)),
    "walks": lambda cells: cf.encode(cells, [cf.RWBSPe(8), cf.RWPe(8)]),
    "zero": lambda cells: signal(cells, np.zeros),
    "constant": lambda cells: signal(cells, lambda shape: np.full(shape, 3.0)),
    "outlier": lambda cells: signal(cells, lambda shape: 1e6 * (np.indices(shape)[0] == 1)),
    "one column": lambda cells: cf.encode(cells, cf.HodgeLap(1)),
    "none": lambda cells: cells,
}


def signal(cells, values):
    every = values((sum(cells.num_cells), 3)).astype(np.float32)
    rows = np.split(every, np.cumsum(cells.num_cells)[:-1])
    return cells.with_encodings(rows, np.zeros(3, np.int8))


def shape(name):
    """The complex, and how it is drawn."""
    if name not in MOLECULES:
        cells = SHAPES[name]()
        if name == "grid in space":
            rows, columns = np.divmod(np.arange(cells.num_vertices), 5)
            return cells, {"positions": np.stack([rows, columns, np.sin(rows)], 1).astype(float)}
        return cells, {}
    cells = cf.lift(cf.Graph.from_smiles(name), cf.Rings())
    return cells, {
        "positions": molecule_positions(name),
        "labels": hetero_labels(atom_symbols(name)),
        "orders": bond_orders(name, cells),
    }


def unseen(figure, theme, fills):
    """What has less contrast than 3 to what it lies on: lines, borders, disks and words.

    ``fills`` says whether disks and lines are seen by their own color, not only by an outline.
    """
    found = []
    for ax in figure.axes:
        for collection in ax.collections if ax.get_label() != "<colorbar>" else []:
            edges, faces = collection.get_edgecolor(), collection.get_facecolor()
            if len(faces) == len(edges):  # in space: lines are not filled, disks have a border
                line, disk = faces[:, 3] == 0, (faces != edges).any(axis=1) & (faces[:, 3] == 1)
                marks = [edges[line], faces[disk]] if line.any() or disk.any() else [edges, faces]
            else:
                marks = [edges, faces]
            for colors in marks if fills else marks[:1]:
                solid = colors[colors[:, 3] == 1][:, :3]  # the fill of areas is translucent
                if len(solid) and contrast(solid, theme.page).min() < LEAST:
                    found.append(type(collection).__name__)
        texts = [*ax.texts, ax.title]
        texts += [ax.yaxis.label, *ax.get_yticklabels()] if ax.axison else []
        texts += ax.get_legend().get_texts() if ax.get_legend() else []
        for text in filter(lambda text: text.get_text(), texts):
            (stroke,) = text.get_path_effects() or (None,)
            ground = matplotlib.colors.to_hex(stroke._gc["foreground"]) if stroke else theme.page
            color = np.array(matplotlib.colors.to_rgb(text.get_color()))
            if contrast(color, ground) < LEAST and text.get_fontweight() != "bold":
                found.append(text.get_text())
    return found


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("encoding", SIGNALS)
def test_all_that_is_drawn_is_seen(name, encoding, theme):
    cells, how = shape(name)
    figure = draw_complex(SIGNALS[encoding](cells), title="a title", theme=theme, **how)
    assert unseen(figure, theme, fills=True) == []


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("name", MOLECULES)
def test_attention_and_contributions_are_seen(name, theme):
    cells, how = shape(name)
    random = np.random.default_rng(0)
    values = tuple(random.normal(size=count) for count in cells.num_cells)
    figure = draw_contributions(cells, Contributions(values, 1.0), theme=theme, **how)
    assert unseen_outlines(figure, theme) == []
    pairs = np.array([[0, 1], [1, 2]])
    weights = ArrowWeights(0, "0 -> 0", 0, 0, *pairs, np.full((2, 1), 0.5))
    assert unseen_outlines(draw_attention(cells, weights, theme=theme, **how), theme) == []


def unseen_outlines(figure, theme):
    return [what for what in unseen(figure, theme, fills=False) if what != "LineCollection"]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_diagram_is_seen(theme):
    figure = draw_diagram(cf.pairwise_mixed(), theme=theme)
    assert unseen(figure, theme, fills=True) == []


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_arrows_and_edges_of_a_flow_are_seen(theme):
    cells = examples.grid(4, 4)
    flow = np.random.default_rng(0).normal(size=cells.num_cells[1])
    assert unseen(draw_flow(cells, flow, theme=theme), theme, fills=True) == []


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_color_is_brought_to_a_contrast_within_the_bounds_and_no_farther(theme):
    colors = np.random.default_rng(0).random((200, 3))
    shown = np.round(255 * seen_on(colors, theme.page)) / 255
    ratios = contrast(shown, theme.page)
    assert ratios.min() >= LEAST
    assert ratios.max() <= MOST
    before = contrast(colors, theme.page)
    kept = (before > 1.1 * LEAST) & (before < MOST / 1.1)
    np.testing.assert_allclose(shown[kept], colors[kept], atol=0.003)


def test_contrast_is_that_of_the_standard():
    assert contrast(np.zeros(3), "#FFFFFF") == pytest.approx(21)
    assert contrast(np.array(matplotlib.colors.to_rgb("#767676")), "#FFFFFF") == pytest.approx(
        4.54, abs=0.01
    )
    assert luminance(np.ones(3)) == pytest.approx(1)


def test_writing_can_be_read_on_any_color():
    colors = np.random.default_rng(0).random((200, 3))
    for color, ink in zip(colors, writing_on(colors), strict=True):
        assert contrast(color, str(ink)) >= 4.5
