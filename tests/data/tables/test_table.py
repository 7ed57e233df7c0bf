import gzip

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from cellformer.data.tables.delimited import Dialect
from cellformer.data.tables.table import (
    Table,
    is_table,
    is_written,
    opened_pieces,
    read_table,
    write_pieces,
    write_table,
)


def table(tmp_path, text, name="set.csv"):
    (tmp_path / name).write_text(text, newline="")
    return read_table(tmp_path / name)


def test_which_sources_are_tables(tmp_path):
    for name in ("a.csv", "b.TSV", "c.csv.gz", "d.parquet", "-", tmp_path / "e.tab"):
        assert is_table(name)
    for name in ("f.sdf", "g.sdf.gz", "h.smi", "i.txt", "j.XLSX"):
        assert is_table(name)
        assert not is_written(name)
    for name in ("a.npz", "nci", "csv", "a.xls"):
        assert not is_table(name)
    assert is_table(pd.DataFrame())
    assert not is_table([1, 2])


def test_written_tables_keep_rows_order_and_cells(tmp_path):
    text = 'id,smiles,note\n007,CCO,"a, b"\n1.50,nope,\n007,CCO,NA\n'
    read = table(tmp_path, text)
    write_table(read.frame.assign(p=["1", "", "3"]), tmp_path / "out.csv", read.dialect)
    assert (tmp_path / "out.csv").read_text() == (
        'id,smiles,note,p\n007,CCO,"a, b",1\n1.50,nope,,\n007,CCO,NA,3\n'
    )


def test_a_table_is_written_as_it_was_read(tmp_path):
    raw = '\ufeffsmiles;n\u00f6te\r\nC;"x\r\ny"\r\n'.encode()
    (tmp_path / "in.csv").write_bytes(raw)
    read = read_table(tmp_path / "in.csv")
    assert read.dialect == Dialect(";", "\r\n", True)
    write_table(read.frame, tmp_path / "out.csv", read.dialect)
    assert (tmp_path / "out.csv").read_bytes() == raw


def test_the_ending_of_the_output_decides(tmp_path, capsys):
    read = table(tmp_path, "smiles\ty\nC\t1,5\n", "set.tsv")
    write_table(read.frame, tmp_path / "out.csv", read.dialect)
    assert (tmp_path / "out.csv").read_text() == 'smiles,y\nC,"1,5"\n'
    write_table(read.frame, tmp_path / "out.tsv.gz", Dialect(";"))
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()) == b"smiles\ty\nC\t1,5\n"
    write_table(read.frame, tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet")["y"].tolist() == ["1,5"]
    write_table(read.frame, None)
    assert capsys.readouterr().out == 'smiles,y\nC,"1,5"\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.csv", "out.parquet", "out.tsv.gz", "set.tsv"]  # fmt: skip


def test_parquet_keeps_its_types(tmp_path):
    frame = pd.DataFrame({"smiles": ["C", None], "y": [1.5, 2.5], "when": pd.to_datetime([0, 1])})
    frame.to_parquet(tmp_path / "set.parquet")
    read = read_table(tmp_path / "set.parquet")
    pd.testing.assert_frame_equal(read.frame, frame)
    assert read.name == "set"
    (tmp_path / "bad.parquet").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"bad\.parquet cannot be read as parquet"):
        read_table(tmp_path / "bad.parquet")


def test_frames_of_polars_and_arrow_are_tables():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"smiles": ["C", None], "y": [1, None]})
    for each in (frame, frame.to_arrow()):
        read = Table.of_frame(each)
        assert read.header == ("smiles", "y")
        assert read.column("smiles").isna().tolist() == [False, True]
    with pytest.raises(TypeError):
        Table.of_frame([("C", 1)])


