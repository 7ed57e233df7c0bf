import time

import pytest
import yaml

from cellformer.basics.aliases import (
    KeyTwiceError,
    TooManyAliasesError,
    check_aliases,
    check_keys_once,
)
from cellformer.cli.main import main

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
ITSELF = "data: &a\n  target: *a\n"


@pytest.mark.parametrize("text", [BOMB, ITSELF, "- &a [*a]\n", "? &a {*a : 1}\n: 2\n"])
def test_aliases_that_grow_without_bound_are_refused(text):
    with pytest.raises(TooManyAliasesError, match="stand for more than 100,000 values"):
        check_aliases(text)


@pytest.mark.parametrize(
    "text", ["", "a: 1", "a & b * c", "base: &b {x: [1, 2]}\none: *b\ntwo: *b\n"]
)
def test_aliases_that_save_some_writing_are_not(text):
    check_aliases(text)


def test_what_is_no_yaml_is_told_as_such():
    with pytest.raises(yaml.YAMLError, match="undefined alias"):
        check_aliases("a: *b\nc: & d")


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\na: 2\n", 2), ("- b: {c: 1, c: 1}\n", 1), ('{"a": 1, "a": 2}', 1)]
)
def test_a_key_twice_in_a_mapping_is_refused(text, line):
    with pytest.raises(KeyTwiceError, match=f"is there twice, line {line}; keep one"):
        check_keys_once(text)


@pytest.mark.parametrize("text", ["", "a: {b: 1}\nc: {b: 1}\n", "- a: 1\n- a: 1\n", ITSELF])
def test_a_key_in_several_mappings_is_not(text):
    check_keys_once(text)


@pytest.mark.parametrize("check", [check_aliases, check_keys_once])
def test_what_is_nested_without_end_is_no_crash(check):
    with pytest.raises(yaml.YAMLError, match="nested too deeply"):
        check("&a [*a, " + "[" * 5000)


@pytest.mark.parametrize("text", [BOMB, ITSELF])
def test_commands_end_at_once_with_a_line_that_says_why(text, tmp_path, capsys):
    (tmp_path / "file.yaml").write_text(text)
    began = time.monotonic()
    for command in (
        ["train", "nci", "--config", str(tmp_path / "file.yaml"), "-o", str(tmp_path / "run")],
        ["tune", "nci", "--space", str(tmp_path / "file.yaml"), "-o", str(tmp_path / "search")],
    ):
        try:
            status = main(command)
        except SystemExit as ended:
            status = ended.code
        assert status in (1, 2)
        told = capsys.readouterr().err
        assert "stand for more than 100,000 values" in told
        assert len(told.splitlines()) == 1
    assert time.monotonic() - began < 30
