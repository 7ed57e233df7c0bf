"""Messages as a terminal shows them: one line, and nothing that a terminal would obey."""

import sys

MOST = 500
"""Characters of a message."""
END = 160  # of these at its end, where the way out stands


def say(text: object) -> None:
    """Prints to standard error what went wrong, as `readable`, in the name of the program."""
    print(f"cellformer: {readable(str(text))}", file=sys.stderr)  # noqa: T201


def readable(text: str) -> str:
    """At most 500 characters in one line; of a longer text the middle is left out.

    Ends of lines become spaces, and other control characters, which may come from somebody's file,
    are written as Python writes them.
    """
    line = " ".join(text.splitlines())
    shown = "".join(each if each.isprintable() else _escaped(each) for each in line)
    if len(shown) <= MOST:
        return shown
    gap = " [...] "
    return f"{shown[: MOST - END - len(gap)]}{gap}{shown[-END:]}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
