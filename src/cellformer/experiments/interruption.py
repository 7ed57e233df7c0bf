"""Being stopped by SIGTERM in order, wherever it comes."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM came; like Ctrl-C, nobody catches it by accident."""


@contextmanager
def terminable() -> Iterator[Callable[[], None]]:
    """Within, SIGTERM raises `Terminated`.

    While something else, such as a training, handles the signal in its own way, it is left to that;
    the function that is given raises `Terminated` if it came meanwhile. Only the main thread of a
    program can be told of signals; elsewhere nothing changes.
    """
    came = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        if signal.getsignal(signal.SIGTERM) is handle:  # not called by another handler
            raise Terminated

    def check() -> None:
        if came:
            raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield check
    finally:
        signal.signal(signal.SIGTERM, before)
