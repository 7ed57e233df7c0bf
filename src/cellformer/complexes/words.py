"""Cells in words, and the picture that a notebook shows of them."""

from collections.abc import Sequence
from importlib import import_module

NAMES = ("vertex", "edge")
MOST_IN_A_NAME = 60


def cells_told(counts: Sequence[int], faces: str = "2-cell") -> str:
    """``7 vertices, 7 edges, 1 ring`` for the numbers of cells of each rank."""
    names = (*NAMES, faces, *(f"{rank}-cell" for rank in range(3, len(counts))))
    return ", ".join(map(_counted, counts, names)) or "no cells"


def titled(kind: str, name: str, told: str) -> str:
    """``Graph('CCO', 3 vertices, 2 edges)``, in a line however long the name is."""
    if len(name) > MOST_IN_A_NAME:
        name = f"{name[: MOST_IN_A_NAME - 3]}..."
    return f"{kind}({f'{name!r}, ' if name else ''}{told})"


def picture_of(shown: object) -> str | None:
    """The <svg> that a notebook shows of a graph or complex; None where it is too large.

    Whoever draws imports this package, so drawing is found by its name, and only when asked for.
    """
    drawn: str | None = import_module("cellformer.drawing.notebook").picture(shown)
    return drawn


def _counted(count: int, name: str) -> str:
    several = "vertices" if name == "vertex" else f"{name}s"
    return f"{count:,} {name if count == 1 else several}"
