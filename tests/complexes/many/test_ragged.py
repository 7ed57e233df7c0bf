import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import NO_SIGN, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank, ranges
from cellformer.complexes.many.store import open_ragged, save_ragged
from strategies import NAMED, assert_same_complex, complexes

collections = st.lists(complexes(max_vertices=6, features=True, encoding=2), min_size=1, max_size=5)


def padded(cells, dim):
    """The complex with ranks up to ``dim`` declared, without cells where it had none."""
    boundaries = list(cells.boundaries)
    for rank in range(cells.dim + 1, dim + 1):
        boundaries.append(np.zeros((cells.num_cells[rank - 1] if rank <= cells.dim + 1 else 0, 0)))
    columns = cells.features[0]
    wide = CellComplex.from_boundaries(boundaries, cells.num_vertices)
    empty = columns.take(slice(0))
    missing = dim - cells.dim
    return replace(
        wide,
        features=(*cells.features, *[empty] * missing),
        encodings=(*cells.encodings, *[cells.encodings[0][:0]] * missing),
        encoding_signs=cells.encoding_signs,
    )


def assert_same_collection(one, other):
    assert len(one) == len(other)
    assert len(one.ranks) == len(other.ranks)
    for left, right in zip(one.ranks, other.ranks, strict=True):
        for name in RaggedRank.ARRAYS:
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


def test_every_array_of_a_rank_is_listed():
    assert {field.name for field in fields(RaggedRank)} == set(RaggedRank.ARRAYS)


@given(collections)
@settings(deadline=None, max_examples=40)
def test_every_complex_comes_back_with_all_declared_ranks(many):
    ragged = RaggedComplexes.from_complexes(many)
    dim = max(cells.dim for cells in many)
    assert len(ragged) == len(many)
    np.testing.assert_array_equal(
        ragged.num_cells, [[*c.num_cells, *[0] * (dim - c.dim)] for c in many]
    )
    for index, cells in enumerate(many):
        back = ragged[index]
        assert back.num_cells == padded(cells, dim).num_cells
        for rank in range(dim + 1):
            declared = padded(cells, dim)
            np.testing.assert_array_equal(
                back.boundary(rank).toarray(), declared.boundary(rank).toarray()
            )
            if back.num_cells[rank]:
                np.testing.assert_array_equal(
                    back.features[rank].discrete, cells.features[rank].discrete
                )
                np.testing.assert_array_equal(
                    back.features[rank].continuous, cells.features[rank].continuous
                )
            np.testing.assert_array_equal(back.encodings[rank], declared.encodings[rank])


@given(collections, st.data())
@settings(deadline=None, max_examples=40)
def test_taking_equals_collecting_the_chosen(many, data):
    chosen = data.draw(st.lists(st.integers(0, len(many) - 1), min_size=1, max_size=6))
    depth = max(cells.dim for cells in many)
    targets = np.arange(2.0 * len(many)).reshape(-1, 2)
    taken = RaggedComplexes.from_complexes(many, targets).take(chosen)
    expected = RaggedComplexes.from_complexes([padded(many[i], depth) for i in chosen])
    assert_same_collection(taken, expected)
    np.testing.assert_array_equal(taken.targets, targets[chosen])


@given(collections, collections)
@settings(deadline=None, max_examples=20)
def test_concatenating_equals_collecting_all(first, second):
    parts = [RaggedComplexes.from_complexes(part) for part in (first, second)]
    assert_same_collection(
        RaggedComplexes.concatenate(parts), RaggedComplexes.from_complexes(first + second)
    )


@pytest.mark.parametrize(
    "names", [*itertools.permutations(["vertex", "path", "house", "tetrahedron"])], ids=" ".join
)
def test_a_rank_survives_wherever_the_complex_that_has_it_stands(names):
    ragged = RaggedComplexes.from_complexes([NAMED[name]() for name in names])
    for index, name in enumerate(names):
        cells = NAMED[name]()
        assert_same_complex(ragged[index], padded(cells, 3), positions=False)


def test_a_first_complex_without_a_rank_does_not_decide_its_features():
    path = CellComplex.from_boundaries(examples.path(3).boundaries, features=[[0, 1, 2], None])
    ring = CellComplex.from_boundaries(
        examples.triangle().boundaries, features=[[0, 1, 2], [1.5, 2.5, 3.5], [[7, 8]]]
    )
    bare = CellComplex.from_boundaries([], 2, features=[[0, 1]])
    with pytest.raises(ValueError, match=r"complex 1 .* columns at rank 1, complex 0 has"):
        RaggedComplexes.from_complexes([path, ring])
    for order in ([bare, ring], [ring, bare]):
        ragged = RaggedComplexes.from_complexes(order)
        back = ragged[order.index(ring)]
        assert back.features[1].continuous.tolist() == [[1.5], [2.5], [3.5]]
        assert back.features[2].discrete.tolist() == [[7, 8]]
    together = RaggedComplexes.concatenate(
        [RaggedComplexes.from_complexes([cells]) for cells in (bare, ring)]
    )
    assert together[1].features[2].discrete.tolist() == [[7, 8]]


def test_empty_ranks_are_added_and_never_removed():
    ragged = RaggedComplexes.from_complexes([examples.path(3)])
    assert ragged.to_depth(3).num_cells.tolist() == [[3, 2, 0, 0]]
    assert ragged.to_depth(0).num_cells.tolist() == [[3, 2]]


def test_targets_of_one_column_may_be_flat():
    ragged = RaggedComplexes.from_complexes([examples.vertex()] * 3, np.array([1.0, np.nan, 2.0]))
    assert ragged.targets.shape == (3, 1)
    assert ragged.targets.dtype == np.float32


