import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellformer.data import texts
from cellformer.data.dataset import SmilesList
from cellformer.data.tables.molecules import smiles_of
from cellformer.data.tables.table import Table
from cellformer.data.texts import ChosenTexts, Texts, as_before, joined_texts, trimmed

WORDS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4))


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(texts, "FEW", 3)


def column(words, size=2):
    chunks = [
        pa.array(words[at : at + size], pa.large_string()) for at in range(0, len(words), size)
    ]
    return pa.chunked_array(chunks, pa.large_string())


@given(WORDS)
def test_texts_of_a_column_are_those_that_python_strips(words):
    expected = tuple((word or "").strip() for word in words)
    found = trimmed(column(words))
    assert isinstance(found, tuple)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "FEW", 3)
        for few in (
            trimmed(column(words)),
            smiles_of(Table("t", pd.DataFrame({"smiles": words}, dtype="str"))),
        ):
            assert isinstance(few, tuple) == (len(words) <= 3)
            assert tuple(few) == expected == few[:]
            assert few[1:4] == expected[1:4]
            assert [few[place] for place in range(len(few))] == list(expected)
            assert SmilesList(few).digest() == SmilesList(expected).digest()


def test_texts_without_outer_blanks_are_not_copied(few):
    words = column(["CCO", "CCN", "C", "CC", "CCC"])
    held = pa.total_allocated_bytes()
    found = trimmed(words)
    assert pa.total_allocated_bytes() == held
    assert isinstance(found, Texts)
    assert found[4] == "CCC"


def test_texts_in_the_place_of_others_are_kept_as_these_are(few):
    made = [f"C{number}" for number in range(10)]
    assert as_before(("C",) * 10, iter(made)) == tuple(made)
    held = pa.total_allocated_bytes()
    found = as_before(trimmed(column(["C"] * 10)), iter(made))
    assert isinstance(found, Texts)
    assert tuple(found) == tuple(made)
    assert pa.total_allocated_bytes() == held  # they lie in a mapped file


def test_lists_of_texts_are_joined(few):
    many, two = trimmed(column(["a", "b", "c", "d"])), ("e", "f")
    assert joined_texts([two, two]) == ("e", "f", "e", "f")
    for lists in ([many, two], [two, many], [many, many]):
        found = joined_texts(lists)
        assert isinstance(found, Texts)
        assert tuple(found) == tuple(text for each in lists for text in each)


def test_some_of_the_texts_are_found_when_they_are_asked_for(few):
    chosen = ChosenTexts(trimmed(column(["a", "b", "c", "d"])), np.array([3, 1, 1]))
    assert (len(chosen), tuple(chosen), chosen[0], chosen[1:]) == (
        3,
        ("d", "b", "b"),
        "d",
        ("b", "b"),
    )
