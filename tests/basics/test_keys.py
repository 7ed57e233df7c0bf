from dataclasses import dataclass, field

import pytest

from cellformer.basics.keys import check_complete, check_given, check_keys


@dataclass
class Inner:
    width: int = 1


@dataclass
class Outer:
    model: Inner = field(default_factory=Inner)
    seed: int = 0


def test_known_keys_pass_however_few():
    check_keys(Outer, {}, "file")
    check_keys(Outer, {"model": {"width": 2}, "seed": "any value"}, "file")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sead": 1}, "file: there is no field sead; did you mean seed?"),
        ({"model": {"widht": 1}}, "file: there is no field model.widht; did you mean model.width?"),
        ({"model": {"q": 1}}, "file: there is no field model.q; known: width"),
        ({1: 1}, "file: there is no field 1; known: model, seed"),
        ([], "file: the file must be a mapping of fields"),
        ({"model": 3}, "file: model must be a mapping of fields"),
    ],
)
def test_a_wrong_key_is_told_with_its_place_and_the_nearest_right_one(values, message):
    with pytest.raises(ValueError, match=r"^file: ") as error:
        check_keys(Outer, values, "file")
    assert str(error.value) == message


def test_missing_fields_are_told():
    check_complete(Outer, {"model": {}, "seed": 1}, "model")
    with pytest.raises(ValueError, match=r"^model lacks seed$"):
        check_complete(Outer, {"model": {}}, "model")


@dataclass
class Optional:
    model: Inner = field(default_factory=Inner)
    seed: int | None = None


def test_null_is_refused_where_a_field_cannot_be_none():
    check_given(Optional, {"model": {"width": 1}, "seed": None}, "file")
    check_given(Optional, {}, "file")
    with pytest.raises(ValueError, match=r"^file: model\.width must not be null$"):
        check_given(Optional, {"model": {"width": None}}, "file")
    with pytest.raises(ValueError, match=r"^file: model must not be null$"):
        check_given(Optional, {"model": None}, "file")
