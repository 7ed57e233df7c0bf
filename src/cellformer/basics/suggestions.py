"""What to say of a name that is not among the choices."""

import difflib
from collections.abc import Iterable


def unknown_choice(what: str, name: object, choices: Iterable[str]) -> ValueError:
    """An error that lists the choices and names the nearest one."""
    known = list(choices)
    near = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ValueError(f"unknown {what} {name!r}{hint} (choose from {', '.join(known)})")
