import pytest
import torch

from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Shape
from cellformer.attention.cpu.packing import (
    PER_PATTERN,
    Learned,
    Saved,
    Step,
    grouped,
    joined,
    lengths_of,
    packed_patterns,
    plan_of,
    tensors_of,
    tuples_of,
    unpacked_patterns,
)
from cellformer.attention.dense.blocks import DenseBlocks


@pytest.fixture
def arrows(random_neighborhood):
    """A sparse arrow with terms, a dense one, and a sparse one without."""
    sparse, cells = random_neighborhood(0, 4, 6), torch.zeros(4, dtype=torch.int64)
    dense = DenseBlocks.of(cells, cells, 1, random_neighborhood(1, 4, 4))
    blocks = [ColumnBlock(matrix, 10 * matrix) for matrix in range(4)]
    sizes = {"head_width": 5, "value_width": 7, "heads": 2}
    pairs = len(sparse.senders)
    terms = torch.zeros(pairs, 2 + 6)
    return [
        ArrowAttention(*blocks, pattern=sparse, terms=terms, **sizes),
        ArrowAttention(*blocks, pattern=dense, theta=torch.ones(1), **sizes),
        ArrowAttention(*blocks, pattern=sparse, **sizes),
    ]


def test_a_plan_and_shapes_survive_as_one_list_of_numbers(arrows):
    plan, shapes = plan_of(arrows), [Shape(3, 4), Shape(5, 6)]
    numbers = joined(plan)
    assert all(type(number) is int for number in numbers)
    assert tuples_of(Step, numbers) == plan
    assert tuples_of(Shape, joined(shapes)) == shapes
    assert tuples_of(Step, []) == []


def test_a_plan_says_where_an_arrow_reads_and_writes_and_numbers_what_it_adds(arrows):
    first, second, third = plan_of(arrows)
    assert first == Step(
        dense=0,
        query=0,
        query_start=0,
        key=1,
        key_start=10,
        value=2,
        value_start=20,
        output=3,
        output_start=30,
        head_width=5,
        value_width=7,
        pair_width=3,
        heads=2,
        theta=-1,
        terms=0,
    )
    assert [step.received_width for step in (first, second)] == [10, 7]
    assert (second.dense, second.theta, second.terms) == (1, 0, -1)
    assert (third.dense, third.theta, third.terms) == (0, -1, -1)


@pytest.mark.parametrize("backward", [False, True])
def test_patterns_survive_as_one_list_of_tensors(arrows, backward):
    patterns = [arrow.pattern for arrow in arrows]
    packed = packed_patterns(patterns, backward)
    assert len(packed) == PER_PATTERN * len(patterns)
    unpacked = unpacked_patterns(packed, plan_of(arrows))
    for pattern, found in zip(patterns, unpacked, strict=True):
        expected = tensors_of(pattern, backward)
        assert type(found) is type(expected)
        for name, tensor in expected._asdict().items():
            assert torch.equal(getattr(found, name), tensor), name


def test_a_neighborhood_is_transposed_for_a_backward_only(arrows):
    pattern = arrows[0].pattern
    assert tensors_of(pattern, backward=False).transposed_offsets.tolist() == []
    assert tensors_of(pattern, backward=True).transposed_offsets is pattern.transposed.offsets


def test_groups_of_tensors_survive_as_one_list():
    one, two, three = torch.zeros(1), torch.zeros(2), torch.zeros(3)
    learned = Learned(matrices=[one, two], thetas=[], terms=[three])
    together = joined(learned)
    assert [len(tensor) for tensor in together] == [1, 2, 3]
    again = grouped(Learned, together, lengths_of(learned))
    assert isinstance(again, Learned)
    assert again == learned


def test_what_is_saved_keeps_what_was_computed_apart_from_what_is_learned():
    saved = Saved(**{name: [torch.tensor(n)] for n, name in enumerate(Saved._fields)})
    again = Saved.of(saved.computed, saved.learned, saved.indices, saved.seeds)
    assert again == saved
    assert saved.computed.log_sum_exps is saved.log_sum_exps
    assert saved.learned.terms is saved.terms
