import pytest

from cellformer.cli.field_words import plain

UNION = (
    'Parser key "{}":\n  Does not validate against any of the Union subtypes\n  Subtypes: [{}]\n'
    "  Errors:\n    - Expected a <class 'int'>\n  Given value type: <class 'str'>\n  Given value: x"
)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Parser key \"a.b\":\n  Expected a <class 'int'>. Got value: x",
         "a.b: expected a whole number, got x"),
        ("Parser key \"a\": Expected a typing.Literal['p', 'q']. Got value: 3",
         "a: expected one of 'p', 'q', got 3"),
        (UNION.format("a", "<class 'NoneType'>, <class 'float'>"),
         "a: expected a number or null, got x"),
        (UNION.format("a", "<class 'int'>, typing.Literal['auto']"),
         "a: expected a whole number or 'auto', got x"),
        (UNION.format("a", "tuple[float, float, float], tuple[str, ...]"),
         "a: expected a list of 3 numbers or a list of texts, got x"),
        ("Expected a thing. Got value: x", "expected thing, got x"),
        ("Parser key \"a\": Expected a <class 'int'>. Got value: ",
         "a: expected a whole number, got nothing"),
        ('Parser key "model":\n  Unable to load config \'x\'\n  - model: Unable to load config "x"',
         "model: there is no file 'x' with its fields"),
        ("Unexpected config: 7", "fields are needed, as in {training: {epochs: 5}}, not 7"),
        ("something   else\n said", "something else said"),
    ],
)  # fmt: skip
def test_types_of_python_become_words(message, told):
    assert plain(message) == told
