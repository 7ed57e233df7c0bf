"""Progress of long work: a bar on a terminal, single lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from time import monotonic
from typing import Literal

_in_whole: ContextVar[bool] = ContextVar("_in_whole", default=False)


def told_as_a_whole() -> bool:
    """Whether a bar of the whole work is shown, so that its parts need none."""
    return _in_whole.get()


@contextmanager
def progress(
    title: str,
    total: int | None,
    shown: bool = True,
    unit: Literal["items", "bytes"] = "items",
    done: int = 0,
    whole: bool = False,
) -> Iterator[Callable[[int], None]]:
    """A function to be called with the number of items (or bytes) just done.

    ``total`` is None where nobody knows, and ``done`` were done before. A terminal shows a bar
    with items per second and the time left; a log file gets one line at the beginning and one at
    the end, which comes in the place of a bar too. All go to standard error. Where this is the
    ``whole`` of some work, its parts show none.
    """
    if not shown or told_as_a_whole():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.text import Text

    class Throughput(ProgressColumn):
        """Items per second, so far."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f}/s")

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        amount: tuple[ProgressColumn, ProgressColumn] = (
            (MofNCompleteColumn(), Throughput())
            if unit == "items"
            else (DownloadColumn(), TransferSpeedColumn())
        )
        columns = (TextColumn("{task.description}"), BarColumn(), *amount, TimeRemainingColumn())
        bar = Progress(*columns, console=console, transient=True)
        task = bar.add_task(title, total=total, completed=done)
    else:
        bar = None
        console.print(
            f"{title}: "
            + (f"{unit} of an unknown number" if total is None else f"{total:,} {unit}"),
            soft_wrap=True,
        )
    start = monotonic()
    counted = 0

    def count(more: int) -> None:
        nonlocal counted
        counted += more
        if bar is not None:
            bar.update(task, advance=more)

    token = _in_whole.set(whole)
    try:
        with bar or nullcontext():
            yield count
    finally:
        _in_whole.reset(token)
    seconds = max(monotonic() - start, 1e-9)
    console.print(
        f"{title}: done in {seconds:.1f} s ({counted / seconds:,.0f} {unit}/s)", soft_wrap=True
    )
