"""Sets of meshes, from files to predictions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cellformer.complexes.polygons import edge_ends
from cellformer.data.sources import open_source
from cellformer.lifting.mesh import read_mesh
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from cellformer.training.evaluate import evaluate
from cellformer.training.fit import train
from cellformer.training.predict import predict
from mesh_sets import triangles, write_off, write_pieces


def config(source, epochs, **data):
    return RunConfig(
        data=DataConfig(source=str(source), encodings="rwpe:4", **data),
        model=ArchitectureConfig(width=16, layers=1, heads=2, attention_dropout=0.0),
        optimizer=OptimizerConfig(peak_rate=5e-3),
        training=TrainingConfig(epochs=epochs, batch_size=4, device="cpu"),
    )


def test_sixty_pieces_of_three_meshes_are_told_apart(real_data, tmp_path):
    meshes = [real_data / f"extra/mesh_{name}.ply" for name in ("airplane", "ant", "nut")]
    folder = write_pieces(meshes, tmp_path / "pieces", each=20, size=100)
    run = config(folder, 60, fractions=(0.5, 0.2, 0.3))
    run = replace(run, model=replace(run.model, readout_cells="all", pooling="mean"))
    summary = train(run, tmp_path / "run")
    assert summary["complexes"] == {"train": 30, "val": 12, "test": 18}
    # Twelve validation meshes tell epochs apart badly, so the last one is judged.
    assert summary["scores"]["last"]["test"]["accuracy"] > 0.9


@pytest.fixture
def hilly(tmp_path):
    """A wavy square of 72 triangles, alone in a folder."""
    side = 7
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    points = np.stack([x.ravel(), y.ravel(), np.sin(x.ravel()) * np.cos(y.ravel())], axis=1)
    faces = []
    for row in range(side - 1):
        for column in range(side - 1):
            corner = row * side + column
            faces += [[corner, corner + 1, corner + side],
                      [corner + 1, corner + side + 1, corner + side]]  # fmt: skip
    write_off(tmp_path / "hill" / "hill.off", points, np.array(faces))
    return tmp_path / "hill"


@pytest.mark.parametrize(("word", "rank"), [("vertices", 0), ("edges", 1), ("faces", 2)])
def test_cells_of_one_mesh_are_classified(word, rank, hilly, tmp_path):
    mesh = read_mesh(hilly / "hill.off")
    heights = mesh.positions[:, 2]
    corners = {0: np.arange(49)[:, None], 1: edge_ends(mesh), 2: triangles(mesh)}[rank]
    # Steep or flat: what geometry tells of a cell.
    spread = np.ptp(heights[corners], axis=1) if rank else np.abs(heights)
    kind = np.where(spread > np.median(spread), "steep", "flat")
    frame = pd.DataFrame({"kind": kind})
    if rank == 1:
        frame.insert(0, "a", corners[:, 1])
        frame.insert(1, "b", corners[:, 0])
        frame = frame.sample(frac=1, random_state=0)
    frame.to_csv(hilly / f"hill.{word}.csv", index=False)

    opened = open_source(hilly)
    assert opened.task.rank == rank
    assert [opened.task.labels[int(number)] for number in opened.targets[:, 0]] == kind.tolist()

    run = config(hilly, 120, fractions=(0.6, 0.2, 0.2), metric="accuracy")
    summary = train(run, tmp_path / "run")
    cells = mesh.num_cells[rank]
    assert summary["labeled"] == {"kind": cells}
    assert set(summary["scores"]["best"]) == {"val", "test"}
    # So few validation cells tell epochs apart badly: the last one is judged.
    told = predict(tmp_path / "run", str(hilly), weights="last")
    assert told["row"].tolist() == [0] * cells
    assert told["cell"].tolist() == list(range(cells))
    assert set(told["prediction"]) <= {"steep", "flat"}
    right = (told["prediction"].to_numpy() == kind).mean()
    assert right > 0.65
    scores = evaluate(tmp_path / "run", str(hilly), weights="last")["scores"]
    assert scores["accuracy"] == pytest.approx(right, abs=1e-6)


def test_values_of_cells_are_learned_in_their_units(hilly, tmp_path):
    mesh = read_mesh(hilly / "hill.off")
    values = 100 + np.arange(mesh.num_cells[2]) / 7
    pd.DataFrame({"height": values}).to_csv(hilly / "hill.faces.csv", index=False)
    summary = train(config(hilly, 3), tmp_path / "run")
    assert summary["metric"] == "mae"
    assert abs(predict(tmp_path / "run", str(hilly))["prediction"].mean() - values.mean()) < 30


def test_a_lifting_that_loses_the_cells_is_refused(hilly, tmp_path):
    mesh = read_mesh(hilly / "hill.off")
    pd.DataFrame({"kind": np.arange(mesh.num_cells[2]) % 2}).to_csv(
        hilly / "hill.faces.csv", index=False
    )
    with pytest.raises(
        ValueError, match="targets for cells of rank 2, but its complexes have none"
    ):
        train(config(hilly, 1, lifting="skeleton"), tmp_path / "run")
