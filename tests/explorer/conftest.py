import socket
import threading
import time

import pytest

from browser import chromium
from cellformer.explorer.inspection import Explorer
from evil import train_evil_run


@pytest.fixture(scope="package")
def run(tmp_path_factory):
    return train_evil_run(tmp_path_factory.mktemp("explorer"))


@pytest.fixture(scope="package")
def explorer(run):
    return Explorer.open(run)


@pytest.fixture(scope="package")
def address(explorer):
    """Of a server that runs in a thread; skipped where the extra is not installed."""
    uvicorn = pytest.importorskip("uvicorn")
    from cellformer.explorer.server import make_app

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(make_app(explorer), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="package")
def browser():
    with chromium() as driver:
        yield driver
