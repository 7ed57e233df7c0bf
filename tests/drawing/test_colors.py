import matplotlib
import numpy as np
import pytest

from cellformer.complexes import examples
from cellformer.drawing.colors import (
    column_map,
    diverging_map,
    encoding_colors,
    rank_colors,
    telling_columns,
)
from cellformer.drawing.contrast import contrast, seen_on
from cellformer.drawing.theme import DARK, LIGHT


def encoded(cells, columns):
    """The complex with these functions of the cell's number as the columns of its encodings."""
    total = sum(cells.num_cells)
    every = np.stack([column(np.arange(total)) for column in columns], axis=1).astype(np.float32)
    rows = np.split(every, np.cumsum(cells.num_cells)[:-1])
    return cells.with_encodings(rows, np.zeros(len(columns), np.int8))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_three_columns_are_red_green_blue_scaled_over_all_ranks(theme):
    cells = encoded(
        examples.triangle(), [lambda i: i, lambda i: -2.0 * i, lambda i: 5 + i**2, lambda i: 0 * i]
    )
    colors = np.concatenate(encoding_colors(cells, theme=theme))
    number = np.arange(7)
    scaled = np.stack([number / 6, 1 - number / 6, number**2 / 36], axis=1)
    np.testing.assert_allclose(colors, seen_on(scaled, theme.page), atol=1e-6)
    assert [len(rows) for rows in encoding_colors(cells)] == [3, 3, 1]


def test_one_column_is_read_off_the_colormap():
    cells = encoded(examples.triangle(), [lambda i: i, lambda i: 0 * i])
    for theme, end in ((LIGHT, 0), (DARK, 1)):
        colors = encoding_colors(cells, (0,), theme)
        np.testing.assert_allclose(colors[0][0], column_map(theme)(0.0)[:3])
        np.testing.assert_allclose(colors[2][0], column_map(theme)(1.0)[:3])
        viridis = matplotlib.colormaps["viridis"](float(end))[:3]
        np.testing.assert_allclose(column_map(theme)(float(end))[:3], viridis)


def test_a_column_that_is_the_same_everywhere_is_in_the_middle():
    cells = encoded(examples.triangle(), [lambda i: 0 * i + 3] * 3)
    np.testing.assert_allclose(np.concatenate(encoding_colors(cells)), 0.5)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_contributions_are_seen_at_both_ends_and_pale_between(theme):
    low, middle, high = (
        contrast(np.array(diverging_map(theme)(place)[:3]), theme.page) for place in (0.0, 0.5, 1.0)
    )
    assert min(low, high) >= 3
    assert middle < 1.5


def test_other_columns_are_refused():
    cells = encoded(examples.triangle(), [lambda i: i] * 3)
    with pytest.raises(ValueError, match="one or three columns of the encodings, got 2"):
        encoding_colors(cells, (0, 1))
    with pytest.raises(ValueError, match="have 3 columns, there is no column 3"):
        encoding_colors(cells, (1, 2, 3))
    with pytest.raises(ValueError, match="have 0 columns"):
        encoding_colors(examples.triangle())


def test_without_encodings_each_rank_has_a_color():
    colors = rank_colors(examples.tetrahedron())
    assert [rows.shape for rows in colors] == [(4, 3), (6, 3), (4, 3), (1, 3)]
    assert len({tuple(rows[0]) for rows in colors[:3]}) == 3


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([], ()),
        (["line"], (0,)),
        (["zero", "line"], (1,)),
        (["line"] * 4, (0, 1, 2)),
        (["zero", "line", "few", "line", "line"], (1, 3, 4)),
        (["few", "zero", "line", "zero"], (0, 1, 2)),
        (["rounding", "line", "line", "line"], (1, 2, 3)),
    ],
)
def test_columns_that_tell_cells_apart_are_chosen(columns, expected):
    makers = {
        "line": lambda i: i + 1.0,
        "zero": lambda i: 0.0 * i,
        "few": lambda i: i == 3,
        "rounding": lambda i: 1 + 2e-7 * (i % 2),
    }
    cells = examples.grid(3, 3)
    if columns:
        cells = encoded(cells, [makers[name] for name in columns])
    assert telling_columns(cells) == expected


def test_a_complex_without_cells_has_no_column_to_tell():
    nothing = examples.edgeless(0).with_encodings(
        [np.zeros((0, 3), np.float32)], np.zeros(3, np.int8)
    )
    assert telling_columns(nothing) == ()
    assert encoding_colors(nothing)[0].shape == (0, 3)
