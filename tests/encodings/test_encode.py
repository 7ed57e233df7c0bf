from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import FLIPPING_SIGN, NO_SIGN, SHARED_SIGN
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.relabel import flip
from cellformer.encodings.bspe import BSPe
from cellformer.encodings.encode import EncodedRanks, encode, encode_many
from cellformer.encodings.hodgelap import HodgeLap
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.encodings.rwpe import RWPe
from cellformer.encodings.slepians import Slepians
from cellformer.encodings.zeros import Zeros

KINDS = [Zeros, BSPe, RWBSPe, RWPe, HodgeLap, Slepians]
SIGNS = [NO_SIGN, SHARED_SIGN, NO_SIGN, NO_SIGN, FLIPPING_SIGN, FLIPPING_SIGN]
SEEDS = st.integers(0, 10_000)


@dataclass(frozen=True)
class Degree:
    """A user's own encoding."""

    size: int = 1
    columns: int = 1
    value: float = 1.0
    sign: int = NO_SIGN

    def __call__(self, cells):
        ranks = tuple(np.full((n, self.columns), self.value, np.float32) for n in cells.num_cells)
        return EncodedRanks(ranks, np.full(self.columns, self.sign, np.int8))


@pytest.mark.parametrize(("kind", "sign"), list(zip(KINDS, SIGNS, strict=True)))
def test_every_complex_gets_finite_columns_for_every_cell(named, kind, sign):
    for size in (1, 3, 8, 40):
        encoded = encode(named, kind(size))
        assert [rows.shape for rows in encoded.encodings] == [(n, size) for n in named.num_cells]
        assert all(rows.dtype == np.float32 for rows in encoded.encodings)
        assert all(np.isfinite(rows).all() for rows in encoded.encodings)
        assert encoded.encoding_signs.tolist() == [sign] * size


