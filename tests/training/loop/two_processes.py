"""What test_distributed.py has two processes do together; each tells what it found as JSON."""

import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from cellformer.basics.parts.trust import allow_parts
from cellformer.experiments.running.jobs import Job
from cellformer.training.config import DataConfig, RunConfig
from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.loop.world import PeerError, joined
from cellformer.training.train import resume, train

sys.path.append(str(Path(__file__).parents[2]))
from own_parts import INSTALLED, with_installed, write_atoms
from tiny import SMILES

RANK = int(os.environ["RANK"])


@contextmanager
def watched(name, seen):
    """Calls ``seen`` before each call of a method of the module."""
    method = getattr(CellularModule, name)

    def call(self, *arguments):
        seen(self, *arguments)
        return method(self, *arguments)

    setattr(CellularModule, name, call)
    try:
        yield
    finally:
        setattr(CellularModule, name, method)


def train_whole(config, folder):
    """How many complexes a step had here, and how many values were scored, here and in all."""
    sizes, scored = [], []

    def validated(module):
        own = torch.cat([targets for _, targets in module.validated])[:, :1]
        scored.append([len(own), int((~module.world.gathered(own).isnan()).sum())])

    with (
        watched("training_step", lambda _, batch, __: sizes.append(batch.num_complexes)),
        watched("on_validation_epoch_end", validated),
    ):
        scores = train(config, folder / "whole").scores
    return {"scores": scores, "sizes": sizes, "scored": scored}


def stop_and_resume(config, folder):
    """One process gets a signal in the second step of the second epoch."""
    model = replace(config.model, dropout=0.1, attention_dropout=0.1)
    config = replace(config, model=model, training=replace(config.training, epochs=2))
    train(config, folder / "uninterrupted")
    steps, told = [], {}

    def stop(module, batch, number):
        steps.append(number)
        if RANK == 1 and len(steps) == 6:
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        with watched("training_step", stop):
            train(config, folder / "stopped")
    except TrainingInterrupted as error:
        told["stopped"] = [error.signal, len(steps)]
    resume(folder / "stopped")
    return told


def train_with_parts_of_others(config, folder):
    """They are in a distribution that is installed."""
    allow_parts(INSTALLED)
    source = folder / "atoms.list"
    if RANK == 0:
        write_atoms(source)
    training = replace(config.training, epochs=1)
    train(replace(with_installed(config, source), training=training), folder / "others")
    return {}


def train_table(config, folder):
    """Rows of SMILES, whose kernels and running means of batch norm are buffers."""
    source = folder / "rows.csv"
    if RANK == 0:
        rows = [f"{smiles},{len(smiles)}" for smiles in SMILES]
        source.write_text("\n".join(["smiles,length", *rows]))
    model = replace(config.model, norm="batch")
    training = replace(config.training, epochs=1)
    run = RunConfig(
        DataConfig(source=str(source), target=("length",)),
        config.attention,
        model,
        training=training,
    )
    return {"table": train(run, folder / "table").scores}


def fail(config, folder):
    """The folder is taken, which the first process finds out; the second one fails alone."""
    told = {}
    try:
        train(config, folder / "whole")
    except (FileExistsError, PeerError) as error:
        told["taken"] = type(error).__name__
    with joined("cpu") as world:
        try:
            world.together(lambda: [1][world.rank])
        except (IndexError, PeerError) as error:
            told["together"] = type(error).__name__
    return told


def lose_one(config, folder):
    """The second process is killed in the second epoch; torchrun starts both again."""
    steps = []

    def kill(module, batch, number):
        steps.append(number)
        if RANK == 1 and len(steps) == 6:
            os.kill(os.getpid(), signal.SIGKILL)

    with watched("training_step", kill):
        train(config, folder / "killed")


def main(config_file, folder):
    torch.set_num_threads(1)
    config, folder = RunConfig.from_json(Path(config_file)), Path(folder)
    if os.environ["TORCHELASTIC_RESTART_COUNT"] != "0":
        Job(config, folder / "killed").perform()
        return
    told = {
        **train_whole(config, folder),
        **stop_and_resume(config, folder),
        **train_with_parts_of_others(config, folder),
        **train_table(config, folder),
        **fail(config, folder),
    }
    (folder / f"told-{RANK}.json").write_text(json.dumps(told))
    lose_one(config, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
