"""Shapes written in signatures are checked while tests run; no test sees the user's cache."""

import os
from pathlib import Path

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when Triton is imported, by torch.compile too

import pytest
import torch
from jaxtyping import install_import_hook

install_import_hook("cellformer", "beartype.beartype")
torch.set_num_threads(1)  # the tensors of tests are too small to be worth more


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELLFORMER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def real_data():
    folder = os.environ.get("CELLFORMER_DATA")
    if not folder:
        pytest.skip("CELLFORMER_DATA does not name a folder of real data")
    return Path(folder)
