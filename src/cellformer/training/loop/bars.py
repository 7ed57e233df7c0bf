"""Bars of what a model does, that go away when it is done."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cellformer.basics.progress import told_as_a_whole

T = TypeVar("T")


def bar(before: TextColumn, after: TextColumn | MofNCompleteColumn) -> Progress:
    """A bar on standard error between two columns, with the time left, that leaves nothing."""
    console = Console(stderr=True, highlight=False)
    columns = (before, BarColumn(), after, TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True)


def predicting(batches: Iterable[T], total: int) -> Iterator[T]:
    """So many batches, one after the other, with a bar over them where there is a terminal.

    A single one needs no bar, nor does what is a part of work with a bar of its own.
    """
    shown = bar(TextColumn("Predicting"), MofNCompleteColumn())
    if total < 2 or told_as_a_whole() or not shown.console.is_terminal:
        yield from batches
        return
    with shown:
        yield from shown.track(batches, total=total, description="")
