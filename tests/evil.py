"""A finished run whose target and molecules bear the names that an attacker would give them."""

import csv

from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.train import train
from tiny import SMILES

SCRIPT = "<script>document.title='owned'</script>"
TARGET = f"{SCRIPT}$x"


def train_evil_run(folder):
    """Trains on a table in a folder; returns the run folder."""
    table = folder / "ta<b>le.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", TARGET, "split"])
        for number, text in enumerate((*SMILES, *SMILES)):
            writer.writerow([text, number % 7, ("train", "val", "test")[number % 3]])
        writer.writerow([f"C1C</td>{SCRIPT}", 1, "test"])
    config = RunConfig(
        data=DataConfig(source=str(table), target=(TARGET,), kind="regression", encodings="rwpe:4"),
        attention="pairwise-mixed",
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=2, batch_size=8, device="cpu"),
    )
    train(config, folder / "run")
    return folder / "run"
