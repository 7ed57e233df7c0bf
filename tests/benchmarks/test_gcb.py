import pytest

pytest.importorskip("torch_geometric")

from benchmarks.gcb import LEARNERS, Score, line

from cellformer.experiments.baselines.config import BaselineConfig


def test_every_learner_is_a_training_of_the_same_graphs():
    for name, learner in LEARNERS.items():
        config = learner.config("gcb-hard", 3)
        assert (config.data.source, config.training.seed) == ("gcb-hard", 3)
        assert isinstance(config, BaselineConfig) == name.startswith("gin")


def test_a_line_has_the_mean_and_the_deviation_of_the_seeds():
    scores = [
        Score({"val": 0.5, "judging": 0.6}, 10, 1.0),
        Score({"val": 0.7, "judging": 0.6}, 10, 3.0),
    ]
    assert line("ours", scores) == (
        "ours: val 0.600 ± 0.141, judging 0.600 ± 0.000; 10 weights, 2 s"
    )
