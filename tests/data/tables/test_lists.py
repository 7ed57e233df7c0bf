import numpy as np
import pandas as pd
import pytest

from cellformer.data.tables.lists import as_json, entries_of, holds_lists


@pytest.mark.parametrize(
    ("cell", "entries"),
    [
        ("[0.1, null, 2]", [0.1, None, 2]),
        ("0.1;;n/a; 2 ", [0.1, None, None, 2]),
        ("0,1;0,25", [0.1, 0.25]),
        ("[0.1 0.2\n 0.3]", [0.1, 0.2, 0.3]),  # as numpy writes them
        ("(1, 2)", [1, 2]),
        ("[nan, 1e-3]", [None, 1e-3]),
        ("0.1 0.2", [0.1, 0.2]),  # as RDKit writes properties of atoms
        ('["sp3", "sp2"]', ["sp3", "sp2"]),
        ("['sp3', 'sp2']", ["sp3", "sp2"]),
        ("[]", []),
        ("0.5", [0.5]),
        ("", None),
        ("nan", None),
        (None, None),
        (np.nan, None),
        (np.array([1.5, np.nan]), [1.5, None]),
        ([1, None, True], [1, None, 1]),
        (2, [2]),
    ],
)
def test_a_cell_is_read_as_a_list(cell, entries):
    assert entries_of(cell) == entries


@pytest.mark.parametrize(
    ("cells", "are"),
    [
        (["[1, 2]", "[3]", None], True),
        (["1;2", "3;4", ""], True),
        ([np.array([1.0]), None], True),
        (["toxic;irritant", "toxic;inert"], False),
        (["1.5", "2,5"], False),
        ([1.5, 2.5], False),
        ([None, ""], False),
    ],
)
def test_lists_are_told_from_other_cells(cells, are):
    assert holds_lists(pd.Series(cells, dtype=object)) == are


def test_a_written_list_is_read_back():
    values = [0.1, None, -3.0, "sp³"]
    assert entries_of(as_json(values)) == values
    assert as_json([float("nan")]) == "[null]"
