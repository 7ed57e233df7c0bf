"""A table with every fault that a chemist's file has, from training to predictions."""

import codecs
import csv
import json

import pandas as pd
import pytest

from cellformer.cli.main import main

FAST = ["--model.width", "16", "--model.layers", "1", "--model.heads", "2", "--training.epochs",
        "2", "--training.device", "cpu", "--data.encodings", "rwpe:2", "--data.split_seed", "3",
        "--data.fractions", "[0.6, 0.2, 0.2]"]  # fmt: skip
LONG = "C" * 300
HEADER = "Nr;SMILES;log S;Name"
LINES = [
    "1;CCO;-0,77;ethanol",
    '2;c1ccccc1;-1,64;"benzene; ""pure"", dry"',
    "3;C1CC;0,5;ring left open",
    "4;;0,5;no structure",
    "5;CCO;-0,77;ethanol",  # a duplicate row
    "6;OCC;-0,70;ethanol once more",
    "",  # a blank line
    f"7;{LONG};-30;300 atoms",
    "8;[Na+].[Cl-];0,8;salt",
    "9;C;-0,9;single atom",
    "10;CC(=O)O;;no value",
    "11;CCN;n/a;no value either",
    "12;C(C)(C)(C)(C)C;1,0;five bonds",
    "13;CCCC;-2,6;caf\xe9",  # not UTF-8
    '14;CCCO;0,62;"two\r\nlines"',
    "15; CO ;1,57;blanks around",
    "16;CC(C)O;0,43;",
    "17;not a molecule;1;words",
    "18;CCCCO;-0,1;x",
    "19;c1ccncc1;0,76;x",
    "20;CCCCCC;-3,84;x",
]
BAD = {"3": "unclosed ring", "4": "SMILES is empty", "12": "valence", "17": "not a SMILES"}


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    path = tmp_path_factory.mktemp("nasty") / "set.csv"
    text = "\r\n".join([HEADER, *LINES]) + "\r\n"
    path.write_bytes(codecs.BOM_UTF8 + text.encode("latin-1"))  # a mark that is not kept to
    return path


@pytest.fixture(scope="module")
def run(nasty):
    folder = nasty.parent / "run"
    assert main(["train", str(nasty), "--target", "log S", "-o", str(folder), *FAST]) == 0
    return folder


def cells(path, charset="utf-8-sig"):
    with path.open(encoding=charset, newline="") as file:
        return list(csv.reader(file, delimiter=";"))


def number(cell):
    return float(cell.replace(",", ".") or "nan")


def test_training_takes_what_can_be_used_and_tells_the_rest(run):
    summary = json.loads((run / "summary.json").read_text())
    assert summary["rows_without_complex"] == len(BAD)
    assert summary["labeled"] == {"log S": 14}
    assert sum(summary["complexes"].values()) == 14
    assert summary["molecules_in_several_parts"] == 0  # three rows of ethanol stay together
    failures = pd.read_csv(run / "failures.csv")
    assert failures["row"].tolist() == [2, 3, 11, 16]
    for reason, word in zip(failures["reason"], BAD.values(), strict=True):
        assert word in reason


def test_predicting_keeps_rows_order_and_cells_and_says_why_a_row_failed(run, nasty, capsys):
    output = nasty.parent / "out.csv"
    assert main(["predict", str(run), str(nasty), "-o", str(output)]) == 0
    assert f"{len(BAD)} of 20 rows could not be predicted" in capsys.readouterr().err
    before = [row for row in cells(nasty, "latin-1") if row]
    before[0][0] = before[0][0].removeprefix(codecs.BOM_UTF8.decode("latin-1"))
    header, *after = cells(output)
    assert header == [*before[0], "prediction", "error"]
    assert [row[:4] for row in after] == before[1:]
    values = {}
    for row in after:
        if row[0] in BAD:
            assert row[4] == ""
            assert BAD[row[0]] in row[5]
        else:
            assert row[5] == ""
            assert "." not in row[4]  # its numbers have decimal commas
            values[row[0]] = number(row[4])
    assert values["1"] == values["5"]
    assert values["1"] == pytest.approx(values["6"], abs=1e-5)
    assert b"\r\n" in output.read_bytes()


def test_rows_without_a_prediction_can_be_left_out_or_stop_everything(run, nasty, capsys):
    output = nasty.parent / "good.csv"
    arguments = ["predict", str(run), str(nasty), "-o", str(output)]
    assert main([*arguments, "--on-error", "skip"]) == 0
    assert [row[0] for row in cells(output)[1:]] == [
        str(number) for number in range(1, 21) if str(number) not in BAD
    ]
    output.unlink()
    assert main([*arguments, "--on-error", "fail"]) == 1
    assert "row 2 (counted from 0): 'C1CC'" in capsys.readouterr().err
    assert not output.exists()
    strict = ["--target", "log S", "-o", str(nasty.parent / "strict"), *FAST]
    assert main(["train", str(nasty), "--data.on_error", "fail", *strict]) == 1
    assert "row 2: 'C1CC'" in capsys.readouterr().err


def test_evaluating_leaves_failed_rows_out_or_refuses_them(run, nasty, capsys):
    assert main(["evaluate", str(run), str(nasty)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["complexes"], told["rows_without_complex"]) == (16, len(BAD))
    assert main(["evaluate", str(run), str(nasty), "--on-error", "fail"]) == 1


def test_a_table_without_a_single_prediction_is_written_and_the_exit_code_is_1(run, tmp_path):
    (tmp_path / "bad.csv").write_text("smiles\nC1CC\nxyz\n")
    output = tmp_path / "out.csv"
    assert main(["predict", str(run), str(tmp_path / "bad.csv"), "-o", str(output)]) == 1
    assert len(cells(output)) == 3
    (tmp_path / "none.csv").write_text("smiles,x\n")
    assert main(["predict", str(run), str(tmp_path / "none.csv"), "-o", "-"]) == 0


def test_standard_input_and_output(run, nasty, monkeypatch, capfd):
    with nasty.open("rb") as raw:
        monkeypatch.setattr("sys.stdin", type("Stream", (), {"buffer": raw}))
        assert main(["predict", str(run), "-"]) == 0
    told = capfd.readouterr().out.splitlines()
    assert told[0] == f"{HEADER};prediction;error"
    assert main(["train", "-", "--target", "log S", *FAST]) == 1
    assert "cannot be trained on standard input" in capfd.readouterr().err


@pytest.mark.parametrize("ending", [".tsv", ".csv.gz", ".parquet"])
def test_other_formats_give_the_same_predictions(run, nasty, tmp_path, ending):
    expected = nasty.parent / "expected.csv"
    assert main(["predict", str(run), str(nasty), "-o", str(expected), "--overwrite"]) == 0
    first = tmp_path / f"first{ending}"
    assert main(["predict", str(run), str(nasty), "-o", str(first)]) == 0
    second = tmp_path / "second.csv"
    assert main(["predict", str(run), str(first), "-o", str(second)]) == 0
    with second.open(newline="", encoding="utf-8") as file:
        dialect = csv.Sniffer().sniff(file.readline())
        file.seek(0)
        again = list(csv.DictReader(file, delimiter=dialect.delimiter))
    for row, before in zip(again, cells(expected)[1:], strict=True):
        assert row["SMILES"] == before[1]
        assert number(row["prediction_2"]) == pytest.approx(number(before[4]), nan_ok=True)
        assert row["error_2"] == before[5]
