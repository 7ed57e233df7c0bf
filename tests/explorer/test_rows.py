"""What the explorer's server answers to other programs."""

import urllib.request

import numpy as np
import pytest

from cellformer.explorer.access import HEADERS
from cellformer.explorer.rows import MOST_ROWS
from cellformer.training.answers.predict import predict
from evil import TARGET
from explorer_server import TOKEN, send

CAFFEINE = "Cn1cnc2c1c(=O)n(C)c(=O)n2C"


def test_rows_are_answered_as_predict_does_with_reasons(address, run, tmp_path):
    asked = [CAFFEINE, "C1CC", {"smiles": "CCO", "note": "<b>"}, 7, None, {"smiles": ["C"]}, {}, "",
             "C" * 5000]  # fmt: skip
    status, found = send(address, "/predict", {"rows": asked})
    assert status == 200
    assert found["targets"] == [TARGET]
    told = found["predictions"]
    assert [one["row"] for one in told] == list(range(len(asked)))
    good = [one for one in told if not one["error"]]
    assert [one["row"] for one in good] == [0, 2]
    expected = predict(run, [CAFFEINE, "CCO"], interval=0.9)
    for one, (_, right) in zip(good, expected.iterrows(), strict=True):
        assert set(one) == {"row", "prediction", "lower", "upper", "error"}
        for name in ("prediction", "lower", "upper"):
            assert np.float32(one[name]) == np.float32(right[name])
    reasons = [one["error"] for one in told]
    assert "ring" in reasons[1]
    assert reasons[3] == reasons[4] == reasons[6]
    assert reasons[3].startswith("a row is a SMILES, or an object")
    assert reasons[5] == "smiles is neither a text nor a number"
    assert reasons[7]
    assert "5000 characters" in reasons[8]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "rows is a list"),
        ({"rows": []}, "rows is a list"),
        ({"rows": "CCO"}, "rows is a list"),
        ({"rows": {"smiles": "C"}}, "rows is a list"),
        ({"rows": ["C"], "run": "/etc/passwd"}, "a question has rows, and no 'run'"),
        ({"rows": ["C"] * (MOST_ROWS + 1)}, f"up to {MOST_ROWS}"),
        ({"rows": [{"name": "x"}]}, "smiles"),
        ({"rows": [{f"c{number}": 1 for number in range(1001)}]}, "columns"),
        (b'{"rows": [' + b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"rows": ["' + b"C" * 2_000_001 + b'"]}', "more than 2 MB"),
    ],
)
def test_questions_that_cannot_be_answered_are_told(address, question, message):
    status, found = send(address, "/predict", question)
    assert status == 422
    assert message.lower() in found["error"].lower()


def test_only_questions_that_are_bad_as_rows_get_an_answer_with_reasons(address):
    status, found = send(address, "/predict", {"rows": [1, "not a molecule"]})
    assert status == 200
    assert all(one["error"] and "prediction" not in one for one in found["predictions"][:1])
    assert found["predictions"][1]["prediction"] is None


def test_nobody_else_is_answered(address):
    question = {"rows": ["C"]}
    assert send(address, "/predict", question, Origin="http://evil.example")[0] == 403
    assert send(address, "/predict", question, Host="evil.example")[0] == 400
    assert send(address, "/predict", question, **{"Content-Type": "text/plain"})[0] == 422
    stranger = urllib.request.build_opener()
    for token, expected in ((f"?token={TOKEN}", 200), ("?token=other", 403), ("", 403)):
        assert send(address, f"/predict{token}", question, stranger)[0] == expected


def test_its_answers_have_the_headers_of_all_others(address):
    request = urllib.request.Request(
        f"{address}/predict", b'{"rows": ["C"]}', {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
