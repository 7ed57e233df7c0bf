"""Run folders of a grid without any training."""

from dataclasses import asdict

from cellformer.experiments.grid.grid import Experiment, configured
from cellformer.experiments.grid.results import note_failure
from cellformer.training.runs.run_folder import RunFolder, write_json

METRICS = {"gcb-hard": "accuracy", "zinc": "mae", "molhiv": "rocauc"}
CURVE = "epoch,step,learning_rate,val_accuracy,seconds\n0,4,0.1,0.5,1.5\n1,8,0.1,0.6,2.5\n"


def summary_of(source, test, val=None, *, regenerated=False, digest="f", rows=190):
    metric = METRICS.get(source, "accuracy")
    scored = {"val": {metric: test if val is None else val}, "test": {metric: test}}
    return {
        "metric": metric,
        "best_epoch": 1,
        "epochs": 2,
        "scores": {"best": scored, "last": scored},
        "standard_errors": {"best": {"test": 0.03}},
        "baseline": scored,
        "complexes": {"train": 8, "val": 4, "test": rows},
        "parameters": 1234,
        "data": {
            "name": f"{source} (regenerated)" if regenerated else source,
            "fingerprint": digest,
        },
        "source": {"commit": "abc", "dirty": False},
        "versions": {"torch": "2", "cellformer": "0"},
        "machine": {"platform": "p", "processor": "q", "threads": 1, "gpus": []},
        "sessions": [{"began": "2026-01-01T00:00:00+00:00"}],
    }


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
        write_json(run.summary, summary_of(source, test, **options))
    return run
