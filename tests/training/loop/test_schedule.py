import math

import pytest

from cellformer.training.config import TrainingConfig
from cellformer.training.loop.schedule import epochs_of, warmup_cosine


def test_rises_linearly_and_peaks_at_the_end_of_the_warmup():
    factors = [warmup_cosine(step, 100, 0.1) for step in range(10)]
    assert factors == pytest.approx([(step + 1) / 10 for step in range(10)])
    assert warmup_cosine(10, 100, 0.1) == pytest.approx(1)


def test_falls_as_a_half_cosine_to_zero():
    assert warmup_cosine(55, 100, 0.1) == pytest.approx(0.5)
    assert warmup_cosine(100, 100, 0.1) == pytest.approx(0)
    assert warmup_cosine(150, 100, 0.1) == pytest.approx(0)


def test_a_schedule_without_warmup_starts_at_the_peak():
    assert warmup_cosine(0, 7, 0.0) == 1


@pytest.mark.parametrize("total", [1, 2, 3, 1000])
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.9])
def test_no_step_of_a_schedule_is_without_learning_or_above_the_peak(total, warmup):
    for step in range(total):
        factor = warmup_cosine(step, total, warmup)
        assert 0 < factor <= 1
        assert math.isfinite(factor)


@pytest.mark.parametrize(
    ("steps_per_epoch", "epochs"),
    [(1, 300), (4, 300), (5, 240), (9, 134), (40, 30), (63, 30), (100_000, 30)],
)
def test_a_small_set_gets_more_epochs(steps_per_epoch, epochs):
    assert epochs_of(TrainingConfig(), steps_per_epoch) == epochs


@pytest.mark.parametrize(("steps_per_epoch", "epochs"), [(1, 300), (2, 150), (9, 34), (10, 30)])
def test_fewer_steps_are_enough_beside_kernels(steps_per_epoch, epochs):
    assert epochs_of(TrainingConfig(), steps_per_epoch, beside_kernels=True) == epochs


def test_a_number_of_epochs_is_kept():
    assert epochs_of(TrainingConfig(epochs=7), 1) == 7
