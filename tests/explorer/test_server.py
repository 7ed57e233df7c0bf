import csv
import io
import json
import urllib.error
import urllib.request

import numpy as np
import pytest

from cellformer.basics.parts.trust import allow_parts
from cellformer.training.answers.predict import predict
from evil import SCRIPT, TARGET

CAFFEINE = "Cn1cnc2c1c(=O)n(C)c(=O)n2C"


def send(address, path, question, **headers):
    """The status and the answer, of JSON or of bytes as they are."""
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    request = urllib.request.Request(
        address + path, body, {"Content-Type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            text = error.read()
        return error.code, json.loads(text) if text[:1] == b"{" else {"error": text.decode()}


def test_the_page_allows_itself_nothing_from_outside(address):
    with urllib.request.urlopen(address) as answer:
        policy = answer.headers["Content-Security-Policy"]
        text = answer.read().decode()
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in text


def test_a_prediction_is_that_of_predict_with_an_interval_around_it(address, run, tmp_path):
    status, found = send(address, "/api/predict", {"smiles": CAFFEINE})
    assert status == 200
    assert found["cells"] == [14, 15, 2]
    (one,) = found["predictions"]
    table = tmp_path / "one.csv"
    table.write_text(f"smiles\n{CAFFEINE}\n")
    value = predict(run, str(table))["prediction"][0]
    assert float(one["value"]) == pytest.approx(value, rel=1e-3)
    low, high = map(float, one["interval"])
    assert low < value < high
    assert one["level"] == "90%"
    assert one["target"] == TARGET


def test_a_row_of_the_data_has_its_truth(address):
    with urllib.request.urlopen(f"{address}/api/about") as answer:
        about = json.load(answer)
    row, name = about["examples"][0]
    status, found = send(address, "/api/predict", {"row": row})
    assert status == 200
    assert found["name"] == name
    assert found["predictions"][0]["truth"] == str(row % 7)


@pytest.mark.parametrize(
    "view",
    [
        {},
        {"kind": "complex", "encoding": "hodgelap"},
        {"kind": "attention", "arrow": "2 -> 1", "head": 1},
        {"kind": "attention", "form": "matrix", "head": None},
        {"kind": "contributions"},
        {"kind": "contributions", "method": "gradients"},
    ],
)
def test_every_view_is_a_picture_a_file_and_a_table(address, view):
    status, found = send(address, "/api/picture", {"smiles": CAFFEINE, "view": view})
    assert status == 200
    assert found["svg"].startswith("<svg")
    assert "var(--page)" in found["svg"]
    assert found["file"].startswith("<?xml")
    assert "var(" not in found["file"]
    rows = list(csv.DictReader(io.StringIO(found["csv"])))
    if view.get("kind") == "attention":
        weights = np.array([float(row["head_1"]) for row in rows])
        assert ((weights >= 0) & (weights <= 1)).all()
        assert "2 -> 1" in found["arrows"]
    else:
        assert len(rows) == 14 + 15 + 2


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"smiles": "C1CC"}, "is not a SMILES"),
        ({"smiles": "c1cccc1"}, "not a valid molecule"),
        ({"smiles": " "}, "the SMILES is empty"),
        ({"smiles": "C" * 2000}, "2000 heavy atoms; the explorer takes up to 300"),
        ({"smiles": "C" * 5000}, "5000 characters"),
        ({"smiles": SCRIPT}, "is not a SMILES"),
        ({"smiles": 3}, "type a SMILES, or pick a row"),
        ({"row": 99999}, "no complex in row 99999"),
        ({"row": True}, "row is not a whole number"),
        ({}, "type a SMILES"),
        ([], "not a JSON object"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'"' + b"x" * 3_000_000 + b'"', "more than 2 MB"),
    ],
)
def test_what_cannot_be_predicted_is_told_and_the_server_goes_on(address, question, message):
    status, found = send(address, "/api/predict", question)
    assert status == 422
    assert message in found["error"]
    assert send(address, "/api/predict", {"smiles": "CCO"})[0] == 200


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"kind": "nothing"}, "view is one of"),
        ({"lyer": 1}, "a view has no 'lyer'; did you mean 'layer'"),
        ({"layer": "0"}, "layer of a view cannot be '0'"),
        ({"layer": True}, "layer of a view cannot be True"),
        ({"kind": "attention", "layer": 7}, "no attention of layer 7"),
        ({"kind": "attention", "head": 7}, "there is no head 7"),
        ({"kind": "contributions", "output": 5}, "there is no output 5"),
        ({"encoding": "rwpee"}, "did you mean 'rwpe'"),
        ({"encoding": "rwpe:9999999"}, "up to 64 columns"),
        ([], "not a JSON object"),
    ],
)
def test_views_that_do_not_exist_are_told(address, view, message):
    status, found = send(address, "/api/picture", {"smiles": CAFFEINE, "view": view})
    assert status == 422
    assert message in found["error"]


def test_a_table_comes_back_row_by_row_with_reasons(address):
    text = f"smiles,note\nCCO,a\n{SCRIPT},b\nC1CC,c\n"
    status, found = send(address, "/api/table", {"csv": text})
    assert status == 200
    assert found["columns"] == ["smiles", "prediction", "error"]
    assert [row[0] for row in found["rows"]] == ["CCO", SCRIPT, "C1CC"]
    assert [row[2] == "" for row in found["rows"]] == [True, False, False]
    assert found["csv"].startswith("smiles,note,prediction,error")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the table is empty"),
        ("name\nx\n", "the table has no column named like smiles"),
        ("smiles\nC,C\n", "the table, line 2"),
        ("smiles\n" + "C\n" * 1001, "1001 rows; the explorer takes up to 1000"),
        ("smiles\n" + "C" * 4001, "SMILES of 4001 characters"),
    ],
)
def test_tables_that_cannot_be_read_are_told(address, text, message):
    status, found = send(address, "/api/table", {"csv": text})
    assert status == 422
    assert message in found["error"]


def test_other_sites_are_refused(address):
    """Neither under another name for this machine, nor by what a page of theirs may send."""
    assert send(address, "/api/predict", {"smiles": "C"}, Host="evil.example")[0] == 400
    status, found = send(address, "/api/predict", {"smiles": "C"}, **{"Content-Type": "text/plain"})
    assert status == 422
    assert "application/json" in found["error"]


def test_an_error_of_ours_is_told_and_the_server_goes_on(address, explorer, monkeypatch, caplog):
    def broken(self, subject):
        raise RuntimeError("a fault")

    with monkeypatch.context() as patch:
        patch.setattr(type(explorer), "predict", broken)
        status, found = send(address, "/api/predict", {"smiles": "C"})
    assert status == 500
    assert "a fault" not in found["error"]
    assert "a fault" in caplog.text
    assert send(address, "/api/predict", {"smiles": "C"})[0] == 200


def test_encodings_of_a_module_that_was_named_can_be_looked_at(address, explorer, installed_parts):
    own = f"{installed_parts}:Degrees"
    refused = {"smiles": "CC", "view": {"encoding": own}}
    assert own not in explorer.about()["listed"]
    assert "is imported only if you name it" in send(address, "/api/picture", refused)[1]["error"]
    allow_parts(installed_parts)
    assert explorer.about()["listed"][-1] == own
    status, found = send(address, "/api/picture", refused)
    assert status == 200
    table = list(csv.DictReader(io.StringIO(found["csv"])))
    assert [float(row["encoding_0"]) for row in table] == [1, 1, 2]
