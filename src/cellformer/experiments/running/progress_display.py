"""One display of many trainings that run elsewhere: bars on a terminal, lines in a log."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

from cellformer.training.runs.curve import read_curve
from cellformer.training.runs.run_folder import RunFolder

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30.0


@dataclass(frozen=True)
class Standing:
    """How far a training has come."""

    epochs: int
    score: str  # the last validation score, with its name; empty before the first one


def standing(folder: Path) -> Standing:
    """Reads how far a training is, from its learning curve."""
    try:
        rows = read_curve(RunFolder(folder).curve)
    except (OSError, ValueError):
        return Standing(0, "")
    last = rows[-1] if rows else {}
    scores = [f"{name} {value:.4g}" for name, value in last.items()
              if name.startswith("val_") and name != "val_loss" and value == value]  # fmt: skip
    return Standing(len(rows), scores[0] if scores else "")


class ProgressDisplay:
    """What is shown; `progress_display` opens one."""

    def __init__(self, title: str, total: int, bars: Progress | None):
        self.title = title
        self.total = total
        self.ended = 0
        self.bars = bars
        self.all = bars.add_task(title, total=total, told="") if bars else TaskID(0)
        self.running: dict[str, tuple[str, Path, int | None]] = {}
        self.rows: dict[str, TaskID] = {}
        self.shown = time.monotonic()

    def started(self, name: str, where: str, folder: Path, epochs: int | None) -> None:
        """A training begins or goes on, on a worker."""
        again = name in self.running
        self.running[name] = (where, folder, epochs)
        if self.bars is None:
            logger.info("%s: %s on %s", name, "goes on" if again else "started", where)
        elif not again:
            self.rows[name] = self.bars.add_task(name, total=epochs, told=where)

    def finished(self, name: str) -> None:
        """A training has ended, well or not."""
        self.ended += 1
        self.running.pop(name, None)
        if self.bars is not None:
            self.bars.update(self.all, completed=self.ended)
            if name in self.rows:
                self.bars.remove_task(self.rows.pop(name))

    def refresh(self) -> None:
        """Looks how far all are; a log gets a line now and then."""
        now = time.monotonic()
        if self.bars is None and now - self.shown < SECONDS_BETWEEN_LINES:
            return
        self.shown = now
        told = []
        for name, (where, folder, epochs) in self.running.items():
            stands = standing(folder)
            told.append(f"{name} {stands.epochs}/{epochs or '?'} {stands.score}".rstrip())
            if self.bars is not None:
                self.bars.update(
                    self.rows[name], completed=stands.epochs, told=f"{stands.score} {where}"
                )
        if self.bars is None:
            logger.info("%s: %d of %d ended; %s", self.title, self.ended, self.total,
                        "; ".join(told) or "none is running")  # fmt: skip


@contextmanager
def progress_display(title: str, total: int) -> Iterator[ProgressDisplay]:
    """A display of ``total`` trainings on standard error."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield ProgressDisplay(title, total, None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               Elapsed(), TextColumn("{task.fields[told]}"))  # fmt: skip
    with Progress(*columns, console=console) as bars:
        yield ProgressDisplay(title, total, bars)
