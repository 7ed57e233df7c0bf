import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.experiments.grid.results import read_results
from cellformer.experiments.grid.scores import notes, places, scores_of
from grids import put_run


def test_equals_share_a_place_and_take_up_no_more():
    shown = {"a": 0.75161, "b": 0.75049, "c": 0.75051, "d": 0.7484, "e": math.nan}
    assert places(shown, True) == {"a": 1, "b": 2, "c": 2, "d": 3}
    assert places(shown, False) == {"a": 3, "b": 2, "c": 2, "d": 1}


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.integers(), st.floats(0, 1), min_size=1), st.booleans())
def test_a_better_score_never_has_a_worse_place(values, higher):
    found = places(values, higher)
    assert min(found.values()) == 1
    assert set(found.values()) == set(range(1, max(found.values()) + 1))
    for one in values:
        for other in values:
            better = values[one] > values[other] if higher else values[one] < values[other]
            assert not better or found[one] <= found[other]


def test_seeds_are_put_together_and_one_alone_has_no_deviation(tmp_path):
    for seed, score in enumerate((0.74, 0.76, 0.75)):
        put_run(tmp_path, "gcb-hard", "general-sparse", "bspe", seed, score, val=0.8)
    put_run(tmp_path, "gcb-hard", "general-sparse", "zeros", 0, 0.7)
    (scored,) = scores_of(read_results(tmp_path))
    zeros, bspe = scored.scores  # in the order of the grid
    assert (zeros.encoding, bspe.encoding) == ("zeros", "bspe")
    assert bspe.test == pytest.approx(0.75)
    assert bspe.deviation == pytest.approx(0.01)
    assert bspe.validation == pytest.approx(0.8)
    assert bspe.difference == pytest.approx(0.75 - 0.7516)
    assert math.isnan(zeros.deviation)
    assert scored.places == {("general-sparse", "bspe"): 1, ("general-sparse", "zeros"): 2}


def test_a_set_of_ones_own_is_not_the_papers_of_the_same_name(tmp_path):
    put_run(tmp_path, "my/zinc.npz", "general-sparse", "bspe", 0, 0.7)
    (scored,) = scores_of(read_results(tmp_path))
    assert not scored.in_paper
    assert math.isnan(scored.scores[0].difference)


def test_notes_tell_what_one_test_graph_counts_and_what_differs(tmp_path):
    put_run(tmp_path, "gcb-hard", "general-sparse", "bspe", 0, 0.7, regenerated=True)
    (scored,) = scores_of(read_results(tmp_path))
    told = "\n".join(notes(scored))
    assert "gcb-hard (regenerated): these graphs are a new draw" in told
    assert "190 test complexes, so one of them is 0.53 points" in told
    assert "standard error of 0.0300" in told
    assert "training.epochs 2 (there 350)" in told
    assert "WARNING" not in told


def test_notes_warn_where_runs_do_not_belong_together(tmp_path):
    put_run(tmp_path, "zinc", "general-sparse", "bspe", 0, 0.1)
    put_run(tmp_path, "zinc", "general-sparse", "bspe", 1, 0.1, values={"model.layers": 3},
            digest="other")  # fmt: skip
    (scored,) = scores_of(read_results(tmp_path))
    told = "\n".join(notes(scored))
    assert "runs of different settings stand together: model.layers 12 or 3" in told
    assert "2 different states" in told
    assert "wrong by 1 more, is 0.0053 of the MAE" in told
