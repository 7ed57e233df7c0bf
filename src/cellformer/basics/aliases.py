"""YAML that says something else than it seems to: by endless aliases, or one key twice."""

import yaml

MOST_NODES = 100_000
"""Of a document, every alias counted as all that it stands for."""


class TooManyAliasesError(yaml.YAMLError):
    """A document is larger than it looks; reading it would take all memory and time."""


class KeyTwiceError(yaml.YAMLError):
    """A document gives a value twice, of which a reader would drop the first."""


def check_aliases(text: str) -> None:
    """Raises TooManyAliasesError where aliases of a document contain one another too often.

    An alias takes no room by itself, but what goes over the values of nine lines of nine aliases
    each, of the line before, never ends. Raises any other YAMLError where it is no YAML.
    """
    if "*" not in text or "&" not in text:
        return
    root = _composed(text)
    if root is not None and _size(root, {}) > MOST_NODES:
        raise TooManyAliasesError(
            f"its aliases (*name) stand for more than {MOST_NODES:,} values, or for themselves; "
            "write the values where they belong"
        )


def check_keys_once(text: str) -> None:
    """Raises KeyTwiceError where a mapping has a key twice, and YAMLError where it is no YAML."""
    root = _composed(text)
    waiting, seen = [root] if root else [], {id(root)}
    while waiting:
        node = waiting.pop()
        parts: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            names: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                    if key.value in names:
                        line = key.start_mark.line + 1
                        raise KeyTwiceError(f"{key.value!r} is there twice, line {line}; keep one")
                    names.add(key.value)
                parts.append(value)
        elif isinstance(node, yaml.SequenceNode):
            parts = node.value
        waiting += [part for part in parts if id(part) not in seen]
        seen.update(map(id, parts))


def _composed(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply to be a configuration") from None


def _size(node: yaml.Node, known: dict[int, float]) -> float:
    """The nodes that a node stands for; infinitely many where it contains itself."""
    if id(node) not in known:
        known[id(node)] = float("inf")  # until all that it contains is counted
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        each = (part for pair in parts for part in (pair if isinstance(pair, tuple) else (pair,)))
        known[id(node)] = 1.0 + sum(_size(part, known) for part in each)
    return known[id(node)]
