"""Sets of meshes, from files to predictions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cellformer.complexes.polygons import edge_ends
from cellformer.data.readers.mesh_file import read_mesh
from cellformer.data.sources import open_source
from cellformer.explorer.inspection import Explorer
from cellformer.model.config import ArchitectureConfig
from cellformer.report.write import write_report
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import predict
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from cellformer.training.several import cross_validate, train_ensemble
from cellformer.training.train import train
from mesh_sets import triangles, write_off, write_pieces


def config(source, epochs, **data):
    return RunConfig(
        data=DataConfig(source=str(source), encodings="rwpe:4", **data),
        model=ArchitectureConfig(width=16, layers=1, heads=2, attention_dropout=0.0),
        optimizer=OptimizerConfig(peak_rate=1e-2),
        training=TrainingConfig(epochs=epochs, batch_size=4, device="cpu"),
    )


def test_sixty_pieces_of_three_meshes_are_told_apart(real_data, tmp_path):
    meshes = [real_data / f"extra/mesh_{name}.ply" for name in ("airplane", "ant", "nut")]
    folder = write_pieces(meshes, tmp_path / "pieces", each=20, size=100)
    run = config(folder, 20, fractions=(0.5, 0.2, 0.3))
    run = replace(run, model=replace(run.model, readout_cells="all", pooling="mean"))
    summary = train(run, tmp_path / "run")
    assert summary.complexes == {"train": 30, "val": 12, "test": 18}
    assert summary.score() > 0.9


def write_hill(folder, side):
    """A wavy square of triangles, alone in a folder."""
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    points = np.stack([x.ravel(), y.ravel(), np.sin(x.ravel()) * np.cos(y.ravel())], axis=1)
    faces = []
    for row in range(side - 1):
        for column in range(side - 1):
            corner = row * side + column
            faces += [[corner, corner + 1, corner + side],
                      [corner + 1, corner + side + 1, corner + side]]  # fmt: skip
    write_off(folder / "hill.off", points, np.array(faces))
    return folder


@pytest.fixture
def hilly(tmp_path):
    """72 triangles."""
    return write_hill(tmp_path / "hill", 7)


@pytest.mark.parametrize(
    ("word", "rank", "above"), [("vertices", 0, 0.6), ("edges", 1, 0.7), ("faces", 2, 0.7)]
)
def test_cells_of_one_mesh_are_classified(word, rank, above, hilly, tmp_path):
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

    run = config(hilly, 60, fractions=(0.6, 0.2, 0.2), metric="accuracy")
    summary = train(run, tmp_path / "run")
    cells = mesh.num_cells[rank]
    assert summary.labeled == {"kind": cells}
    assert set(summary.scores["best"]) == {"val", "test"}
    # Half of the cells have either kind, so a constant answer is right in about half of the rest.
    # Ten vertices are held out.
    assert summary.score() > above
    told = predict(tmp_path / "run", str(hilly))
    assert told["row"].tolist() == [0] * cells
    assert told["cell"].tolist() == list(range(cells))
    assert set(told["prediction"]) <= {"steep", "flat"}
    right = (told["prediction"].to_numpy() == kind).mean()
    scores = evaluate(tmp_path / "run", str(hilly))["scores"]
    assert scores["accuracy"] == pytest.approx(right, abs=1e-6)


def test_values_of_cells_are_learned_in_their_units(hilly, tmp_path):
    mesh = read_mesh(hilly / "hill.off")
    values = 100 + np.arange(mesh.num_cells[2]) / 7
    pd.DataFrame({"height": values}).to_csv(hilly / "hill.faces.csv", index=False)
    summary = train(config(hilly, 3), tmp_path / "run")
    assert summary.metric == "mae"
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


def test_an_ensemble_on_cells_has_spread_intervals_pooled_scores_and_a_report(hilly, tmp_path):
    mesh = read_mesh(hilly / "hill.off")
    height = mesh.positions[:, 2].copy()
    height[3] = np.nan
    pd.DataFrame({"height": height}).to_csv(hilly / "hill.vertices.csv", index=False)
    summary = train_ensemble(config(hilly, 3), tmp_path / "run", 2)
    assert {"val", "test"} <= set(summary.pooled)
    told = predict(tmp_path / "run", str(hilly), interval=0.5)
    assert told["cell"].tolist() == list(range(49))
    assert (told["uncertainty"] >= 0).all()
    assert (told["lower"] <= told["upper"]).all()
    calibrated = evaluate(tmp_path / "run", str(hilly), interval=0.5, calibrate=str(hilly))
    assert calibrated["interval"]["coverage"]["height"] == pytest.approx(0.5, abs=0.03)
    member = next(path for path in (tmp_path / "run").iterdir() if path.name.startswith("seed-"))
    assert "height" in write_report(member).read_text(encoding="utf-8")
    assert Explorer.open(member).about()["outputs"] == ["height"]


def test_class_weights_on_cells_count_the_training_cells(hilly, tmp_path):
    mesh = read_mesh(hilly / "hill.off")
    kind = np.where(mesh.positions[:, 2] > 0.6, "top", "rest")
    pd.DataFrame({"kind": kind}).to_csv(hilly / "hill.vertices.csv", index=False)
    run = config(hilly, 2, metric="accuracy")
    run = replace(run, training=replace(run.training, class_weights="balanced"))
    summary = train_ensemble(run, tmp_path / "run", 2)
    assert set(summary.pooled) >= {"val", "test"}
    told = predict(tmp_path / "run", str(hilly))
    assert told["probability_top"].between(0, 1).all()
    assert (told["uncertainty"] >= 0).all()
    calibration = evaluate(tmp_path / "run", str(hilly))["calibration"]
    assert sum(row["rows"] for row in calibration["kind"]["bins"]) == mesh.num_vertices


def test_too_few_meshes_for_folds_are_refused(hilly, tmp_path):
    mesh = read_mesh(hilly / "hill.off")
    pd.DataFrame({"height": mesh.positions[:, 2]}).to_csv(hilly / "hill.vertices.csv", index=False)
    with pytest.raises(ValueError, match="too few for a cross-validation"):
        cross_validate(config(hilly, 1), tmp_path / "run", 3)
