"""Run folders of a grid without any training."""

from dataclasses import asdict

from cellformer.experiments.grid.grid import Experiment, configured
from cellformer.experiments.grid.results import note_failure
from cellformer.training.runs.environment import Machine, Session, SourceState
from cellformer.training.runs.run_folder import RunFolder, write_json
from cellformer.training.runs.summary import LearnedData, Summary, undefined_as_none

METRICS = {"gcb-hard": "accuracy", "zinc": "mae", "molhiv": "rocauc"}
CURVE = "epoch,step,learning_rate,val_accuracy,seconds\n0,4,0.1,0.5,1.5\n1,8,0.1,0.6,2.5\n"


def summary_of(source, test, val=None, *, regenerated=False, digest="f", rows=190):
    metric = METRICS.get(source, "accuracy")
    values = {"val": {metric: test if val is None else val}, "test": {metric: test}}
    scored = {part: undefined_as_none(its) for part, its in values.items()}
    machine = Machine("p", "q", 1, (), 1)
    versions = {"torch": "2", "cellformer": "0"}
    return Summary(
        metric=metric,
        best_epoch=1,
        epochs=2,
        scores={"best": scored, "last": scored},
        standard_errors={"best": {"test": 0.03}},
        baseline=scored,
        complexes={"train": 8, "val": 4, "test": rows},
        classes={},
        rows_without_complex=0,
        molecules_in_several_parts=0,
        rows_left_out=0,
        labeled={"y": 12 + rows},
        parameters=1234,
        data=LearnedData(f"{source} (regenerated)" if regenerated else source, digest),
        seed=0,
        seconds=4.0,
        sessions=(
            Session("2026-01-01T00:00:00+00:00", SourceState("abc", False), versions, machine),
        ),
    )


def put_run(folder, source, attention, encoding, seed=0, test=None, *, error=None, values=None,
            **options):  # fmt: skip
    """A finished run, a failed one, or, with neither score nor error, one that was begun."""
    each = Experiment(source, attention, encoding, seed)
    config = configured(each, {"training.epochs": 2} | (values or {}))
    run = RunFolder(folder / each.name)
    if error is not None:
        note_failure(run.path, config, error)
        return run
    write_json(run.config, asdict(config))
    run.curve.write_text(CURVE)
    run.weights("best").write_bytes(b"weights")
    if test is not None:
        summary_of(source, test, **options).write(run.path)
    return run
