"""Finished runs that predict cells of meshes."""

import numpy as np
import pandas as pd

from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.train import train
from mesh_sets import write_off

SIDE = 4
FACES = np.array(
    [
        face
        for v in (r * SIDE + c for r in range(SIDE - 1) for c in range(SIDE - 1))
        for face in ((v, v + 1, v + SIDE), (v + 1, v + SIDE + 1, v + SIDE))
    ]
)


def write_hill(folder, name, height=1.0):
    x, y = (rows.ravel() for rows in np.meshgrid(range(SIDE), range(SIDE)))
    points = np.stack([x, y, height * np.sin(1.5 * x) * np.cos(1.5 * y)], axis=1)
    write_off(folder / f"{name}.off", points, FACES)
    return points


def train_on(folder, **data):
    config = RunConfig(
        data=DataConfig(source=str(folder), encodings="rwpe:2", **data),
        attention="pairwise-sparse",
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=2, batch_size=8, device="cpu"),
    )
    train(config, folder.parent / "run")
    return folder.parent / "run"


def heights_run(folder):
    """One mesh, whose vertices are split."""
    points = write_hill(folder / "hill", "hill")
    pd.DataFrame({"height": points[:, 2]}).to_csv(folder / "hill/hill.vertices.csv", index=False)
    return train_on(folder / "hill", fractions=(0.5, 0.25, 0.25))


def kinds_run(folder, **data):
    """Eight meshes, each with a class for every face."""
    for number in range(8):
        write_hill(folder / "faces", f"m{number}", 0.2 + 0.1 * number)
        kinds = [("up", "down", "<b>flat")[(place + number) % 3] for place in range(len(FACES))]
        pd.DataFrame({"kind": kinds}).to_csv(folder / f"faces/m{number}.faces.csv", index=False)
    return train_on(folder / "faces", fractions=(0.5, 0.25, 0.25), **data)
