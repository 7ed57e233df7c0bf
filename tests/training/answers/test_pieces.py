"""Tables that are larger than a piece are answered as they are as a whole."""

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cellformer as cf
from cellformer.cli.main import main
from cellformer.data.tables import table as tables
from tiny import SMILES, tiny_run

ROWS = [*SMILES, "nonsense", "C\nC", "CCl", '"quoted', "", "CCCN", "CCCCO", "[Na+].[Cl-]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces")
    frame = pd.DataFrame({"smiles": ROWS, "note": [f"{n}; é" for n in range(len(ROWS))]})
    frame["y"] = np.arange(len(ROWS)) / 7
    frame.to_csv(path / "rows.csv", index=False)
    frame.to_csv(path / "semicolons.csv", index=False, sep=";", lineterminator="\r\n")
    frame.to_csv(path / "zipped.csv.gz", index=False)
    frame.to_csv(path / "marked.tsv", index=False, sep="\t", encoding="utf-16")
    frame.convert_dtypes().to_parquet(path / "rows.parquet")
    (path / "rows.txt").write_bytes((path / "rows.csv").read_bytes())
    config = tiny_run(path / "rows.csv", target=("y",), molecule_descriptors="none")
    cf.train(config, path / "run")
    return path


def read(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path).astype(object).fillna("").astype(str)
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    line = content.decode("utf-8-sig").splitlines()[0]
    separator = max(";,\t", key=line.count)
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    return pd.read_csv(text, sep=separator, dtype=str, keep_default_na=False)


def alike(one, other):
    assert list(one) == list(other)
    for name in one:
        try:
            left, right = (pd.to_numeric(each[name]) for each in (one, other))
        except ValueError:
            assert one[name].tolist() == other[name].tolist()
        else:
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("command", "source", "output"),
    [
        ("predict", "semicolons.csv", "out.csv"),
        ("predict", "zipped.csv.gz", "out.csv.gz"),
        ("predict", "marked.tsv", "out.tsv"),
        ("predict", "rows.parquet", "out.parquet"),
        ("embed", "rows.txt", "out.parquet"),
        ("embed", "rows.parquet", "out.csv"),
    ],
)
def test_pieces_say_what_the_whole_says(
    command, source, output, folder, tmp_path, monkeypatch, capsys
):
    words = [command, str(folder / "run"), str(folder / source), "-o"]
    whole, parts = tmp_path / f"whole-{output}", tmp_path / f"parts-{output}"
    assert main([*words, str(whole)]) == 0
    first = capsys.readouterr().err
    monkeypatch.setattr(tables, "PIECE_ROWS", 5)
    assert main([*words, str(parts)]) == 0
    told = capsys.readouterr().err
    assert "3 of 32" in first
    assert "3 of 32" in told
    assert "Reading and answering" in told
    assert "Preparing" not in told
    alike(read(whole), read(parts))
    if not output.endswith((".parquet", ".gz")):
        assert whole.read_bytes().count(b"\r\n") == parts.read_bytes().count(b"\r\n")
        assert whole.read_bytes()[:3] == parts.read_bytes()[:3]


def test_options_hold_for_every_piece(folder, tmp_path, monkeypatch, capsys):
    command = ["predict", str(folder / "run"), str(folder / "rows.csv"), "--interval", "0.8"]
    command += ["--calibrate", str(folder / "rows.csv"), "--on-error", "skip", "--spreadsheet"]
    assert main(command) == 0
    whole = capsys.readouterr().out
    monkeypatch.setattr(tables, "PIECE_ROWS", 7)
    assert main(command) == 0
    parts = capsys.readouterr().out
    frames = [pd.read_csv(io.StringIO(text), dtype=str) for text in (whole, parts)]
    alike(*frames)
    assert len(frames[1]) == len(ROWS) - 3


@pytest.mark.parametrize("output", ["-", "out.csv"])
def test_a_row_that_fails_a_later_piece_leaves_nothing(
    output, folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(tables, "PIECE_ROWS", 7)
    monkeypatch.chdir(tmp_path)
    command = ["predict", str(folder / "run"), str(folder / "rows.csv"), "-o", output]
    assert main([*command, "--on-error", "fail"]) == 1
    told = capsys.readouterr()
    assert "the first is row 24 (counted from 0)" in told.err
    assert told.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_is_off_leaves_nothing(folder, tmp_path, monkeypatch, capsys):
    lines = (folder / "rows.csv").read_text().splitlines(keepends=True)
    (tmp_path / "bad.csv").write_text("".join([*lines[:20], "C,1,2,3\n", *lines[20:]]))
    monkeypatch.setattr(tables, "PIECE_ROWS", 5)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out.csv"
    assert main(["predict", str(folder / "run"), str(tmp_path / "bad.csv"), "-o", str(out)]) == 1
    assert "bad.csv, line 21: 4 cells where the header names 3" in capsys.readouterr().err
    assert not out.exists()
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_vectors_alone_come_in_pieces_too(folder, tmp_path, monkeypatch):
    command = ["embed", str(folder / "run"), str(folder / "rows.csv"), "-o"]
    main([*command, str(tmp_path / "whole.npy")])
    monkeypatch.setattr(tables, "PIECE_ROWS", 9)
    main([*command, str(tmp_path / "parts.npy")])
    whole, parts = (np.load(tmp_path / f"{name}.npy") for name in ("whole", "parts"))
    np.testing.assert_allclose(whole, parts, rtol=1e-5, atol=1e-6)


def test_pieces_have_all_rows_in_their_order(folder, monkeypatch):
    monkeypatch.setattr(tables, "PIECE_ROWS", 6)
    with tables.opened_pieces(folder / "zipped.csv.gz") as pieces:
        found = [piece.frame for piece in pieces]
    assert [len(frame) for frame in found] == [6, 6, 6, 6, 6, 2]
    whole = tables.read_table(folder / "zipped.csv.gz").frame
    pd.testing.assert_frame_equal(pd.concat(found, ignore_index=True), whole)
    with tables.opened_pieces(Path("no.csv")) as pieces:
        assert pieces is None


def test_a_small_table_is_read_once(folder, tmp_path, capsys, caplog):
    (tmp_path / "old.csv").write_bytes("smiles,note\nCCO,é\n".encode("cp1252"))
    assert main(["predict", str(folder / "run"), str(tmp_path / "old.csv")]) == 0
    assert "é" in capsys.readouterr().out
    assert sum("is not UTF-8" in record.getMessage() for record in caplog.records) == 1
