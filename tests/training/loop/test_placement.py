import logging

import numpy as np
import pytest

from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.examples import house, triangle
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig
from cellformer.model.device_neighborhoods import resident_for
from cellformer.model.plans.pairwise import pairwise_mixed
from cellformer.model.transformer import CellularTransformer
from cellformer.training.config import TrainingConfig
from cellformer.training.loop import placement


@pytest.fixture
def complexes():
    return RaggedComplexes.from_complexes([house(), triangle()], np.ones(2))


@pytest.fixture
def model(complexes):
    architecture = ArchitectureConfig(width=8, layers=1, heads=2)
    return CellularTransformer(
        ModelConfig(architecture, DataShape.of(complexes, 1)), pairwise_mixed()
    )


def test_on_a_cpu_complexes_stay_in_their_store_unless_asked_for(complexes, model, caplog):
    for resident in ("auto", False):
        config = TrainingConfig(device="cpu", resident=resident)
        assert placement.placed(complexes, model, config) is complexes
    with caplog.at_level(logging.INFO):
        resident = placement.placed(complexes, model, TrainingConfig(device="cpu", resident=True))
    assert isinstance(resident, ResidentComplexes)
    assert "2 complexes take up 0 MB on cpu" in caplog.text


@pytest.fixture
def with_gpu(monkeypatch):
    """A GPU of some free bytes, as far as the choice goes; the tensors stay on the CPU."""
    monkeypatch.setattr(placement, "device_of", lambda config: "cuda")
    monkeypatch.setattr(ResidentComplexes, "to", lambda self, device: self)

    def free(count):
        monkeypatch.setattr(placement.torch.cuda, "mem_get_info", lambda: (count, 10 * count))

    return free


def test_on_a_gpu_they_move_where_a_quarter_of_its_free_memory_holds_them(
    complexes, model, with_gpu
):
    needed = resident_for(model, complexes).nbytes
    for free, moves in ((4 * needed, True), (4 * needed - 4, False), (400, False)):
        with_gpu(free)
        found = placement.placed(complexes, model, TrainingConfig())
        assert (found is not complexes) == moves
        with_workers = TrainingConfig(loader_workers=1)
        assert placement.placed(complexes, model, with_workers) is complexes
    assert placement.placed(complexes, model, TrainingConfig(resident=True)) is not complexes
