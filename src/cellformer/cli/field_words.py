"""What jsonargparse says of a value that does not fit its field, in words of everyday."""

import re

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "NoneType": "null",
    "tuple": "a list",
    "list": "a list",
    "dict": "fields",
    "Path": "a path",
}
_UNION = re.compile(
    r"Does not validate against any of the Union subtypes Subtypes: \[(?P<types>.*?)\] Errors: .*?"
    r"Given value type: <class '\w+'> Given value: ?(?P<value>.*)"
)
_ONE = re.compile(r"Expected an? (?P<types>.*?)\. Got value: ?(?P<value>.*)")
_SNIPPET = re.compile(r"(line \d+, column \d+): .*? \^(?= |$)")
"""A line of YAML with a mark below a place in it, which is of no use within a line."""
_CONSTANTS = {"": "nothing", "None": "null", "True": "true", "False": "false"}
_TYPE = re.compile(
    r"<class '(?P<name>\w+)'>|(?:typing\.)?Literal\[(?P<choices>[^]]*)\]"
    r"|tuple\[(?P<parts>[^]]*)\]"
)


def plain(message: str) -> str:
    """A message of jsonargparse in one line, without its own terms and those of Python."""
    text = " ".join(message.split())
    text = re.sub(r'Parser key "([^"]*)":', r"\1:", text)
    text = re.sub(r"Problems parsing config: (.*)", r"not to be read as YAML: \1", text)
    text = re.sub(r' in "<unicode string>",', ",", text)
    text = (
        _SNIPPET.sub(r"\1;", text)
        .removesuffix(";")
        .removesuffix(": ^")
        .replace("'<stream end>'", "the end")
    )
    text = re.sub(r'Key "([^"]*)" not found in namespace\.', r"\1 is there twice, once by its "
                  "short name; keep one", text)  # fmt: skip
    text = re.sub(r"Key must be a string, got: (.*?)\.?$",
                  r"the name of a field is \1, but all are texts", text)  # fmt: skip
    text = re.sub(r"Unexpected config: ?(.*)", _no_fields, text)
    text = re.sub(r"Unable to load config (.*?) - .*", r"there is no file \1 with its fields", text)
    return _ONE.sub(_expected, _UNION.sub(_expected, text))


def _no_fields(found: re.Match[str]) -> str:
    given = f", not {found[1]}" if found[1] else ""
    return f"fields are needed, as in {{training: {{epochs: 5}}}}{given}"


def _expected(found: re.Match[str]) -> str:
    words = [_worded(each) for each in _TYPE.finditer(found["types"])] or [found["types"]]
    words.sort(key=lambda word: word == "null")  # which stands last
    value = found["value"].strip()
    return f"expected {' or '.join(words)}, got {_CONSTANTS.get(value, value)}"


def _worded(found: re.Match[str]) -> str:
    if found["name"]:
        return _TYPES.get(found["name"], found["name"])
    if found["choices"]:
        choices = found["choices"]
        return f"one of {choices}" if "," in choices else choices
    parts = [each.strip() for each in found["parts"].split(",")]
    kinds = {"float": "numbers", "int": "whole numbers", "str": "texts"}
    kind = kinds.get(parts[0], parts[0])
    return f"a list of {kind}" if parts[-1] == "..." else f"a list of {len(parts)} {kind}"
