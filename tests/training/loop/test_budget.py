import pandas as pd
import pytest

from cellformer.training.loop import budget
from cellformer.training.train import resume, train
from tiny import with_training


class Clock:
    """Every look at it takes two seconds."""

    now = 0.0

    def monotonic(self):
        self.now += 2.0
        return self.now


def test_training_ends_in_order_when_the_time_is_up(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "time", Clock())
    # 4 steps an epoch, each of 2 seconds: the time is up in the middle of the second epoch.
    summary = train(with_training(tiny, epochs=50, max_minutes=0.2), tmp_path / "run")
    curve = pd.read_csv(tmp_path / "run" / "curve.csv")
    assert summary.epochs == len(curve) == 2
    assert 4 == curve["step"][0] < curve["step"][1] < 8
    assert curve["val_mae"].notna().all()
    assert set(summary.scores["best"]) == {"val", "test"}


def test_the_time_of_earlier_sessions_counts(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "time", Clock())
    tiny = with_training(tiny, epochs=50, max_minutes=0.6)
    train(tiny, tmp_path / "run", stop_after=3)
    (tmp_path / "run" / "summary.json").unlink()
    resumed = resume(tmp_path / "run")
    assert 3 < resumed.epochs <= 5


def test_a_budget_that_is_not_used_up_changes_nothing(tiny, tmp_path):
    tiny = with_training(tiny, epochs=2)
    free = train(tiny, tmp_path / "free")
    limited = train(with_training(tiny, max_minutes=60.0), tmp_path / "limited")
    assert limited.scores == free.scores


def test_a_budget_is_positive(tiny):
    with pytest.raises(ValueError, match="max_minutes must be positive"):
        with_training(tiny, max_minutes=0.0)
