import pytest

from cellformer.basics.parts.reference import Reference


@pytest.mark.parametrize(
    ("text", "name", "arguments", "module"),
    [
        ("rings", "rings", {}, None),
        (" rings ( max_size = 8 ) ", "rings", {"max_size": 8}, None),
        ("cycle-basis()", "cycle-basis", {}, None),
        ("my.parts:Triangles", "my.parts:Triangles", {}, "my.parts"),
        ("p:f(a=1.5, b='x(y', c=[1, None])", "p:f", {"a": 1.5, "b": "x(y", "c": [1, None]}, "p"),
        ("../a b/parts.py:Name(k=-3)", "../a b/parts.py:Name", {"k": -3}, "../a b/parts.py"),
    ],
)
def test_a_text_names_a_part_and_its_arguments(text, name, arguments, module):
    reference = Reference.parse(text)
    assert (reference.name, dict(reference.arguments)) == (name, arguments)
    assert reference.module == module
    assert Reference.parse(str(reference)) == reference


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no name of a part"),
        ("(a=1)", "no name of a part"),
        ("rings(8)", "write them as name=value"),
        ("rings(max_size=)", "write them as name=value"),
        ("rings(**{'a': 1})", "write them as name=value"),
        ("rings(max_size=open('x'))", "the value of max_size in .* is no number"),
        ("rings(a=1, a=2)", "write them as name=value"),
    ],
)
def test_what_cannot_be_read_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        Reference.parse(text)


@pytest.mark.parametrize("name", [":x", "a b:c", "a..b:c", "a:b c", "a:1", "a:class"])
def test_a_module_and_a_name_are_needed(name):
    with pytest.raises(ValueError, match=r"neither package.module:Name nor"):
        _ = Reference(name).module
