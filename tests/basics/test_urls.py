"""Sources at URLs, here in the memory of the process, as fsspec has them."""

import os
from pathlib import Path

import pytest

from cellformer.basics.sealed import FaultError
from cellformer.basics.urls import is_url, local_copy
from cellformer.cli.main import main
from cellformer.data.preparation import Preparation
from cellformer.data.sources import is_source, open_source
from cellformer.data.tables.table import read_table

fsspec = pytest.importorskip("fsspec")
URL = "memory://bucket/a folder/rows.csv"
ROWS = "smiles,y\nCCO,1\nc1ccccc1,2\nCC,3\n"


@pytest.fixture
def files(monkeypatch, tmp_path):
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    made = fsspec.filesystem("memory")
    made.store.clear()
    made.pipe_file("/bucket/a folder/rows.csv", ROWS.encode())
    yield made
    made.store.clear()


def copies(tmp_path):
    return sorted((tmp_path / "cache" / "fetched").rglob("*.csv"))


def test_a_file_at_a_url_is_fetched_once_and_anew_when_it_is_another(files, tmp_path):
    first = local_copy(URL)
    assert first.name == "rows.csv"
    assert first.read_text() == ROWS
    os.utime(first, (0, 0))
    assert local_copy(URL).stat().st_mtime == 0  # the same file
    files.pipe_file("/bucket/a folder/rows.csv", ROWS.replace("3", "4").encode())
    assert local_copy(URL) != first
    assert len(copies(tmp_path)) == 2
    assert local_copy("a/path.csv") == Path("a/path.csv")


def test_a_table_at_a_url_is_a_source_like_any_other(files, tmp_path):
    assert is_source(URL)
    rows = open_source(URL, target="y")
    assert len(rows) == 3
    assert read_table(URL).where == URL
    (tmp_path / "rows.csv").write_text(ROWS)
    assert rows.digest == open_source(tmp_path / "rows.csv", target="y").digest
    with pytest.raises(ValueError, match="memory://bucket/a folder/rows"):
        open_source(URL, target="z")


def test_so_is_a_file_of_graphs(files, tmp_path):
    own = tmp_path / "cells.off"
    own.write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    files.put_file(str(own), "/bucket/cells.off")
    assert Preparation().one("memory://bucket/cells.off").num_cells == (3, 3, 1)


def test_a_run_is_trained_on_a_table_at_a_url_and_predicts_one(files, tmp_path):
    rows = "".join(f"{'C' * (n % 9 + 1)}{'NO'[n % 2]},{n % 9}\n" for n in range(40))
    files.pipe_file("/bucket/many.csv", f"smiles,y\n{rows}".encode())
    run = tmp_path / "run"
    assert main(["train", "memory://bucket/many.csv", "--target", "y", "-o", str(run),
                   "--training.epochs", "1", "--model.width", "8", "--model.layers", "1",
                   "--training.logger", "none"]) == 0  # fmt: skip
    answers = tmp_path / "answers.csv"
    assert main(["predict", str(run), URL, "-o", str(answers)]) == 0
    assert len(answers.read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("url", "kind", "told"),
    [
        ("memory://bucket/none.csv", FileNotFoundError, "no file memory://bucket/none.csv"),
        ("nobody://bucket/a.csv", FaultError, "nobody://bucket/a.csv cannot be read.*URL is right"),
    ],
)
def test_what_cannot_be_fetched_is_told_with_its_url(files, tmp_path, url, kind, told):
    with pytest.raises(kind, match=told):
        open_source(url)
    assert not copies(tmp_path)


def test_what_is_no_url():
    assert not is_url("C:\\rows.csv")
    assert not is_url("C/C=C\\C")
    assert is_url("s3://bucket/rows.csv")
