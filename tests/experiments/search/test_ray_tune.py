import math
from dataclasses import replace

import pytest

pytest.importorskip("ray")
from cellformer.experiments.ray.carrying import Asker
from cellformer.experiments.running.progress_display import progress_display
from cellformer.experiments.search.folder import SearchFolder
from cellformer.experiments.search.ray_tune import ENDED, EPOCH, SCORE, OptunaTrials
from cellformer.experiments.search.space import SearchSpace
from tiny import tiny_run, with_training


def searched(folder, trials, left_before=()):
    """The values of a search whose process is another one before each of these trials.

    Twelve are more than those that are drawn without a look at the others.
    """
    base = with_training(tiny_run("set.csv"), epochs=2)
    given = {"optimizer.peak_rate": {"log_uniform": [1e-4, 0.1]},
             "model.dropout": {"choice": [0.0, 0.1, 0.2]}}  # fmt: skip
    space = SearchSpace.parse(given, base, "space")
    search = SearchFolder(folder)
    search.open(base, space)
    with progress_display("Trials", trials) as shown:

        def begun():
            asker = Asker(folder, "machine", "directory")
            return OptunaTrials(search, base, space, trials, 3, "mae", False, math.inf, asker,
                                shown)  # fmt: skip

        searcher = begun()
        for number in range(trials):
            if number in left_before:
                searcher = begun()
            job = searcher.suggest(str(number))["job"]
            if number in left_before and number % 2:  # lost while it was running
                searcher = begun()
                assert searcher.suggest(str(number))["job"].config == job.config
            rate, dropout = job.config.optimizer.peak_rate, job.config.model.dropout
            score = (math.log(rate) + 5) ** 2 + dropout
            searcher.on_trial_complete(str(number), {SCORE: score, EPOCH: 2, ENDED: "finished"})
    return [replace(trial, error=None) for trial in search.trials()]


def test_an_interrupted_search_tries_what_an_undisturbed_one_tries(tmp_path):
    right = searched(tmp_path / "whole", 14)
    assert len({str(trial.values) for trial in right}) == 14
    assert searched(tmp_path / "parts", 14, {1, 2, 5, 8, 11, 12, 13}) == right
