import json

import pytest

from cellformer.basics.sealed import (
    CHECKSUM,
    FaultError,
    read_sealed,
    sealed,
    unsealed,
    without_checksum,
)

VALUES = {"b": [1, 2.5, None], "a": {"text": "ü", "yes": True}, "c": (3,)}


def test_values_come_back_as_json_has_them_however_they_are_spaced_and_ordered(tmp_path):
    told = sealed(VALUES)
    assert list(told) == ["b", "a", "c", CHECKSUM]
    assert unsealed(told, "x") == json.loads(json.dumps(VALUES))
    file = tmp_path / "x.json"
    file.write_text(json.dumps(dict(reversed(told.items())), indent=7))
    assert read_sealed(file) == without_checksum(told)


def test_every_change_of_a_value_is_found(tmp_path):
    text = json.dumps(sealed(VALUES))
    file = tmp_path / "x.json"
    for place in range(len(text)):
        data = bytearray(text.encode())
        data[place] ^= 1
        file.write_bytes(data)
        try:
            found = read_sealed(file)
        except FaultError as error:
            message = str(error)
            assert str(file) in message
            assert "\n" not in message
        else:  # the name of the checksum, of which nothing is left then
            assert {name: found[name] for name in VALUES} == json.loads(json.dumps(VALUES))
            assert len(found) == 4


def test_files_without_a_checksum_are_taken_as_they_are(tmp_path):
    file = tmp_path / "x.json"
    for values in (VALUES["a"], [1], "word", None):
        file.write_text(json.dumps(values))
        assert read_sealed(file) == values


def test_an_edited_file_says_how_to_use_it_all_the_same(tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(sealed(VALUES) | {"b": 7}))
    with pytest.raises(FaultError, match=r'edited: .*; cure me, or.*remove its entry "checksum"'):
        read_sealed(file, "cure me")
    file.write_text(json.dumps(without_checksum(json.loads(file.read_text()))))
    assert read_sealed(file)["b"] == 7


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json_is_named_in_a_line(tmp_path, content):
    file = tmp_path / "x.json"
    file.write_bytes(content)
    with pytest.raises(FaultError, match=r"x\.json cannot be read as JSON \(.*\); restore") as told:
        read_sealed(file)
    assert "\n" not in str(told.value)
