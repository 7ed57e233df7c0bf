"""A finished run whose target and molecules bear the names that an attacker would give them."""

import csv

import pytest

from browser import chromium
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.fit import train
from tiny import SMILES

EVIL = "<script>document.title='owned'</script>$x"


@pytest.fixture(scope="package")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    table = folder / "ta<b>le.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", EVIL, "split"])
        for number, text in enumerate((*SMILES, *SMILES)):
            part = ("train", "val", "test")[number % 3]
            writer.writerow([text, number % 7, part])
        writer.writerow(["C1C</td><script>document.title='owned'</script>", 1, "test"])
    config = RunConfig(
        data=DataConfig(source=str(table), target=(EVIL,), kind="regression", encodings="rwpe:4"),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=2, batch_size=8, device="cpu"),
    )
    train(config, folder / "run")
    return folder / "run"


@pytest.fixture(scope="package")
def browser():
    with chromium() as driver:
        yield driver
