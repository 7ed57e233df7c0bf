import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import cellformer as cf
from cellformer.cli.main import main
from cellformer.training.loop.divergence import DIVERGED, TrainingDiverged
from cellformer.training.loop.module import CellularModule


def test_a_step_with_gradients_that_are_not_finite_ends_training_and_keeps_the_best(
    tiny, tmp_path, monkeypatch
):
    step = CellularModule.training_step

    def broken(self, batch, number):
        loss = step(self, batch, number)
        return loss * float("inf") if self.trainer.current_epoch == 2 else loss

    monkeypatch.setattr(CellularModule, "training_step", broken)
    with pytest.raises(TrainingDiverged, match=r"at step 9, in epoch 3; the weights of epoch [12]"):
        cf.train(tiny, tmp_path / "run")
    weights = load_file(tmp_path / "run" / "best.safetensors")
    assert all(torch.isfinite(weight).all() for weight in weights.values())
    assert (tmp_path / "run" / "curve.csv").read_text().count("\n") == 3  # two epochs
    assert np.isfinite(cf.predict(tmp_path / "run", ["CCO"])["prediction"]).all()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_rate_that_is_far_too_high_is_told_with_an_exit_code_of_its_own(
    molecules_npz, tmp_path, capfd, processes
):
    chosen = {
        "model.width": 8, "model.heads": 2, "optimizer.peak_rate": 1e30, "optimizer.warmup": 0,
        "optimizer.clip_norm": 1e30, "training.epochs": 3, "training.batch_size": 4,
        "training.processes": processes,
    }  # fmt: skip
    options = [f"--{name}={value}" for name, value in chosen.items()]
    assert main(["train", str(molecules_npz), *options, "-o", str(tmp_path / "run")]) == DIVERGED
    lines = capfd.readouterr().err.splitlines()
    beginning = "cellformer: training has diverged: gradients are not finite at step"
    told = [line for line in lines if line.startswith(beginning)]
    assert len(told) == 1
    assert "optimizer.peak_rate" in told[0]
    assert not any("has failed" in line or "Traceback" in line for line in lines)
