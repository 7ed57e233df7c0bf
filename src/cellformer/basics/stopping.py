"""Being asked to stop by a signal: one handler and one place of state for the whole process."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

RESUME_ME = 75
"""The exit code of work that was stopped and can go on (EX_TEMPFAIL of <sysexits.h>)."""

SIGNALS = tuple(
    signal.Signals[name]
    for name in ("SIGTERM", "SIGUSR1", "SIGINT")
    if name in signal.Signals.__members__  # not all are known on Windows
)

REPEATED = 1.0
"""Seconds within which another signal is taken to mean the same, so that clearing up is left."""


class StopSignal(KeyboardInterrupt):
    """Raised by a signal; being a KeyboardInterrupt, nobody handles it by accident."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


@dataclass
class _State:
    number: int = 0
    depth: int = 0
    deferring: int = 0
    raised: float = -math.inf
    before: dict[int, Any] = field(default_factory=dict)
    hook: Callable[..., object] = sys.unraisablehook
    leave: Callable[[int], None] | None = None


_state = _State()


class StopRequests:
    """SIGTERM, SIGUSR1 and Ctrl-C within a ``with`` block, also within another one.

    A signal raises `StopSignal` at once, or after an import that is under way, except within
    `deferred`, where it is only noted in ``number``. Signals that are ignored stay so. In another
    thread than the main one, which alone can receive signals, nothing changes.
    """

    @property
    def number(self) -> int:
        """That of the first signal since the outermost block began; 0 if none came."""
        return _state.number

    def __init__(self) -> None:
        self._in_charge = False

    def __enter__(self) -> "StopRequests":
        self._in_charge = threading.current_thread() is threading.main_thread()
        if self._in_charge:
            if not _state.depth:
                handlers = {number: signal.getsignal(number) for number in SIGNALS}
                _state.before = {n: h for n, h in handlers.items() if h is not signal.SIG_IGN}
                _state.number, _state.raised = 0, -math.inf
                _state.hook, sys.unraisablehook = sys.unraisablehook, _raise_again
            _state.depth += 1
            self.listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._in_charge:
            return
        _state.depth -= 1
        if _state.depth:
            self.listen()
            return
        sys.unraisablehook = _state.hook
        for number, handler in _state.before.items():
            signal.signal(number, handler)

    def listen(self) -> None:
        """Takes the signals (back) from whoever else wants to handle them."""
        if self._in_charge:
            for number in _state.before:
                signal.signal(number, _receive)

    def note(self, number: int) -> None:
        """As if the signal had come here, of one that came to another process of the same work."""
        _state.number = _state.number or number

    def check(self) -> None:
        """Raises `StopSignal` if a signal has come, whoever may have caught it meanwhile."""
        if _state.number:
            raise StopSignal(_state.number)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Here it is looked after ``number``; what came too late is raised at the end."""
        _state.deferring += 1
        try:
            yield
        finally:
            _state.deferring -= 1
        self.check()


def listen_to_the_end(leave: Callable[[int], None]) -> StopRequests:
    """Has signals handled for as long as the process lives, as a program of its own does.

    Where one comes during an import and within no other block, so that there is nothing to lose,
    ``leave`` is called, which ends the process.
    """
    requests = StopRequests()
    requests.__enter__()
    _state.leave = leave
    return requests


def deaf() -> None:
    """Ignores the signals from now on: the work is done, and the process about to end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def children_are_spared() -> Iterator[None]:
    """Processes that are started within never hear of the signals: their parent ends them.

    A signal is often sent to all processes of a job at once. A child that is gone before its
    parent has heard of it looks like one that has failed. Each has to call `obey_parent`.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # what children inherit
    try:
        resource_tracker.ensure_running()  # a child too; it lets some through, here as well
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def obey_parent() -> None:
    """In a child that was spared: SIGTERM of its parent, and of nobody else, ends it.

    So does the end of its parent, also where that came before this was called: who asks for the
    number of its parent later, as PyTorch's loaders do, waits for the one that has adopted it.
    """
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    if hasattr(signal, "sigwaitinfo"):
        threading.Thread(target=_wait_for_parent, daemon=True).start()
    elif hasattr(signal, "pthread_sigmask"):  # macOS does not tell who sent it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])


def _leave_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _wait_for_parent() -> None:
    parent = os.getppid()
    while signal.sigwaitinfo([signal.SIGTERM]).si_pid != parent:
        pass
    os._exit(1)


def _receive(number: int, frame: FrameType | None) -> None:
    _state.number = _state.number or number
    if _state.deferring:
        return
    if _importing(frame):  # an exception could get lost there, or become another one
        if _state.leave is not None and _state.depth == 1:
            _state.leave(number)
        _come_again(number)
        return
    now = time.monotonic()
    if now - _state.raised >= REPEATED:
        _state.raised = now
        raise StopSignal(number)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _raise_again(lost: Any) -> None:
    """Python ignores what is raised in a destructor or a callback of C: it is raised later."""
    if not isinstance(lost.exc_value, StopSignal):
        _state.hook(lost)
        return
    _state.raised = -math.inf
    _come_again(lost.exc_value.number)


def _come_again(number: int) -> None:
    later = threading.Timer(0.05, os.kill, (os.getpid(), number))
    later.daemon = True
    later.start()
