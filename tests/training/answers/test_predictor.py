import subprocess
import sys

import numpy as np
import pytest
import torch

from cellformer.basics.compiling import constant_when_compiled
from cellformer.basics.lost import LostProcessError
from cellformer.data.loading.loader import batches
from cellformer.training.answers.predictor import outputs_of
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import TrainingConfig
from cellformer.training.loop import devices
from cellformer.training.materials.materials import gather
from cellformer.training.train import train
from tiny import SMILES, tiny_run, write_molecules

ANSWERING = """
import sys
from cellformer.cli.main import main
assert not main(sys.argv[1:])
slow = {"lightning", "torchmetrics", "torch._dynamo", "torch._inductor", "matplotlib", "sympy"}
sys.exit(" ".join(slow & set(sys.modules)) or 0)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answering")
    write_molecules(folder / "molecules.npz", np.arange(float(len(SMILES))))
    train(tiny_run(folder / "molecules.npz"), folder / "run")
    return folder / "run"


@pytest.mark.parametrize("command", ["predict", "embed"])
def test_one_molecule_is_answered_for_without_what_only_training_needs(run, command, tmp_path):
    output = tmp_path / "answers.csv"
    done = subprocess.run(
        [sys.executable, "-c", ANSWERING, command, str(run), "CCO", "-o", str(output)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert output.read_text(encoding="utf-8").count("\n") == 2


def test_batches_of_any_size_give_the_outputs_of_a_plain_call_and_leave_the_model_as_it_was(run):
    opened = TrainedRun.open(run)
    complexes = gather(opened.config.data).complexes
    chosen = np.arange(len(complexes))[::-2].copy()
    predictor = opened.predictor.train()
    found = [
        outputs_of(predictor, TrainingConfig(batch_size=size, device="cpu"), complexes, chosen)
        for size in (3, 100)
    ]
    assert predictor.training
    with torch.no_grad():
        (batch,) = batches(complexes, chosen, len(chosen), shuffle=False)
        plain = predictor.eval()(batch).numpy()
    for each in found:
        np.testing.assert_allclose(each, plain, rtol=1e-5, atol=1e-6)


def test_nothing_is_asked_of_no_complexes(run):
    opened = TrainedRun.open(run)
    complexes = gather(opened.config.data).complexes
    assert opened.outputs(complexes, np.arange(0)).shape == (0, 1)


def test_a_gpu_predicts_as_strictly_as_it_trains_and_only_for_so_long(monkeypatch):
    monkeypatch.setattr(devices, "device_of", lambda _: "cuda")
    for deterministic in (True, False):
        with devices.as_strict(TrainingConfig(deterministic=deterministic)):
            assert torch.are_deterministic_algorithms_enabled() == deterministic
        assert not torch.are_deterministic_algorithms_enabled()


def test_what_is_constant_when_compiled_is_marked_as_pytorch_marks_it():
    def ours() -> bool:
        return True

    def theirs() -> bool:
        return True

    assert vars(constant_when_compiled(ours)) == vars(torch.compiler.assume_constant_result(theirs))
    assert constant_when_compiled(ours) is ours


class Dying(torch.nn.Module):
    """Fails as a loader does whose process was killed."""

    def forward(self, batch):
        raise RuntimeError("DataLoader worker (pid(s) 7) exited unexpectedly")


def test_a_loader_that_is_gone_is_told_and_few_batches_need_none(run, monkeypatch):
    opened = TrainedRun.open(run)
    complexes = gather(opened.config.data).complexes
    config = TrainingConfig(device="cpu", loader_workers=2)
    started = []
    monkeypatch.setattr(
        "cellformer.training.answers.predictor.batches",
        lambda *arguments, **named: (
            started.append(named["workers"]) or batches(*arguments, **named)
        ),
    )
    opened.predictor.model = Dying()
    with pytest.raises(LostProcessError, match=r"loads batches was killed.*same command again"):
        outputs_of(opened.predictor, config, complexes, np.arange(3))
    assert started == [0]
