"""Shapes written in signatures are checked while tests run; no test sees the user's cache."""

import functools
import gc
import os
import sys
from pathlib import Path

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when Triton is imported, by torch.compile too

import numpy as np
import pytest
import torch
from jaxtyping import install_import_hook
from jsonargparse import _parameter_resolvers
from lightning.fabric.utilities import registry

import checking

checking.install()
install_import_hook("cellformer", "beartype.beartype")

from cellformer.basics.parts import trust
from cellformer.complexes.graph import Graph
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from own_parts import INSTALLED, install
from tiny import SMILES, write_molecules

HELD = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"

WAITING = ("test_ray.py", "test_world.py", "test_site.py", "test_export.py", "test_compiling.py")
"""Files whose tests take longest, mostly in other processes."""

torch.set_num_threads(1)  # the tensors of tests are too small to be worth more
# Each trainer of Lightning looks through all installed packages: 5 % of a small training.
registry.entry_points = functools.cache(registry.entry_points)
# Each parser of a command reads the source of all configurations for what their fields say.
_parameter_resolvers.parse_docs = functools.cache(_parameter_resolvers.parse_docs)


def pytest_collection_modifyitems(items):
    """What waits for other processes comes first: beside it there is work for all cores."""
    items.sort(key=lambda item: item.path.name not in WAITING)


def pytest_collection_finish():
    """What has been imported stays until the end: no collection of garbage need look at it."""
    import hypothesis  # noqa: F401 - asks, while imported, who refers to what: frozen things hide

    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELLFORMER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def signatures_are_checked_anew():
    checking.begin_test()


@pytest.fixture(autouse=True)
def room_for_files():
    """Stores that tests of before left in cycles are let go where few more could be opened."""
    yield
    if len(os.listdir(HELD)) > 100:
        gc.collect()


@pytest.fixture(scope="session")
def real_data():
    folder = os.environ.get("CELLFORMER_DATA")
    if not folder:
        pytest.skip("CELLFORMER_DATA does not name a folder of real data")
    return Path(folder)


@pytest.fixture
def molecules_npz(tmp_path):
    """24 molecules whose target is the number of atoms, 16 of them to train on."""
    sizes = np.array([Graph.from_smiles(text).num_vertices for text in SMILES], float)
    return write_molecules(tmp_path / "molecules.npz", sizes)


@pytest.fixture
def tiny(molecules_npz):
    """Every kind of randomness is on: dropout, random signs, shuffling."""
    return RunConfig(
        data=DataConfig(source=str(molecules_npz), encodings="bspe:3+rwpe:2"),
        attention="general-sparse",
        model=ArchitectureConfig(width=16, layers=2, heads=2, dropout=0.1, attention_dropout=0.1),
        optimizer=OptimizerConfig(peak_rate=1e-2),
        training=TrainingConfig(epochs=4, batch_size=5, device="cpu"),
    )


@pytest.fixture(scope="session")
def parts_folder(tmp_path_factory):
    """Where a distribution with a part of every kind is installed."""
    return install(tmp_path_factory.mktemp("others"))


@pytest.fixture
def no_parts_named(monkeypatch):
    """Neither are those known that other tests have named, nor are those of this one afterwards."""
    monkeypatch.setattr(trust, "_allowed", {})


@pytest.fixture
def installed_parts(parts_folder, no_parts_named, monkeypatch):
    """As in an environment that the distribution is installed into, also for other processes."""
    paths = [str(parts_folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setattr(sys, "path", [*sys.path, str(parts_folder)])
    yield INSTALLED
    sys.modules.pop(INSTALLED, None)