@pytest.mark.parametrize("index", [0, 1, -1, -2])
def test_complexes_are_numbered_as_in_a_list(index):
    ragged = RaggedComplexes.from_complexes([examples.path(2), examples.house()])
    assert ragged[index].num_vertices == [2, 5][index]


@pytest.mark.parametrize("index", [2, -3])
def test_a_number_beyond_the_end_is_refused(index):
    ragged = RaggedComplexes.from_complexes([examples.path(2), examples.house()])
    with pytest.raises(IndexError, match="of 2"):
        ragged[index]


@pytest.mark.parametrize("chosen", [[0, 2], [-1]])
def test_taking_beyond_the_end_is_refused(chosen):
    ragged = RaggedComplexes.from_complexes([examples.path(2), examples.house()])
    with pytest.raises(IndexError, match="of 2"):
        ragged.take(chosen)


def test_taking_by_a_mask_is_refused():
    ragged = RaggedComplexes.from_complexes([examples.path(2), examples.house()])
    with pytest.raises(IndexError, match="a mask"):
        ragged.take([True, False])


def test_nothing_may_be_taken():
    ragged = RaggedComplexes.from_complexes([examples.path(2), examples.house()], np.zeros(2))
    none = ragged.take([])
    assert len(none) == 0
    assert none.num_cells.shape == (0, 3)
    assert none.targets.shape == (0, 1)
    assert len(RaggedComplexes.concatenate([none, ragged])) == 2


def encoded(cells, sign):
    rows = [np.zeros((n, 1), np.float32) for n in cells.num_cells]
    return cells.with_encodings(rows, np.array([sign], np.int8))


def test_complexes_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="at least one complex"):
        RaggedComplexes.from_complexes([])
    with pytest.raises(ValueError, match="at least one collection"):
        RaggedComplexes.concatenate([])
    one, two = encoded(examples.house(), NO_SIGN), encoded(examples.house(), 1)
    with pytest.raises(ValueError, match=r"complex 1 \('house'\) carries other encodings"):
        RaggedComplexes.from_complexes([one, two])
    parts = [RaggedComplexes.from_complexes([cells]) for cells in (one, two)]
    with pytest.raises(ValueError, match="collection 1 carries other encodings"):
        RaggedComplexes.concatenate(parts)
    with pytest.raises(ValueError, match="1 of 2 collections have targets"):
        RaggedComplexes.concatenate([replace(parts[0], targets=np.zeros((1, 1), "f")), parts[0]])
    with pytest.raises(ValueError, match="targets have 2 rows for 1 complexes"):
        RaggedComplexes.from_complexes([one], np.zeros(2))
    colored = CellComplex.from_boundaries([], 1, features=[[3]])
    plain = CellComplex.from_boundaries([], 1)
    parts = [RaggedComplexes.from_complexes([cells]) for cells in (colored, plain)]
    with pytest.raises(ValueError, match="different numbers of discrete"):
        RaggedComplexes.concatenate(parts)


def test_ranges_are_all_integers_between_starts_and_stops():
    numbers, offsets = ranges(np.array([5, 2, 9]), np.array([7, 2, 12]))
    assert numbers.tolist() == [5, 6, 9, 10, 11]
    assert offsets.tolist() == [0, 2, 2, 5]
    numbers, offsets = ranges(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert numbers.tolist() == []
    assert offsets.tolist() == [0]


def memory_mapped(ragged, folder):
    """The same collection with every array read-only on disk."""
    ranks = []
    for number, rank in enumerate(ragged.ranks):
        for name in RaggedRank.ARRAYS:
            np.save(folder / f"{number}_{name}.npy", getattr(rank, name))
        ranks.append(
            RaggedRank(
                *(np.load(folder / f"{number}_{n}.npy", mmap_mode="r") for n in RaggedRank.ARRAYS)
            )
        )
    return replace(ragged, ranks=tuple(ranks))


def test_memory_mapped_arrays_are_only_read(tmp_path):
    many = [NAMED[name]() for name in ("house", "vertex", "torus", "tetrahedron")]
    ragged = RaggedComplexes.from_complexes(many)
    mapped = memory_mapped(ragged, tmp_path)
    assert_same_collection(mapped.take([2, 0]), ragged.take([2, 0]))
    assert_same_complex(mapped[3], ragged[3])
    taken = mapped.take([1, 2])
    for rank in taken.ranks:
        for name in RaggedRank.ARRAYS:
            assert not isinstance(getattr(rank, name), np.memmap)
            assert getattr(rank, name).flags.writeable


def test_targets_of_cells_follow_their_complexes(tmp_path):
    listed = [examples.triangle(), examples.path(4), examples.house()]
    ragged = RaggedComplexes.from_complexes(listed)
    edges = ragged.ranks[1].offsets
    targets = np.arange(edges[-1], dtype=np.float32)[:, None]
    ragged = replace(ragged, targets=targets, target_rank=1)
    chosen = ragged.take([2, 0])
    expected = np.concatenate([targets[edges[2] : edges[3]], targets[edges[0] : edges[1]]])
    np.testing.assert_array_equal(chosen.targets, expected)
    np.testing.assert_array_equal(ragged.targets_of(np.array([2, 0])), expected)
    joined = RaggedComplexes.concatenate([ragged.take([0, 1]), ragged.take([2])])
    np.testing.assert_array_equal(joined.targets, targets)
    save_ragged(ragged, tmp_path / "store")
    opened, _ = open_ragged(tmp_path / "store")
    np.testing.assert_array_equal(opened.take([2, 0]).targets, expected)
    with pytest.raises(ValueError, match="targets of other cells"):
        RaggedComplexes.concatenate([ragged, replace(ragged, target_rank=0)])
