import codecs
import csv
import gzip
import io
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.data.mapped import MAPPED_FROM
from cellformer.data.tables.delimited import (
    Dialect,
    detect_decimal,
    detect_separator,
    read_delimited,
)


@pytest.fixture(scope="module", params=[MAPPED_FROM, 0], ids=["small", "large"], autouse=True)
def _in_memory_or_mapped(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cellformer.data.mapped.MAPPED_FROM", request.param)
        yield


def read(raw, **options):
    return read_delimited(io.BytesIO(raw), "set.csv", **options)


def cells(raw, **options):
    frame, _ = read(raw, **options)
    return [list(frame.columns), *frame.to_numpy().tolist()]


LETTERS = st.characters(codec="utf-8", exclude_characters="\0\r\ufeff")
CELL = st.text(LETTERS, max_size=6)
SEPARATOR = st.sampled_from([",", ";", "\t", "|"])


@st.composite
def tables(draw):
    """Rows of equally many cells, at least two columns: with one, a blank line is no row."""
    width = draw(st.integers(2, 5))
    row = st.lists(CELL, min_size=width, max_size=width)
    return draw(st.lists(row, min_size=1, max_size=6))


@given(
    tables(),
    SEPARATOR,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_cells_come_back_exactly_as_they_were_written(
    rows, separator, newline, charset, quoting, gzipped
):
    if any("\n" in cell or "\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # the writer quotes only the line ends that it writes itself
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator=newline, quoting=quoting).writerows(rows)
    raw = text.getvalue().encode(charset)
    raw = gzip.compress(raw, mtime=0) if gzipped else raw
    assert cells(raw, separator=separator) == rows


@given(
    st.lists(st.lists(st.text("ab 1.", max_size=4), min_size=3, max_size=3), min_size=1),
    SEPARATOR,
)
@settings(deadline=None, max_examples=50)
def test_the_separator_is_found_out(rows, separator):
    header = ["smiles", "name", "solubility (g/l)"]
    raw = "".join(separator.join(row) + "\n" for row in [header, *rows]).encode()
    assert cells(raw) == [header, *rows]
    assert read(raw)[1] == Dialect(separator, "\n", False)


def test_the_separator_is_not_what_a_name_or_a_cell_contains():
    assert detect_separator("smiles,solubility (g/l; 25 C; pH 7)\nC,1\n") == ","
    assert detect_separator('smiles;"a, b, c"\nC;"1, 2, 3"\n') == ";"
    assert detect_separator("smiles\nC\n") == ","
    assert detect_separator("a;b,c\n1;2,5\n1;3,5\n") == ","  # as even as ;, and more usual
    assert detect_separator("a;b\n1;2,5\n1;3\n") == ";"
    assert detect_separator('"smiles"\t"y"\n"C"\t"0,5"\n"CC"\t"1,5"\n') == "\t"


def test_blank_lines_are_no_rows():
    raw = b"\n  \nsmiles,y\n\nC,1\r\n \t \n\nO,2\n\n\n"
    assert cells(raw) == [["smiles", "y"], ["C", "1"], ["O", "2"]]


@pytest.mark.parametrize("zipped", [False, True])
def test_bytes_that_are_not_utf_8_under_its_mark_are_read_with_a_warning(zipped, caplog):
    raw = codecs.BOM_UTF8 + "größe,y\n".encode() + b"caf\xe9,1\n\x81\xff,2\n" + "ř,3\n".encode()
    frame, dialect = read(gzip.compress(raw) if zipped else raw)
    assert list(frame.columns) == ["größe", "y"]
    assert frame["größe"].tolist() == ["café", "\ufffdÿ", "ř"]
    assert dialect.mark
    assert "3 of its characters are not" in caplog.text


def test_text_that_is_not_utf_8_is_read_with_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        assert cells("n\u00e4me,y\n\u20ac,1\n".encode("cp1252")) == [
            ["n\u00e4me", "y"],
            ["\u20ac", "1"],
        ]
        assert "set.csv is not UTF-8; it is read as Windows-1252" in caplog.text
        assert cells(b"a,b\n\x81\xff,1\n")[1] == ["\x81\xff", "1"]
        assert "read as Latin-1" in caplog.text
    assert cells("\u0159,y\n1,2\n".encode("cp1250"), charset="cp1250")[0][0] == "\u0159"
    with pytest.raises(ValueError, match=r"set\.csv: there is no data.charset 'nonsense'"):
        read(b"a,b\n", charset="nonsense")
    with pytest.raises(ValueError, match=r"set\.csv is not utf-8"):
        read(b"a,b\n\xff,1\n", charset="utf-8")


def test_a_table_larger_than_the_sample_and_a_very_long_cell():
    rows = [[str(number), "x" * 50] for number in range(3000)] + [["long", "y" * 300_000]]
    raw = "\n".join(",".join(row) for row in [["id", "text"], *rows]).encode()
    assert cells(raw) == [["id", "text"], *rows]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"smiles,y\nC,1,2\n", "line 2: 3 cells where the header names 2"),
        (b"smiles,y\n\n\nC\n", "line 4: 1 cells"),
        (b'smiles,y\nO,"a\nb"\nC,1,2\n', "line 4: 3 cells"),
        (b'smiles,y\n"C,1\n', "line 2: "),
        (b"smiles;y;z\nC;1;2\nC;1\n", r"contains ';' or a line break must stand in double quotes"),
        (b"\x1f\x8bnonsense", "cannot be read"),
        (gzip.compress(b"smiles\n" + b"CCO\n" * 1000, mtime=0)[:-12], "cannot be read"),
    ],
)
def test_what_is_no_table_is_named(raw, words):
    with pytest.raises(ValueError, match=words) as error:
        read(raw)
    assert "set.csv" in str(error.value)


@pytest.mark.parametrize(
    ("rows", "decimal"),
    [
        ("C;1,5\n", ","),
        ("C;1\nCC;0,125\n", ","),
        ("C;> 12,25 mg/l\n", ","),
        ("C;-1,5e-3\n", ","),
        ("C;1,234\n", "."),  # may be a thousand
        ("C;1,5\nC;2.5\n", "."),
        ("C;1,5\nC;12.03.2024\n", ","),
        ("C;a,5\n", "."),
        ("1,5;1\n", ","),
        ("C;1\n", "."),
    ],
)
def test_the_sign_before_fractions_is_found_out(rows, decimal):
    assert detect_decimal(f"smiles;1,5\n{rows}", ";") == decimal
    assert detect_decimal(f"smiles,1\n{rows.replace(';', ',')}", ",") == "."
    assert read(f"smiles;y\n{rows}".encode())[1].decimal == decimal
