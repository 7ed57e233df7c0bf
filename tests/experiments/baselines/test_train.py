import json
from dataclasses import replace

import pandas as pd
import pytest

pytest.importorskip("torch_geometric")

from cellformer.cli.main import main
from cellformer.experiments.baselines.config import GIN, GPS, BaselineConfig
from cellformer.experiments.baselines.train import train_baseline
from cellformer.training.config import DataConfig


@pytest.fixture
def config(tiny):
    data = DataConfig(source=tiny.data.source, lifting="skeleton", encodings="zeros")
    return BaselineConfig(GIN(width=8, layers=2), data, tiny.optimizer, tiny.training)


def test_a_baseline_is_scored_like_a_run_once(config, tmp_path):
    summary = train_baseline(config, tmp_path / "gin")
    assert summary.complexes == {"train": 16, "val": 4, "test": 4}
    assert summary.epochs == 4
    assert set(summary.scores) == {"best", "last"}
    told = pd.read_csv(tmp_path / "gin" / "predictions.csv")
    assert told["row"].tolist() == list(range(16, 24))
    tested = told[told["part"] == "test"]
    error = (tested["truth"] - tested["prediction"]).abs().mean()
    assert error == pytest.approx(summary.score(), rel=1e-5)
    assert json.loads((tmp_path / "gin" / "config.json").read_text())["baseline"] == "GIN"
    written = (tmp_path / "gin" / "summary.json").stat().st_mtime_ns
    assert train_baseline(config, tmp_path / "gin") == summary
    assert (tmp_path / "gin" / "summary.json").stat().st_mtime_ns == written
    with pytest.raises(ValueError, match="holds another run"):
        train_baseline(replace(config, model=GIN(width=16)), tmp_path / "gin")
    with pytest.raises(ValueError, match="holds another run"):
        train_baseline(replace(config, model=GPS(width=8, layers=2)), tmp_path / "gin")
    kept = tmp_path / "gin" / "config.json"
    values = json.loads(kept.read_text())
    del values["checksum"], values["data"]["hodge_parts"]  # of before there was such a field
    kept.write_text(json.dumps(values))
    assert train_baseline(config, tmp_path / "gin") == summary


def test_an_interrupted_baseline_goes_on_to_the_same_result(config, tmp_path, monkeypatch):
    whole = train_baseline(config, tmp_path / "whole")
    from cellformer.experiments.baselines import train as module

    def stopped(*given, **named):
        fit(*given, **named, stop_after=2)
        raise KeyboardInterrupt

    fit = module.fit
    monkeypatch.setattr(module, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        train_baseline(config, tmp_path / "half")
    monkeypatch.setattr(module, "fit", fit)
    assert train_baseline(config, tmp_path / "half").scores == whole.scores


@pytest.mark.parametrize("network", ["gps", "mincut-pool"])
def test_the_command_trains_each_network(network, tiny, tmp_path, capsys):
    source = tiny.data.source
    status = main(
        f"baseline {network} {source} -o {tmp_path / 'run'} --model.width 8 "
        "--training.epochs 1 --training.device cpu".split()
    )
    assert status == 0
    assert "best validation epoch (1)" in capsys.readouterr().out
    chosen = json.loads((tmp_path / "run" / "config.json").read_text())
    assert chosen["model"]["width"] == 8
    assert chosen["data"]["molecule_descriptors"] == "none"


def test_a_baseline_that_diverges_ends_with_the_exit_code_of_that(tiny, tmp_path, capsys):
    status = main(
        f"baseline gin {tiny.data.source} -o {tmp_path / 'run'} --model.width 8 "
        "--optimizer.peak_rate 1e30 --optimizer.warmup 0 --optimizer.clip_norm 1e30 "
        "--training.epochs 3 --training.batch_size 4 --training.device cpu".split()
    )
    assert status == 70
    assert "cellformer: training has diverged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--target", "yy"], "did you mean 'y'?"),
        (["--target", "y", "--data.fractions", "1,0,0"], "no labeled complex is left in the val"),
        (["--target", "y", "--training.class_weights", "balanced"], "go with classes"),
        (["--target", "kind", "--training.loss", "gaussian"], "of no use to a binary task"),
    ],
)
def test_a_refused_baseline_leaves_no_folder(arguments, told, tmp_path, capsys):
    rows = [f"{'C' * n}O,{n}.5,{'ab'[n % 2]}" for n in range(1, 13)]
    (tmp_path / "t.csv").write_text("smiles,y,kind\n" + "\n".join(rows) + "\n")
    words = ["baseline", "gin", str(tmp_path / "t.csv"), "-o", str(tmp_path / "run")]
    assert main([*words, "--training.epochs", "1", *arguments]) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
