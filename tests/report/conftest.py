import pytest

from browser import chromium
from evil import train_evil_run


@pytest.fixture(scope="package")
def run(tmp_path_factory):
    return train_evil_run(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="package")
def browser():
    with chromium() as driver:
        yield driver
