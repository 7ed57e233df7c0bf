import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cellformer.data.mapped import mapped
from cellformer.data.tables.table import read_table

SCHEMA = pa.schema([("number", pa.int64()), ("text", pa.large_string())])


def batches(count):
    for number in range(count):
        texts = pa.array([f"{number}", None, "x" * number], pa.large_string())
        yield pa.record_batch([pa.array([number] * 3), texts], schema=SCHEMA)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_mapped_table_is_that_of_its_batches(count):
    held = pa.total_allocated_bytes()
    found = mapped(batches(count), SCHEMA)
    found.validate(full=True)
    assert pa.total_allocated_bytes() == held
    assert found == pa.Table.from_batches(batches(count), SCHEMA)


def test_the_file_has_no_name_and_goes_with_the_table(tmp_path, monkeypatch):
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path))
    found = mapped(batches(3), SCHEMA)
    column = found.column("text")
    del found
    assert column[3].as_py() == "1"
    assert not [file for _, _, files in os.walk(tmp_path) for file in files]


def frames():
    rows = pd.DataFrame({"smiles": ["C", "CC", None], "y": [1.0, np.nan, 3.0], "n": [1, 2, 3]})
    yield rows
    yield rows.assign(kind=pd.Categorical(["a", "b", "a"]), when=pd.Timestamp("2020-01-01"))
    yield rows.set_index("n")
    yield rows.iloc[:0]
    yield rows.assign(listed=[[1.0], [], None])


@pytest.mark.parametrize("frame", list(frames()))
def test_a_large_parquet_file_is_read_as_a_small_one(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "t.parquet")
    small = read_table(tmp_path / "t.parquet").frame
    monkeypatch.setattr("cellformer.data.mapped.MAPPED_FROM", 0)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet").frame, small)


def test_a_damaged_large_parquet_file_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("cellformer.data.mapped.MAPPED_FROM", 0)
    file = tmp_path / "t.parquet"
    pd.DataFrame({"smiles": ["C", "CQQC"] * 500}).to_parquet(file, compression=None)
    file.write_bytes(file.read_bytes().replace(b"CQQC", b"C\xffQC"))  # no UTF-8
    with pytest.raises(ValueError, match=r"t\.parquet cannot be read as parquet"):
        read_table(file)


def test_cells_of_a_large_text_take_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("cellformer.data.mapped.MAPPED_FROM", 0)
    file = tmp_path / "t.csv"
    file.write_text("smiles,y\n" + "CCO,1.5\n" * 50_000)
    held = pa.total_allocated_bytes()
    table = read_table(file)
    assert len(table) == 50_000
    assert pa.total_allocated_bytes() - held < 1000
