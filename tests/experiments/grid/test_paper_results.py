from collections import Counter

import pytest

from cellformer.encodings.catalog import ENCODINGS
from cellformer.experiments.grid.paper_results import (
    OTHER_MODELS,
    PAPER,
    PAPER_BEST,
    PAPER_SETS,
    PaperScore,
)
from cellformer.model.catalogs import ATTENTIONS

# The paper's table of best combinations, which repeats a part of its full table.
COLUMNS = ("bspe", "hodgelap", "rwbspe", "slepians", "rwpe")
COMBINATIONS = {
    ("gcb-hard", "general-sparse"): (0.7516, 0.7432, 0.7442, 0.7432, 0.7442),
    ("zinc", "general-sparse"): (0.0840, 0.0824, 0.1296, 0.1303, 0.1051),
    ("molhiv", "general-sparse"): (0.7681, 0.7032, 0.7082, 0.7192, 0.7343),
    ("gcb-hard", "pairwise-mixed"): (0.7347, 0.7337, 0.7442, 0.7421, 0.7379),
    ("zinc", "pairwise-mixed"): (0.0833, 0.0831, 0.0802, 0.1202, 0.0833),
    ("molhiv", "pairwise-mixed"): (0.7784, 0.7658, 0.7321, 0.7565, 0.7338),
    ("gcb-hard", "pairwise-sparse"): (0.7400, 0.7421, 0.7389, 0.7505, 0.7505),
    ("zinc", "pairwise-sparse"): (0.0934, 0.0852, 0.1210, 0.1452, 0.0973),
    ("molhiv", "pairwise-sparse"): (0.7946, 0.7586, 0.7058, 0.7111, 0.7288),
}


def test_the_full_grid_is_there():
    assert set(PAPER) == {
        (dataset, attention, encoding)
        for dataset in PAPER_SETS
        for attention in ATTENTIONS.names
        for encoding in ENCODINGS.names
    }
    assert len(PAPER) == 90


@pytest.mark.parametrize(("dataset", "attention"), COMBINATIONS)
def test_the_paper_says_the_same_in_its_table_of_combinations(dataset, attention):
    values = tuple(PAPER[dataset, attention, encoding].value for encoding in COLUMNS)
    assert values == COMBINATIONS[dataset, attention]


@pytest.mark.parametrize(
    ("key", "value", "deviation"),
    [
        (("gcb-hard", "general-dense", "hodgelap"), 0.5811, 0.0250),
        (("gcb-hard", "pairwise-dense", "rwpe"), 0.6463, 0.0406),
        (("gcb-hard", "pairwise-mixed", "zeros"), 0.7484, 0.0061),
        (("molhiv", "pairwise-dense", "zeros"), 0.5952, None),
        (("molhiv", "general-dense", "rwbspe"), 0.6949, None),
        (("zinc", "general-dense", "slepians"), 0.5175, None),
        (("zinc", "general-sparse", "zeros"), 0.1239, None),
    ],
)
def test_entries_that_only_the_full_table_has(key, value, deviation):
    assert PAPER[key] == PaperScore(value, deviation)


def test_deviations_are_those_of_gcb():
    assert all((score.deviation is None) == (key[0] != "gcb-hard") for key, score in PAPER.items())


def test_the_best_of_the_grid_is_what_the_summary_rounds():
    for dataset, told in PAPER_BEST.items():
        values = [score.value for (name, *_), score in PAPER.items() if name == dataset]
        best = min(values) if dataset == "zinc" else max(values)
        assert best == pytest.approx(told.value, abs=0.0005)


def test_other_models_are_all_there():
    assert Counter(other.dataset for other in OTHER_MODELS) == {
        "gcb-hard": 13, "molhiv": 10, "zinc": 12,
    }  # fmt: skip
    scores = {(other.dataset, other.name): other.score for other in OTHER_MODELS}
    assert len(scores) == len(OTHER_MODELS)
    assert scores["gcb-hard", "MinCutPool"] == PaperScore(0.738, 0.019)
    assert scores["gcb-hard", "Top-K"] == PaperScore(0.427, 0.152)
    assert scores["molhiv", "CIN"] == PaperScore(0.8094)
    assert scores["zinc", "GPS"] == PaperScore(0.070)
