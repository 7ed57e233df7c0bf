import csv
import io
import json
import socket
import urllib.error
import urllib.request

import numpy as np
import pytest

from cellformer.basics.parts.trust import allow_parts
from cellformer.training.answers.predict import predict
from evil import SCRIPT, TARGET
from explorer_server import send

CAFFEINE = "Cn1cnc2c1c(=O)n(C)c(=O)n2C"


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
    assert found["told"] == "14 atoms, 15 bonds, 2 rings"
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
        assert ["2 -> 1", "from rings to bonds"] in found["arrows"]
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
        ({"kind": "predictions"}, "predicts whole complexes"),
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
    text = f"note,smiles\na,CCO\nb,{SCRIPT}\nc,C1CC\n"
    status, found = send(address, "/api/table", {"csv": text})
    assert status == 200
    columns = ["note", "smiles", "prediction", "lower", "upper", "error"]
    assert found["columns"] == columns
    assert [row[:2] for row in found["rows"]] == [["a", "CCO"], ["b", SCRIPT], ["c", "C1CC"]]
    assert found["smiles"] == ["CCO", SCRIPT, "C1CC"]
    assert [row[-1] == "" for row in found["rows"]] == [True, False, False]
    low, high = map(float, found["rows"][0][3:5])
    assert low < float(found["rows"][0][2]) < high
    assert found["csv"].startswith(",".join(columns))


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


@pytest.fixture
def stranger():
    """Somebody without the cookie."""
    return urllib.request.build_opener()


@pytest.mark.parametrize("path", ["/", "/page/page.js", "/api/about", "/?token=wrong", "/none"])
def test_nobody_without_the_token_is_answered(address, path, stranger):
    with pytest.raises(urllib.error.HTTPError) as refused:
        stranger.open(address + path)
    with refused.value as answer:
        assert answer.code == 403
        assert "the token" in json.load(answer)["error"]
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_the_token_may_stand_in_every_address(address, entrance, stranger):
    with stranger.open(entrance.replace("/?", "/api/about?")) as answer:
        assert "examples" in json.load(answer)


def test_the_page_leads_to_an_address_without_the_token(entrance):
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    with pytest.raises(urllib.error.HTTPError) as led:
        urllib.request.build_opener(Stay).open(entrance)
    with led.value as answer:
        assert (answer.code, answer.headers["Location"]) == (303, "/")
        assert "HttpOnly; Path=/; SameSite=strict" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_sites_are_refused_with_cookie_and_all(address, origin):
    status, found = send(address, "/api/predict", {"smiles": "C"}, Origin=origin)
    assert status == 403
    assert "other sites" in found["error"]
    assert send(address, "/api/predict", {"smiles": "C"}, Origin=address)[0] == 200


def test_every_answer_has_the_same_headers(address):
    def told(path):
        try:
            with urllib.request.urlopen(address + path) as answer:
                return dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return dict(error.headers)

    pages = [told(path) for path in ("/", "/page/page.js", "/api/about", "/none", "/api/table")]
    for name in ("content-security-policy", "x-content-type-options", "cache-control"):
        assert len({page[name] for page in pages}) == 1


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HT",
        b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
    ],
)
def test_connections_that_ask_nothing_whole_are_closed(address, begun, monkeypatch):
    monkeypatch.setattr("cellformer.explorer.access.PATIENCE", 0.2)
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(begun)
        while connection.recv(4096):
            pass  # of the refusal, where there is one


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
