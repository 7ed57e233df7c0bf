import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.data.loading.epochs import EpochBatches

sizes = st.lists(st.integers(0, 30), max_size=60).map(lambda values: np.array(values, np.int64))


def epoch(sampler, number):
    sampler.set_epoch(number)
    return list(sampler)


@given(
    cells=sizes,
    batch_size=st.integers(1, 9),
    batch_cells=st.none() | st.integers(1, 80),
    order=st.sampled_from([(False, False), (True, False), (True, True)]),
    seed=st.integers(0, 5),
    window=st.none() | st.integers(1, 40),
    shard=st.integers(1, 20),
)
@settings(deadline=None, max_examples=200)
def test_every_epoch_has_each_number_once_within_the_limits(
    cells, batch_size, batch_cells, order, seed, window, shard
):
    shuffle, bucket = order
    window = window if shuffle else None
    options = (batch_cells, bucket, window, np.arange(len(cells)) // shard)
    sampler = EpochBatches(cells, batch_size, shuffle, seed, *options)
    for number in (0, 1, 7):
        made = epoch(sampler, number)
        flat = [each for batch in made for each in batch]
        assert sorted(flat) == list(range(len(cells)))
        assert len(made) == len(sampler)
        for batch in made:
            assert 1 <= len(batch) <= batch_size
            total = cells[batch].sum()
            assert batch_cells is None or total <= batch_cells or len(batch) == 1
        if not shuffle:
            assert flat == list(range(len(cells)))
        again = EpochBatches(cells, batch_size, shuffle, seed, *options)
        assert epoch(again, number) == made
        for done in {0, len(made) // 2, len(made)}:
            again.go_on_after(done)
            assert epoch(again, number) == made[done:]


@pytest.mark.parametrize("bucket", [False, True])
@pytest.mark.parametrize("batch_cells", [None, 400])
def test_epochs_and_seeds_give_other_batches(batch_cells, bucket):
    cells = np.random.default_rng(0).integers(5, 60, 200)
    sampler = EpochBatches(cells, 16, True, 0, batch_cells, bucket)
    made = [epoch(sampler, number) for number in range(5)]
    made.append(epoch(EpochBatches(cells, 16, True, 1, batch_cells, bucket), 0))
    composed = {frozenset(map(frozenset, batches)) for batches in made}
    assert len(composed) == 6


def test_batches_are_as_full_as_their_budget_allows():
    cells = np.random.default_rng(0).integers(5, 60, 1000)
    sampler = EpochBatches(cells, 1000, True, 0, 800)
    for number in range(20):
        used = np.array([cells[batch].sum() for batch in epoch(sampler, number)])
        assert used.mean() > 0.9 * 800


@given(
    shards=st.lists(st.integers(0, 9), min_size=1, max_size=120).map(np.array),
    window=st.integers(1, 150),
    number=st.integers(0, 3),
)
@settings(deadline=None, max_examples=200)
def test_a_window_is_of_whole_shards_and_no_more_of_them_than_it_needs(shards, window, number):
    sampler = EpochBatches(np.ones(len(shards), np.int64), 1, True, 0, None, False, window, shards)
    read = shards[[each for (each,) in epoch(sampler, number)]].tolist()
    sizes = {shard: read.count(shard) for shard in read}
    while read:  # window after window, in plain Python
        opened = set()
        while not opened or {*read[: sum(sizes[shard] for shard in opened)]} != opened:
            before = len(opened)
            opened |= {*read[: max(1, sum(sizes[shard] for shard in opened))]}
            assert len(opened) > before
        held = sum(sizes[shard] for shard in opened)
        # Those that begin within a window: all but the last to begin fit.
        assert held - max(sizes[shard] for shard in opened) < window
        del read[:held]


def test_shards_and_what_is_in_a_window_come_in_another_order_in_every_epoch():
    shards = np.arange(600) // 20
    sampler = EpochBatches(np.ones(600, np.int64), 10, True, 0, None, False, 100, shards)
    firsts = set()
    for number in range(20):
        order = np.concatenate(epoch(sampler, number))
        windows = shards[order].reshape(6, 100)
        assert [len(set(each)) for each in windows] == [5] * 6
        firsts.add(tuple(order[:10]))
        assert len(set(windows[0][:10])) > 1  # batches mix shards
    assert len(firsts) == 20
    whole = EpochBatches(np.ones(600, np.int64), 10, True, 0, None, False, 600, shards)
    assert sorted(np.concatenate(epoch(whole, 0))[:300].tolist()) != [*range(300)]


def test_a_bucket_holds_complexes_of_like_size():
    cells = np.random.default_rng(0).integers(5, 500, 2000)

    def spread(bucket):
        sampler = EpochBatches(cells, 20, True, 0, bucket=bucket)
        return np.mean([cells[batch].std() for batch in sampler])

    assert spread(bucket=True) < 0.1 * spread(bucket=False)
    firsts = [cells[batch].mean() for batch in EpochBatches(cells, 20, True, 0, bucket=True)]
    assert abs(np.corrcoef(firsts, np.arange(len(firsts)))[0, 1]) < 0.3  # not smallest first


def test_without_a_budget_the_order_is_numpys_permutation():
    """Runs of earlier versions can be resumed."""
    sampler = EpochBatches(np.ones(10, np.int64), 4, True, 3)
    sampler.set_epoch(2)
    expected = np.random.default_rng((3, 2)).permutation(10).tolist()
    assert [each for batch in sampler for each in batch] == expected


def test_a_complex_over_the_budget_is_alone_and_reported(caplog):
    sampler = EpochBatches(np.array([3, 50, 4, 99, 2]), 10, False, 0, 10)
    assert list(sampler) == [[0], [1], [2], [3], [4]]
    (record,) = caplog.records
    assert record.message.startswith("2 of 5 complexes have more than batch_cells = 10 cells")
    assert "largest has 99" in record.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 1, "batch_cells": 0}, "batch_cells"),
        ({"batch_size": 1, "bucket": True}, "shuffle=True"),
        ({"batch_size": 1, "window": 0}, "window"),
        ({"batch_size": 1, "window": 5}, "window goes with shuffle=True and the shards"),
    ],
)
def test_what_makes_no_batches_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        EpochBatches(np.ones(3, np.int64), shuffle=False, seed=0, **options)


def test_the_epoch_may_be_chosen_after_iteration_has_begun():
    sampler = EpochBatches(np.ones(50, np.int64), 5, True, 0)
    begun = iter(sampler)
    sampler.set_epoch(4)
    assert list(begun) == epoch(sampler, 4)


def test_a_resumed_epoch_leaves_out_what_was_done_and_the_next_one_is_whole():
    sampler = EpochBatches(np.ones(50, np.int64), 5, True, 0)
    whole, following = epoch(sampler, 2), epoch(sampler, 3)
    sampler.go_on_after(4)
    assert epoch(sampler, 2) == whole[4:]
    assert epoch(sampler, 3) == following
