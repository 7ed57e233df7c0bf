import os
import threading
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess

import pytest

from cellformer.data.preparing.executors import LocalProcesses


@dataclass(frozen=True)
class Dying:
    """Ends the process that does it, and holds others up."""

    start: int

    def __call__(self) -> None:
        if self.start == 0:
            os._exit(1)
        time.sleep(600)


def test_a_process_that_the_pool_has_not_ended_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(BaseProcess, "terminate", lambda self: None)  # one that began too late
    caught = []

    def work():
        with pytest.raises(RuntimeError, match="ended unexpectedly: it was killed") as raised:
            list(LocalProcesses(2)([Dying(0), Dying(1)]))
        caught.append(raised.value)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(120)
    assert caught
