from collections.abc import Callable
from typing import Literal

import pytest

from cellformer.basics.hints import check_type


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (None, str | None),
        ("a", Literal["a", "b"]),
        (("a", "b"), tuple[str, ...]),
        ((), tuple[str, ...]),
        (True, bool),
        (len, Callable[[str], int]),
        (range(3), range),
    ],
)
def test_what_fits_is_taken(value, hint):
    check_type("field", value, hint)


@pytest.mark.parametrize(
    ("value", "hint", "needed"),
    [
        (3, str | None, "a text or null"),
        (["a"], Literal["a", "b"], "one of a, b"),
        (("a", 1), tuple[str, ...], "a list, each a text"),
        ("a", tuple[str, ...], "a list, each a text"),
        (1, bool, "true or false"),
        ("len", Callable[[str], int], "a part"),
    ],
)
def test_what_does_not_fit_is_told_with_the_field_and_what_it_needs(value, hint, needed):
    with pytest.raises(ValueError, match=f"^field must be {needed}, got "):
        check_type("field", value, hint)
