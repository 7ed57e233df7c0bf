"""The explorer, served in a thread, and how it is asked."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
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


def send(address, path, question, opener=None, **headers):
    """The status and the answer, of JSON or of bytes as they are."""
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    request = urllib.request.Request(
        address + path, body, {"Content-Type": "application/json", **headers}
    )
    try:
        with (opener.open if opener else urllib.request.urlopen)(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            text = error.read()
        return error.code, json.loads(text) if text[:1] == b"{" else {"error": text.decode()}
