"""Options as people write them: an underscore for a hyphen, and the other way round."""

from collections.abc import Collection, Sequence

ALL = "--help-all"
"""Help with every option."""


def spelled(arguments: Sequence[str], known: Collection[str]) -> list[str]:
    """The arguments with options as they are known, where hyphens alone set them apart.

    `ALL` is the parser's own ``--help``, whose extent is chosen when the parser is made.
    """
    plain = {_plain(option): option for option in known}
    found = []
    for word in arguments:
        name, equals, value = word.partition("=")
        if word == ALL:
            word = "--help"
        elif name.startswith("--") and name not in known and _plain(name) in plain:
            word = f"{plain[_plain(name)]}{equals}{value}"
        found.append(word)
    return found


def _plain(option: str) -> str:
    return "--" + option.removeprefix("--").replace("-", "_")
