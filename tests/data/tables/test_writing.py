import csv
import io

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.data.tables.delimited import Dialect
from cellformer.data.tables.table import read_table, write_table
from cellformer.data.tables.writing import for_spreadsheets, write_delimited

TEXT = st.text(st.sampled_from(['"', "\r", "\n", ",", ";", "\t", " ", "'", "=", "é", "x", "1"]),
               max_size=6)  # fmt: skip
DIALECTS = [
    Dialect(s, n, m) for s in (",", ";", "\t") for n in ("\n", "\r\n") for m in (False, True)
]


def as_read(text, separator):
    """By Python's csv, which leaves out blank lines, and by pandas."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    frame = pd.read_csv(
        io.StringIO(text, newline=""), sep=separator, dtype=str, keep_default_na=False
    )
    return rows[1:], frame.to_numpy().tolist()


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(TEXT, st.floats(allow_nan=False, allow_infinity=False), TEXT), max_size=4),
    st.sampled_from(DIALECTS),
)
def test_what_is_written_is_read_back_the_same(rows, dialect):
    frame = pd.DataFrame(rows, columns=["smiles", "p", "no\rte"]).astype({"p": float})
    text = io.StringIO(newline="")
    write_delimited(frame, text, dialect)
    expected = [[first, str(number), last] for first, number, last in frame.to_numpy().tolist()]
    for found in as_read(text.getvalue(), dialect.separator):
        assert found == expected


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4), st.sampled_from(DIALECTS))
def test_our_own_reader_finds_the_same_cells(tmp_path_factory, rows, dialect):
    folder = tmp_path_factory.mktemp("tables")
    ending = ".tsv" if dialect.separator == "\t" else ".csv"
    frame = pd.DataFrame([(f"C{a}", b) for a, b in rows], columns=["smiles", "note"])
    write_table(frame, folder / f"out{ending}", dialect)
    read = read_table(folder / f"out{ending}", separator=dialect.separator)
    assert read.frame.to_numpy().tolist() == frame.to_numpy().tolist()


def test_numbers_are_written_as_those_that_were_read(tmp_path, capsys):
    frame = pd.DataFrame({"y": ["1,5", "x"], "prediction": [2.25, None]})
    dialect = Dialect(";", decimal=",")
    write_table(frame, tmp_path / "out.csv", dialect)
    assert (tmp_path / "out.csv").read_text() == "y;prediction\n1,5;2,25\nx;\n"
    write_table(frame, None, dialect)
    assert capsys.readouterr().out == "y;prediction\n1,5;2,25\nx;\n"
    write_table(frame, tmp_path / "out.tsv", dialect)
    assert (tmp_path / "out.tsv").read_text() == "y\tprediction\n1,5\t2,25\nx\t\n"
    write_table(frame, tmp_path / "out.csv", Dialect(",", decimal=","))
    assert (tmp_path / "out.csv").read_text() == 'y,prediction\n"1,5",2.25\nx,\n'


def test_only_other_line_breaks_put_all_text_in_quotes():
    def written(cell, newline="\n"):
        text = io.StringIO(newline="")
        frame = pd.DataFrame({"a": [cell, None], "b": [1.5, 2.0]})
        write_delimited(frame, text, Dialect(newline=newline))
        return text.getvalue()

    assert written("x, y") == 'a,b\n"x, y",1.5\n,2.0\n'
    assert written("x\ny") == 'a,b\n"x\ny",1.5\n,2.0\n'
    assert written("x\ry") == '"a","b"\n"x\ry",1.5\n"",2.0\n'
    assert written("x\ry", "\r\n") == 'a,b\r\n"x\ry",1.5\r\n,2.0\r\n'


def test_formulas_are_texts_for_spreadsheets_alone():
    frame = pd.DataFrame(
        [["=1+1", -1.5, "a"], ["-x", 2.0, "@b"], [None, 3.0, "C=C"]], columns=["s", "n", "s"]
    )
    before = frame.copy()
    safe = for_spreadsheets(frame)
    assert safe.iloc[:, 0].tolist()[:2] == ["'=1+1", "'-x"]
    assert pd.isna(safe.iloc[2, 0])
    assert safe.iloc[:, 1].tolist() == [-1.5, 2.0, 3.0]
    assert safe.iloc[:, 2].tolist() == ["a", "'@b", "C=C"]
    pd.testing.assert_frame_equal(frame, before)
