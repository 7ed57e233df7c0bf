import gzip

import pandas as pd
import pytest

from cellformer.data.tables.delimited import Dialect
from cellformer.data.tables.table import Table, is_table, is_written, read_table, write_table


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
