from dataclasses import replace

import pytest
import yaml

from cellformer.experiments.ray import cluster
from cellformer.experiments.search.folder import SearchFolder, Trial, best_of
from cellformer.experiments.search.space import SearchSpace
from cellformer.experiments.search.tune import Tuner
from cellformer.training.config import RunConfig

BASE = RunConfig()
SPACE = SearchSpace.parse({"optimizer.peak_rate": {"uniform": [0.1, 0.2]}}, BASE, "space")


def test_trials_are_kept_in_text_files(tmp_path):
    folder = SearchFolder(tmp_path)
    trials = [
        Trial(0, {"optimizer.peak_rate": 0.1}, "finished", 0.5, 9),
        Trial(1, {"optimizer.peak_rate": 0.2}, "failed", error="why, and how"),
    ]
    for trial in trials:
        folder.write(trial)
    assert folder.trials() == trials
    folder.write_table(trials)
    assert folder.table.read_text().splitlines() == [
        "number,state,score,epochs,error,optimizer.peak_rate",
        "0,finished,0.5,9,,0.1",
        '1,failed,,0,"why, and how",0.2',
    ]
    folder.write_best(BASE)
    assert RunConfig.from_values(yaml.safe_load(folder.best.read_text()), "best") == BASE
    (folder.run(1) / "trial.json").write_text("{}")
    with pytest.raises(ValueError, match=r"0001.*values must be a mapping.*remove its folder"):
        folder.trials()


def test_a_folder_is_that_of_one_search(tmp_path):
    folder = SearchFolder(tmp_path)
    folder.open(BASE, SPACE)
    folder.open(BASE, SPACE)
    with pytest.raises(ValueError, match="holds a search over other fields"):
        folder.open(replace(BASE, attention="pairwise-sparse"), SPACE)


@pytest.mark.parametrize(("higher", "number"), [(True, 2), (False, 1)])
def test_the_best_is_the_first_of_equals(higher, number):
    scores = [None, 0.1, 0.7, 0.7, 0.1]
    trials = [Trial(n, {}, "finished", score) for n, score in enumerate(scores)]
    best = best_of(trials, higher)
    assert best is not None
    assert best.number == number
    assert best_of(trials[:1], higher) is None


def test_without_ray_a_search_stops_before_it_prepares_data(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"cellformer\[ray\]"):
        Tuner()(BASE, SPACE, tmp_path / "search")
    assert not (tmp_path / "search").exists()