@pytest.mark.parametrize("kind", KINDS)
@given(SEEDS)
@settings(deadline=None, max_examples=10)
def test_columns_flip_with_the_orientation_of_their_cell_where_their_kind_says_so(
    random_complex, kind, seed
):
    cells = random_complex(seed)
    rng = np.random.default_rng(seed)
    turns = [None] + [rng.choice([-1, 1], count) for count in cells.num_cells[1:]]
    before, after = encode(cells, kind(4)), encode(flip(cells, turns), kind(4))
    for rank, (rows, others) in enumerate(zip(before.encodings, after.encodings, strict=True)):
        if rank and (before.encoding_signs == FLIPPING_SIGN).all():
            rows = rows * turns[rank][:, None]
            others = others * np.where((rows * others).sum(axis=0) < 0, -1, 1)
        np.testing.assert_allclose(others, rows, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_input_gives_the_same_bits(named, kind):
    first, second = encode(named, kind(8)), encode(named, kind(8))
    for one, other in zip(first.encodings, second.encodings, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_smaller_size_keeps_the_first_columns(named, kind):
    small, large = encode(named, kind(3)), encode(named, kind(9))
    for one, other in zip(small.encodings, large.encodings, strict=True):
        np.testing.assert_allclose(one, other[:, :3], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_no_size_below_one(kind):
    with pytest.raises(ValueError, match="at least 1, got 0"):
        kind(0)


def test_encodings_lie_side_by_side_in_the_given_order(make):
    cells = make("tetrahedra")
    both = encode(cells, [RWPe(3), BSPe(2), Degree()])
    alone = [encode(cells, e) for e in (RWPe(3), BSPe(2), Degree())]
    for rank, rows in enumerate(both.encodings):
        np.testing.assert_array_equal(rows, np.hstack([one.encodings[rank] for one in alone]))
    assert both.encoding_signs.tolist() == [NO_SIGN] * 3 + [SHARED_SIGN] * 2 + [NO_SIGN]


def test_the_given_complex_is_left_as_it_was_and_new_encodings_replace_old(make):
    cells = make("squares")
    once = encode(cells, BSPe(2))
    assert cells.encodings[0].shape == (7, 0)
    assert encode(once, RWPe(3)).encodings[0].shape == (7, 3)
    assert encode(once, []).encodings[0].shape == (7, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Degree(columns=2), r"Degree\(.*returned shapes .* expected \[\(7, 1\)"),
        (Degree(value=float("nan")), "not finite at rank=0"),
        (Degree(sign=7), "sign kinds"),
    ],
)
def test_what_a_users_encoding_got_wrong_is_named(make, wrong, message):
    with pytest.raises(ValueError, match=message):
        encode(make("squares"), [BSPe(2), wrong])


@given(SEEDS)
@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize("kind", [RWBSPe, RWPe])
def test_walks_follow_a_relabeling_and_ignore_orientation(random_complex, transformed, kind, seed):
    cells = random_complex(seed)
    new, orders, _ = transformed(cells, seed)
    before, after = encode(cells, kind(8)), encode(new, kind(8))
    for one, other, order in zip(before.encodings, after.encodings, orders, strict=True):
        np.testing.assert_allclose(other, one[order], atol=1e-6)


@given(SEEDS)
@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize("kind", [BSPe, HodgeLap])
def test_eigenspaces_follow_a_relabeling(random_complex, transformed, kind, seed):
    cells = random_complex(seed)
    new, orders, signs = transformed(cells, seed)
    many = sum(cells.num_cells)
    before, after = encode(cells, kind(many)).encodings, encode(new, kind(many)).encodings
    if kind is BSPe:  # one eigenvector covers all ranks, and has no orientation
        starts = np.cumsum([0, *cells.num_cells])
        orders = [np.concatenate([o + s for o, s in zip(orders, starts, strict=False)])]
        signs = [np.ones(many)]
        before, after = [np.vstack(before)], [np.vstack(after)]
    for one, other, order, sign in zip(before, after, orders, signs, strict=True):
        one = one[order] * sign[:, None]
        # Column after column, the spans agree wherever they end between two eigenspaces.
        agree = [
            np.allclose(one[:, :k] @ one[:, :k].T, other[:, :k] @ other[:, :k].T, atol=1e-4)
            for k in range(many + 1)
        ]
        overlap = abs(one.T @ other) > 1e-3
        ends = [k for k in range(many + 1) if not overlap[:k, k:].any() | overlap[k:, :k].any()]
        assert all(agree[k] for k in ends)
        assert len(ends) > 1


@given(SEEDS)
@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize("kind", [BSPe, RWBSPe, RWPe, HodgeLap, Slepians])
def test_flipping_orientations_changes_only_signs(random_complex, transformed, kind, seed):
    cells = random_complex(seed)
    _, _, signs = transformed(cells, seed)
    boundaries = [
        cells.boundary(rank).toarray() * signs[rank - 1][:, None] * signs[rank]
        for rank in range(1, cells.dim + 1)
    ]
    flipped = type(cells).from_boundaries(boundaries, num_vertices=cells.num_vertices)
    before, after = encode(cells, kind(8)).encodings, encode(flipped, kind(8)).encodings
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(abs(one), abs(other), atol=2e-6)


@pytest.mark.parametrize("encoding", [*(kind(8) for kind in KINDS), Degree()], ids=repr)
def test_many_complexes_get_the_bits_that_each_gets_alone(all_named, random_complex, encoding):
    complexes = [*all_named, *(random_complex(seed) for seed in range(6))]
    together = encode_many(RaggedComplexes.from_complexes(complexes), encoding)
    alone = RaggedComplexes.from_complexes([encode(cells, encoding) for cells in complexes])
    for one, other in zip(together.ranks, alone.ranks, strict=True):
        assert one.encodings.tobytes() == other.encodings.tobytes()
    np.testing.assert_array_equal(together.encoding_signs, alone.encoding_signs)


def test_the_columns_of_many_lie_side_by_side_and_replace_old_ones(all_named):
    many = encode_many(RaggedComplexes.from_complexes(all_named), BSPe(4))
    both = encode_many(many, [RWPe(3), Degree()])
    assert [rank.encodings.shape[1] for rank in both.ranks] == [4] * 4
    assert both.encoding_signs.tolist() == [NO_SIGN] * 4
    np.testing.assert_array_equal(
        both.ranks[1].encodings[:, :3], encode_many(many, RWPe(3)).ranks[1].encodings
    )
    assert encode_many(many, []).ranks[0].encodings.shape[1] == 0
    empty = many.take(np.zeros(0, np.int64))
    for encoding in (BSPe(2), Degree()):
        assert len(encode_many(empty, encoding)) == 0


def test_which_of_many_a_users_encoding_got_wrong_is_named(all_named):
    with pytest.raises(ValueError, match=r"complex 1: .* not finite"):
        encode_many(RaggedComplexes.from_complexes(all_named), [Degree(value=float("nan"))])
