from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

import pytest

from cellformer.basics.decoding import decoded


@dataclass(frozen=True)
class Inner:
    name: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Outer:
    rate: float
    kind: Literal["a", "b"]
    inner: Inner
    others: Mapping[str, Inner | None]
    open: bool
    long: int | Literal["auto"] | None = None
    weights: Literal["equal"] | tuple[float, ...] = "equal"
    ends: tuple[float, float] | None = None

    def __post_init__(self):
        if self.rate < 0:
            raise ValueError(f"rate cannot be negative, got {self.rate}")


GOOD = {
    "rate": 1,
    "kind": "a",
    "inner": {"name": "x", "sizes": [1, 2]},
    "others": {"y": None, "z": {"name": "z", "sizes": []}},
    "open": True,
    "long": None,
    "weights": "equal",
    "ends": None,
}


def test_what_was_written_is_read():
    found = decoded(Outer, GOOD, "file")
    assert found == Outer(1.0, "a", Inner("x", (1, 2)), {"y": None, "z": Inner("z", ())}, True)
    assert isinstance(found.rate, float)
    assert decoded(Outer, GOOD | {"long": "auto", "weights": [1, 2.5], "ends": [0, 1]}, "file") == (
        replace(found, long="auto", weights=(1.0, 2.5), ends=(0.0, 1.0))
    )
    assert decoded(Inner, {**asdict(found.inner), "sizes": [1, 2]}, "file") == found.inner


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": "1"}, r"file: rate must be a finite number, got '1'"),
        ({"rate": float("nan")}, "file: rate must be a finite number"),
        ({"rate": True}, "file: rate must be a finite number"),
        ({"rate": None}, "file: rate must be a finite number, got None"),
        ({"rate": -1.0}, "file: rate cannot be negative"),
        ({"kind": "c"}, "file: kind: unknown value 'c'.*choose from a, b"),
        ({"open": 1}, "file: open must be true or false"),
        ({"inner": []}, "file: inner must be a mapping of fields"),
        ({"inner": {"name": "x"}}, r"file: the field inner\.sizes is missing"),
        ({"inner": {"name": 3, "sizes": []}}, r"file: inner\.name must be text, got 3"),
        ({"inner": {"name": "x", "sizes": [1, 2.5]}}, r"inner\.sizes\[1\] must be a whole number"),
        ({"inner": {"name": "x", "sizes": 3}}, r"inner\.sizes must be a list"),
        ({"others": {"y": 3}}, r"others\.y must be a mapping of fields or null, got 3"),
        ({"others": None}, "others must be a mapping"),
        ({"long": "x"}, r"file: long must be a whole number or 'auto' or null, got 'x'"),
        ({"long": 1.5}, "file: long must be a whole number or 'auto' or null, got 1.5"),
        ({"long": True}, "file: long must be a whole number or 'auto' or null, got True"),
        ({"weights": [1, "x"]}, r"file: weights\[1\] must be a finite number, got 'x'"),
        ({"weights": 3}, "file: weights must be 'equal' or a list, got 3"),
        ({"ends": [1]}, r"file: ends must be a list of 2, got \[1\]"),
        ({"ends": 1}, "file: ends must be a list or null, got 1"),
        ({"rates": 1}, "unknown field 'rates'; did you mean 'rate'"),
    ],
)
def test_what_is_off_is_told_with_its_place(change, message):
    with pytest.raises(ValueError, match=message):
        decoded(Outer, GOOD | change, "file")
    with pytest.raises(ValueError, match="file must be a mapping of fields, got 3"):
        decoded(Outer, 3, "file")


def test_a_part_of_the_fields_is_enough_where_the_others_have_a_default():
    some = {name: value for name, value in GOOD.items() if name != "ends"}
    assert decoded(Outer, some, "file", partial=True) == decoded(Outer, GOOD, "file")
    with pytest.raises(ValueError, match="file: the field ends is missing"):
        decoded(Outer, some, "file")
    del some["rate"]
    with pytest.raises(ValueError, match="file: the field rate is missing"):
        decoded(Outer, some, "file", partial=True)
    inside = GOOD | {"inner": {"name": "x"}}
    with pytest.raises(ValueError, match=r"file: the field inner\.sizes is missing"):
        decoded(Outer, inside, "file", partial=True)
