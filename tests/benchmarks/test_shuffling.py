import numpy as np
import pytest

from benchmarks import shuffling


def test_an_order_is_worth_less_the_smaller_its_window_is(monkeypatch):
    monkeypatch.setattr(shuffling, "ROWS", 20_000)
    monkeypatch.setattr(shuffling, "SHARD", 500)
    whole, some, one = (shuffling.quality(window) for window in (None, 2_000, 500))
    assert whole.distance == pytest.approx(1, abs=0.02)
    assert whole.same_shard == pytest.approx(1 / 40, abs=0.003)
    assert some.same_shard == pytest.approx(1 / 4, abs=0.02)
    assert one.same_shard > 0.8
    assert whole.correlation < 0.03


def test_pairs_are_counted_as_one_would_by_hand():
    shards = np.array([3, 3, 1, 3, 2])
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    alike = sum(shards[a] == shards[b] for a, b in pairs) / len(pairs)
    assert shuffling._pairs_alike(shards) == pytest.approx(alike)
