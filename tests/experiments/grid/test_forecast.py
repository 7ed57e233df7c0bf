import pytest

from cellformer.experiments.grid.forecast import cost_of, forecast, sample_of
from cellformer.experiments.grid.grid import Grid, jobs_of
from cellformer.experiments.grid.results import note_failure
from cellformer.training.config import RunConfig
from cellformer.training.runs.run_folder import RunFolder
from grids import CURVE, summary_of

VALUES = {"training.epochs": 5, "model.width": 8, "model.heads": 2, "model.layers": 2,
          "training.device": "cpu"}  # fmt: skip


@pytest.fixture
def jobs(molecules_npz, tmp_path):
    grid = Grid((str(molecules_npz), "zincc"), ("general-sparse",), ("zeros", "bspe:2"))
    return jobs_of(grid, VALUES, tmp_path / "results")


def test_a_sample_knows_how_much_there_is(jobs):
    sample = sample_of(jobs[0].config.data, 8, 10)
    assert len(sample.complexes) == 10
    assert (sample.rows, sample.train, sample.validation, sample.task.outputs) == (24, 16, 4, 1)
    assert 1 < sample.cells < 30


def test_more_epochs_and_layers_cost_more(jobs):
    from cellformer.experiments.presets import override

    sample = sample_of(jobs[0].config.data, 8, 64)
    config: RunConfig = jobs[0].config
    small, large = (cost_of(override(config, {"model.layers": n}), sample) for n in (2, 12))
    assert small.epoch_seconds > 0
    assert small.memory < large.memory
    assert small.parameters < large.parameters


def test_a_dry_run_says_what_is_done_what_goes_on_what_failed_and_what_it_takes(jobs, tmp_path):
    new, begun = jobs[:2]
    run = RunFolder(begun.folder)
    run.path.mkdir(parents=True)
    run.curve.write_text(CURVE)
    note_failure(new.folder, new.config, "no memory")
    before = sorted(path for path in (tmp_path / "results").rglob("*"))
    lines = list(forecast(jobs))
    assert sorted(path for path in (tmp_path / "results").rglob("*")) == before
    assert lines[0].startswith("molecules/general-sparse/zeros/seed-0: to train (it failed before: "
                               "no memory), about ")  # fmt: skip
    assert "parameters" in lines[0]
    assert "for a step" in lines[0]
    assert "seed-0: to go on after epoch 2 of 5, about" in lines[1]
    assert all("no estimate: there is no data source 'zincc'" in line for line in lines[2:4])
    assert lines[4] == "4 trainings: 0 done, 4 to run"
    assert "without the 2 that have no estimate" in lines[5]

    summary_of("molecules", 0.5).write(run.path)
    assert list(forecast(jobs))[1] == "molecules/general-sparse/bspe2/seed-0: done"


def test_what_a_loss_learns_beside_values_counts(jobs):
    """A deviation beside the mean is one more row of the last layer and of its bias."""
    from cellformer.experiments.presets import override

    sample = sample_of(jobs[0].config.data, 8, 16)
    losses = ("l1", "gaussian")
    one, two = (
        cost_of(override(jobs[0].config, {"training.loss": loss}), sample) for loss in losses
    )
    assert 0 < two.parameters - one.parameters < 20
