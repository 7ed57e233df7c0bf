import errno
import os
import resource

import numpy as np
import pytest

from cellformer.basics.causes import raise_of_process, with_files
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.store import StoreError, open_ragged, save_ragged
from cellformer.lifting.induced_cycles import InducedCycles


def test_errors_of_the_process_are_raised_and_others_are_not():
    raise_of_process(OSError(errno.EIO, "the disk"))
    raise_of_process(ValueError("a header"))
    with pytest.raises(OSError, match="files"):
        raise_of_process(OSError(errno.EMFILE, "too many files"))


def few_files():
    """Leaves room for 40 more, whatever numbers the files have that are open now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = free = 0
    while free < 40:
        try:
            os.fstat(number)
        except OSError:
            free += 1
        number += 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    return soft, hard


@pytest.fixture
def store(tmp_path):
    complexes = RaggedComplexes.from_complexes([InducedCycles()(Graph.from_smiles("c1ccccc1O"))])
    save_ragged(complexes, tmp_path / "store")
    return tmp_path / "store"


def test_what_nobody_uses_any_more_makes_room_for_a_store(store):
    before = few_files()
    try:
        for _ in range(6):
            cycle = [open_ragged(store)]
            cycle.append(cycle)
            del cycle
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_lack_of_files_is_no_damage(store):
    before, kept = few_files(), []
    try:
        with pytest.raises(OSError, match="Too many open files") as error:
            kept.extend(open_ragged(store) for _ in range(6))
        assert not isinstance(error.value, StoreError)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        kept.clear()


def test_other_errors_are_not_tried_again(tmp_path):
    asked = []

    def opened():
        asked.append(1)
        return np.load(tmp_path / "none.npy")

    with pytest.raises(FileNotFoundError):
        with_files(opened)
    assert asked == [1]
