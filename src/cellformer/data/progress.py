"""Progress of long work: a bar on a terminal, single lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


@contextmanager
def progress(title: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A function to be called with the number of items just done.

    A terminal shows a bar with items per second and the time left; a log file gets one line at
    the beginning and one at the end. Both go to standard error.
    """
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Throughput(ProgressColumn):
        """Items per second, so far."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f}/s")

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                   Throughput(), TimeRemainingColumn())  # fmt: skip
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(title, total=total)
            yield lambda done: bar.update(task, advance=done)
        return
    console.print(f"{title}: {total:,} items", soft_wrap=True)
    start = monotonic()
    yield lambda _: None
    seconds = max(monotonic() - start, 1e-9)
    console.print(
        f"{title}: done in {seconds:.1f} s ({total / seconds:,.0f} items/s)", soft_wrap=True
    )
