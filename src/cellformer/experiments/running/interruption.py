"""Being stopped by SIGTERM or SIGUSR1 in order, wherever it comes."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from cellformer.training.loop.preemption import SIGNALS


class Terminated(KeyboardInterrupt):
    """Such a signal came; like Ctrl-C, nobody catches it by accident."""


@contextmanager
def terminable() -> Iterator[Callable[[], None]]:
    """Within, SIGTERM and SIGUSR1 raise `Terminated`.

    While something else, such as a training, handles a signal in its own way, it is left to that;
    the function that is given raises `Terminated` if it came meanwhile. Only the main thread of a
    program can be told of signals; elsewhere nothing changes.
    """
    came = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        if signal.getsignal(number) is handle:  # not called by another handler
            raise Terminated

    def check() -> None:
        if came:
            raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = {
        number: signal.signal(number, handle) for number in SIGNALS if number != signal.SIGINT
    }
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
