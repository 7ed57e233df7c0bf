import pytest

from cellformer.experiments.running.jobs import Job
from cellformer.training.train import train
from tiny import with_training


def test_a_job_trains_once_goes_on_where_it_was_stopped_and_keeps_its_result(tiny, tmp_path):
    tiny = with_training(tiny, epochs=2)
    whole = Job(tiny, tmp_path / "whole")
    assert not whole.finished
    result = whole.perform()
    assert whole.finished
    changed = (whole.folder / "summary.json").stat().st_mtime_ns
    assert whole.perform() == result
    assert (whole.folder / "summary.json").stat().st_mtime_ns == changed

    train(tiny, tmp_path / "half", stop_after=1)
    (tmp_path / "half" / "summary.json").unlink()
    assert Job(tiny, tmp_path / "half").perform().scores == result.scores


def test_a_folder_with_another_configuration_is_left_alone(tiny, tmp_path):
    train(with_training(tiny, epochs=1), tmp_path / "run")
    with pytest.raises(ValueError, match="another configuration"):
        Job(tiny, tmp_path / "run").perform()
