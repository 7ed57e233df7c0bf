import pickle
import tempfile

import numpy as np
import pytest
import torch

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.examples import cycle, house
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.loading import sending
from cellformer.data.loading.sending import PER_CORE, Sent, check_workers


def test_a_batch_arrives_as_it_was_and_can_be_written_to():
    ragged = RaggedComplexes.from_complexes([cycle(4), house()], np.array([1.5, np.nan]))
    batch = CellBatch.from_ragged(ragged)
    arrived = pickle.loads(pickle.dumps(Sent(batch)))
    assert isinstance(arrived, CellBatch)
    for mine, other in zip(batch.boundaries, arrived.boundaries, strict=True):
        assert (mine.toarray() == other.toarray()).all()
    arrived.targets.add_(1)
    assert arrived.targets.dtype == torch.float32
    assert arrived.targets[0] == 2.5


def test_more_processes_than_cores_can_use_are_refused(monkeypatch):
    monkeypatch.setattr(sending.os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr(sending, "_files_left", lambda: None)
    check_workers(2 * PER_CORE)
    with pytest.raises(ValueError, match=r"9 processes .*loader_workers.* too many for 2 cores"):
        check_workers(2 * PER_CORE + 1)


def test_processes_that_would_wait_for_files_for_ever_are_refused(monkeypatch):
    with tempfile.TemporaryFile(), tempfile.TemporaryFile():
        left = sending._files_left()
    assert 0 < left == sending._files_left() - 2
    monkeypatch.setattr(sending, "_files_left", lambda: 63)
    check_workers(1)
    with pytest.raises(ValueError, match=r"need about 64 open files, and 63 are left .*ulimit -n"):
        check_workers(2)