def test_columns_of_one_name_are_kept_and_only_choosing_one_is_an_error(tmp_path):
    read = table(tmp_path, "smiles,y,y,\nC,1,2,3\n")
    assert read.header == ("smiles", "y", "y", "")
    assert read.frame.iloc[0].tolist() == ["C", "1", "2", "3"]
    assert read.column("").tolist() == ["3"]
    with pytest.raises(ValueError, match="two columns named 'y'"):
        read.column("y")


def test_a_file_that_is_absent_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        read_table(tmp_path / "absent.csv")


ODD = {
    "whole": pa.array([2**53 + 1, None], pa.int64()),
    "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
    "struct": pa.array([{"a": 1, "b": ["x"]}, None]),
    "list": pa.array([[{"a": 1}], []]),
    "bytes": pa.array([b"\xff\x00", None]),
    "moment": pa.array([10**15, None], pa.timestamp("us", "Europe/Berlin")),
    "words": pa.array(["a", None]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", [pa.int32(), pa.bool_(), pa.date32(), pa.float32()])
def test_a_column_is_what_it_was_where_the_first_rows_have_nothing(tmp_path, kind, monkeypatch):
    monkeypatch.setattr("cellformer.data.tables.table.PIECE_ROWS", 2)
    filled = pa.array([None, None, 1], pa.int32()).cast(kind)
    right = pa.table({"y": filled, "none": pa.nulls(3, kind)})
    pyarrow.parquet.write_table(right, tmp_path / "rows.parquet")
    with opened_pieces(tmp_path / "rows.parquet") as pieces:
        write_pieces([(piece.frame, piece.dialect) for piece in pieces], tmp_path / "two.parquet")
    kept = read_table(tmp_path / "rows.parquet")
    write_table(kept.frame, tmp_path / "one.parquet", kept.dialect)
    for name in ("one", "two"):
        again = pyarrow.parquet.read_table(tmp_path / f"{name}.parquet")
        assert again.to_pydict() == right.to_pydict()
        assert again.schema.field("none").type == kind


def test_odd_columns_of_a_parquet_file_are_kept(tmp_path):
    right = pa.table(ODD)
    pyarrow.parquet.write_table(right, tmp_path / "odd.parquet")
    kept = read_table(tmp_path / "odd.parquet")
    write_table(kept.frame, tmp_path / "again.parquet")
    again = pyarrow.parquet.read_table(tmp_path / "again.parquet")
    assert again.to_pydict() == right.to_pydict()
    with opened_pieces(tmp_path / "odd.parquet") as pieces:
        write_pieces([(piece.frame, piece.dialect) for piece in pieces], tmp_path / "two.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "two.parquet").to_pydict() == right.to_pydict()
    write_table(kept.frame, tmp_path / "odd.csv")
    cells = read_table(tmp_path / "odd.csv").frame.iloc[0].to_dict()
    assert cells.pop("moment").startswith("2001-09-09 03:46:40")
    assert cells == {"whole": "9007199254740993", "unsigned": "18446744073709551615",
                     "struct": '{"a": 1, "b": ["x"]}', "list": '[{"a": 1}]', "bytes": "ff00",
                     "words": "a"}  # fmt: skip
    assert Table.of_frame(right).frame["whole"].tolist() == [2**53 + 1, None]


def test_what_fits_no_type_of_a_parquet_file_is_text(tmp_path):
    frame = pd.DataFrame({"huge": [2**70, 1], "map": [[("a", 1)], None], "kinds": [1, "x"],
                          "numbers": [1, 2.5]}, dtype=object)  # fmt: skip
    write_table(frame, tmp_path / "odd.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "odd.parquet").to_pydict() == {
        "huge": [str(2**70), "1"], "map": ['[["a", 1]]', None], "kinds": ["1", "x"],
        "numbers": [1.0, 2.5],
    }  # fmt: skip
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    pyarrow.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match="two columns named 'a'; rename one"):
        read_table(tmp_path / "twice.parquet").column("a")
    with pytest.raises(ValueError, match=r"odd.parquet: .* two columns named 'a'; .* a \.csv"):
        write_table(twice, tmp_path / "odd.parquet")
