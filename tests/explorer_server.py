"""The explorer, served in a thread."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest

TOKEN = "a-token-of-tests"


@contextmanager
def serving(explorer):
    """The address of a server; skipped where the extra is not installed."""
    uvicorn = pytest.importorskip("uvicorn")
    from cellformer.explorer.access import Impatient
    from cellformer.explorer.server import make_app

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(make_app(explorer, TOKEN), http=Impatient, log_level="warning")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()
