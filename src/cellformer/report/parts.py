"""What the sections of a report are made of."""

from dataclasses import dataclass

MOST_CHARTED = 12
"""Targets that get charts; a page with hundreds can hardly be opened."""


@dataclass(frozen=True)
class Chart:
    """A picture and what it shows."""

    title: str
    svg: str
    note: str = ""
    rows: tuple[int, ...] = ()  # of the source, one per dot of the group "points"
