"""Sixty pieces of three meshes, told apart: cut out, turned, scaled and jittered.

For each seed the pieces are cut anew, split anew and learned anew, by a small model that takes
seconds and by all defaults of ``cellformer train``. Half of the pieces train, a fifth validates,
and the rest is the test part. What is told is the accuracy of the best validation epoch.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.timing import data_folder
from cellformer.complexes.polygons import boundary_walks
from cellformer.data.readers.mesh_file import read_mesh
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from cellformer.training.train import train

MESHES = ("airplane", "ant", "nut")
EACH, FACES, JITTER = 20, 100, 0.02  # pieces of a mesh, faces of a piece, part of an edge's length


def write_piece(
    path: Path, points: np.ndarray, faces: np.ndarray, rng: np.random.Generator
) -> None:
    """The faces nearest to a random one, as an OFF file."""
    centers = points[faces].mean(axis=1)
    far = ((centers - centers[rng.integers(len(faces))]) ** 2).sum(axis=1)
    used, numbers = np.unique(faces[np.argsort(far)[:FACES]], return_inverse=True)
    corners = numbers.reshape(-1, 3)
    turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    own = points[used] @ turned * rng.uniform(0.5, 2)
    edge = np.linalg.norm(own[corners[:, 0]] - own[corners[:, 1]], axis=1).mean()
    own = own + rng.normal(scale=JITTER * edge, size=own.shape)
    lines = ["OFF", f"{len(own)} {len(corners)} 0"]
    lines += [" ".join(f"{x:.9g}" for x in point) for point in own]
    lines += [f"3 {a} {b} {c}" for a, b, c in corners.tolist()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def write_set(folder: Path, seed: int) -> None:
    """A folder for each mesh, with its pieces."""
    rng = np.random.default_rng(seed)
    for name in MESHES:
        mesh = read_mesh(data_folder() / f"extra/mesh_{name}.ply")
        assert mesh.positions is not None
        faces = np.array([walks[0] for walks in boundary_walks(mesh)])
        for number in range(EACH):
            write_piece(folder / name / f"{number}.off", mesh.positions, faces, rng)


def configurations(source: Path, seed: int) -> dict[str, RunConfig]:
    """What is compared."""
    plain = RunConfig(
        DataConfig(str(source), fractions=(0.5, 0.2, 0.3), split_seed=seed),
        training=TrainingConfig(seed=seed, device="cpu"),
    )
    small = replace(
        plain,
        data=replace(plain.data, encodings="rwpe:4"),
        model=ArchitectureConfig(width=16, layers=1, heads=2, attention_dropout=0.0,
                                 readout_cells="all", pooling="mean"),
        optimizer=OptimizerConfig(peak_rate=5e-3),
        training=replace(plain.training, epochs=60, batch_size=4),
    )  # fmt: skip
    return {"small, mean over all cells": small, "all defaults": plain}


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=3)
    print("| model | seed | test accuracy, best validation epoch | last epoch |\n|---|---|---|---|")
    for seed in range(options.parse_args().seeds):
        with tempfile.TemporaryDirectory() as temporary:
            source = Path(temporary) / "pieces"
            write_set(source, seed)
            for name, config in configurations(source, seed).items():
                summary = train(config, Path(temporary) / name)
                best, last = (summary.score("test", which) for which in ("best", "last"))
                print(f"| {name} | {seed} | {best:.3f} | {last:.3f} |", flush=True)


if __name__ == "__main__":
    main()
