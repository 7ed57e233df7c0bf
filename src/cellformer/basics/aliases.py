"""YAML whose aliases would make it grow without bound."""

import yaml

MOST_NODES = 100_000
"""Of a document, every alias counted as all that it stands for."""


class TooManyAliasesError(yaml.YAMLError):
    """A document is larger than it looks; reading it would take all memory and time."""


def check_aliases(text: str) -> None:
    """Raises TooManyAliasesError where aliases of a document contain one another too often.

    An alias takes no room by itself, but what goes over the values of nine lines of nine aliases
    each, of the line before, never ends. Raises any other YAMLError where it is no YAML.
    """
    if "*" not in text or "&" not in text:
        return
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is not None and _size(root, {}) > MOST_NODES:
        raise TooManyAliasesError(
            f"its aliases (*name) stand for more than {MOST_NODES:,} values, or for themselves; "
            "write the values where they belong"
        )


def _size(node: yaml.Node, known: dict[int, float]) -> float:
    """The nodes that a node stands for; infinitely many where it contains itself."""
    if id(node) not in known:
        known[id(node)] = float("inf")  # until all that it contains is counted
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        each = (part for pair in parts for part in (pair if isinstance(pair, tuple) else (pair,)))
        known[id(node)] = 1.0 + sum(_size(part, known) for part in each)
    return known[id(node)]
