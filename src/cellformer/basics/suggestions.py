"""What to say of a name that is not among the choices."""

import difflib
from collections.abc import Iterable


def nearest(name: object, choices: Iterable[str]) -> str | None:
    """The choice that a name most resembles, in any case; None where it resembles none."""
    by_lower = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """``; did you mean 'CHOICE'?`` for the nearest choice, or nothing where none is near."""
    near = nearest(name, choices)
    return f"; did you mean {near!r}?" if near else ""


def unknown_choice(what: str, name: object, choices: Iterable[str]) -> ValueError:
    """An error that lists the choices and names the nearest one."""
    known = list(choices)
    return ValueError(
        f"unknown {what} {name!r}{did_you_mean(name, known)} (choose from {', '.join(known)})"
    )
