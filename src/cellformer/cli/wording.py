"""What the parser says of a wrong value, in words of the command line instead of Python's."""

import re
from collections.abc import Iterable

from cellformer.basics.suggestions import nearest

_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}
_ENDLESS = ("nan", "inf", "infinity")
_KEY = re.compile(r'Parser key "([\w.-]+)"(?: element \d+)?:(.*)', re.DOTALL)
_VALUE = re.compile(r"(?:Got value|Given value): (.*)")
_LITERAL = re.compile(r"(?:typing\.)?Literal\[([^\]]*)\]")
_TUPLE = re.compile(r"tuple\[([^\]]*)\]")
_CLASS = re.compile(r"<class '(\w+)'>")
_SUBTYPES = re.compile(r"Subtypes: \[(.*?)\]\n", re.DOTALL)
_EXPECTED = re.compile(r"Expected a (.*?)\. Got value", re.DOTALL)
_REQUIRED = "the following arguments are required: "


def as_options(message: str, options: Iterable[str]) -> str:
    """The message, where it is one that is known to name types of Python's, in plain words."""
    if message.startswith(_REQUIRED):
        missing = [word.rpartition(".")[2] for word in message[len(_REQUIRED) :].split(", ")]
        listed = set(options)
        return _REQUIRED + ", ".join(f"--{w}" if f"--{w}" in listed else w for w in missing)
    told = _KEY.match(message)
    if told is None:
        return message
    key, rest = told.groups()
    values = _VALUE.findall(rest)
    types = _SUBTYPES.search(rest) or _EXPECTED.search(rest)
    if not values or types is None:
        return f"--{key}: {rest.strip()}"
    known = [*_kinds(types[1]), *_choices(types[1])]
    if not known:
        return f"--{key}: {rest.strip()}"
    given = values[-1].strip()
    if "tuple" in types[1] or "list" in types[1].lower():
        given = re.sub(r"[\[\]' ]", "", given)  # a list as it was written
    near = nearest(given, _choices(types[1]))
    hint = f"; did you mean {near}?" if near else ""
    if given.lower().strip("+-.") in _ENDLESS:
        known = ["a finite number" if kind == "a number" else kind for kind in known]
    *others, last = known
    one_of = f"{', '.join(others)} or {last}" if others else last
    return f"--{key} must be {one_of}, got {given or 'nothing'}{hint}"


def _choices(types: str) -> list[str]:
    return [word.strip(" '\"") for group in _LITERAL.findall(types) for word in group.split(",")]


def _kinds(types: str) -> list[str]:
    rest = _TUPLE.sub("", _LITERAL.sub("", types))
    names = [_WORDS[name] for name in _CLASS.findall(rest) if name in _WORDS]
    return [*map(_tuple_words, _TUPLE.findall(types)), *names]


def _tuple_words(inner: str) -> str:
    count = "" if "..." in inner else f"{inner.count(',') + 1} "
    what = "numbers" if "float" in inner or "int" in inner else "words"
    return f"{count}{what} with commas between"
