import socket
import threading
import time
import urllib.request

import pytest

from browser import chromium
from cellformer.explorer.inspection import Explorer
from evil import train_evil_run

TOKEN = "a-token-of-tests"


@pytest.fixture(scope="package")
def entrance(address):
    """The address as it is told to a person."""
    return f"{address}/?token={TOKEN}"


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
        told = f"http://127.0.0.1:{listening.getsockname()[1]}"
        before = urllib.request._opener
        keeping = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        urllib.request.install_opener(keeping)
        with keeping.open(f"{told}/?token={TOKEN}") as page:
            assert page.url == f"{told}/"
        yield told
        urllib.request.install_opener(before)
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="package")
def browser():
    with chromium() as driver:
        yield driver
