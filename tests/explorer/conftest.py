import urllib.request

import pytest

from browser import chromium
from cellformer.explorer.inspection import Explorer
from evil import train_evil_run
from explorer_server import TOKEN, serving


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
    """Of a server that runs in a thread, as somebody with the cookie has it."""
    with serving(explorer) as told:
        before = urllib.request._opener
        keeping = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        urllib.request.install_opener(keeping)
        with keeping.open(f"{told}/?token={TOKEN}") as page:
            assert page.url == f"{told}/"
        yield told
        urllib.request.install_opener(before)


@pytest.fixture(scope="package")
def browser():
    with chromium() as driver:
        yield driver
