"""Large complexes in patches, from training to predictions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
import trimesh

import cellformer as cf
from cellformer.cli.main import main
from cellformer.complexes.patches import Patches
from cellformer.data.cell_targets import with_cell_targets
from cellformer.model.config import ArchitectureConfig
from cellformer.report.write import write_report
from cellformer.training.answers.answer import answer
from cellformer.training.answers.embed import embed, embed_with
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import predict
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.materials.halo import with_halo
from cellformer.training.train import train
from mesh_sets import write_off

SIDE = 15


def write_hill(folder, name="hill", height=1.0):
    """A wavy square of 392 triangles on 225 vertices, which know their heights."""
    x, y = (rows.ravel() for rows in np.meshgrid(range(SIDE), range(SIDE)))
    corner = np.array([r * SIDE + c for r in range(SIDE - 1) for c in range(SIDE - 1)])
    faces = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + SIDE], axis=1),
            np.stack([corner + 1, corner + SIDE + 1, corner + SIDE], axis=1),
        ]
    )
    points = np.stack([x, y, height * np.sin(0.9 * x) * np.cos(0.7 * y)], axis=1)
    write_off(folder / f"{name}.off", points, faces)
    pd.DataFrame({"height": points[:, 2]}).to_csv(folder / f"{name}.vertices.csv", index=False)
    return folder


def config(source, attention="general-sparse", encodings="rwpe:2", model=None, **data):
    return RunConfig(
        data=DataConfig(source=str(source), encodings=encodings, **{"patch_cells": 150, **data}),
        attention=attention,
        model=ArchitectureConfig(**{"width": 16, "layers": 1, "heads": 2, **(model or {})}),
        training=TrainingConfig(epochs=2, batch_size=4, device="cpu"),
    )


def told(ensemble, source, patches):
    """Predictions for all cells, with complexes cut like this."""
    (run,) = ensemble.runs
    run = replace(run, preparation=replace(run.preparation, patches=patches))
    rows = run.preparation.open_new(str(source), run.recipe.task)
    return answer(replace(ensemble, runs=(run,)), rows)


@pytest.mark.parametrize(
    ("attention", "encodings", "model"),
    [
        ("general-sparse", "rwbspe:5+rwpe:3", {}),
        ("pairwise-sparse", "rwpe:2", {"degree_scaling": "log", "gate": True}),
        ("general-sparse", "zeros:2", {"pair_width": 4, "pair_steps": 4, "reach": "2"}),
        ("general-sparse", "rwbspe:4", {"signed_width": 8}),
        ("pairwise-sparse", "zeros:2", {"layers": 2}),
    ],
)
def test_a_run_says_the_same_of_patches_as_of_the_whole(attention, encodings, model, tmp_path):
    folder = write_hill(tmp_path / "hill")
    train(config(folder, attention, encodings, model), tmp_path / "run")
    ensemble = Ensemble.open(tmp_path / "run")
    patches = ensemble.runs[0].preparation.patches
    torch.manual_seed(0)
    with torch.no_grad():
        for weights in ensemble.runs[0].model.parameters():
            weights += 0.2 * torch.randn_like(weights)  # some begin with 0
    cells = ensemble.runs[0].preparation.one(str(folder), encoded=False)
    assert max(len(patch.chosen[0]) for patch in patches(cells)) < cells.num_vertices
    cut, whole = (told(ensemble, folder, each) for each in (patches, None))
    pd.testing.assert_frame_equal(cut.cells, whole.cells)
    np.testing.assert_allclose(cut.outputs, whole.outputs, rtol=1e-5, atol=1e-5)
    near = told(ensemble, folder, replace(patches, halo=1))
    assert np.abs(near.outputs - whole.outputs).max() > 1e-4


def test_patches_of_one_mesh_train_validate_and_test(tmp_path):
    folder = write_hill(tmp_path / "hill")
    summary = train(config(folder, model={"layers": 0}, encodings="zeros:2"), tmp_path / "run")
    assert set(summary.scores["best"]) == {"val", "test"}
    split = pd.read_csv(tmp_path / "run/split.csv")
    assert sorted(split["cell"]) == list(range(SIDE**2))
    scored = pd.read_csv(tmp_path / "run/predictions.csv")
    heights = pd.read_csv(folder / "hill.vertices.csv")["height"]
    np.testing.assert_allclose(scored["truth"], heights[scored["cell"]], rtol=1e-5, atol=1e-6)
    for part in ("val", "test"):
        cells = split["cell"][split["part"] == part]
        assert scored["cell"][scored["part"] == part].tolist() == sorted(cells)
    answers = predict(tmp_path / "run", str(folder))
    assert answers["cell"].tolist() == list(range(SIDE**2))
    np.testing.assert_allclose(
        scored["prediction"], answers["prediction"][scored["cell"]], rtol=1e-5, atol=1e-5
    )
    mae = np.abs(answers["prediction"] - heights).mean()
    judged = evaluate(tmp_path / "run", str(folder))
    assert judged["complexes"] == 1
    assert judged["scores"]["mae"] == pytest.approx(mae, rel=1e-5)
    assert "height" in write_report(tmp_path / "run").read_text(encoding="utf-8")


def test_whole_meshes_are_split_where_there_are_enough(tmp_path):
    for number in range(5):
        write_hill(tmp_path / "hills", f"hill{number}", 0.5 + number / 4)
    train(config(tmp_path / "hills", fractions=(0.6, 0.2, 0.2)), tmp_path / "run")
    split = pd.read_csv(tmp_path / "run/split.csv")
    assert split["row"].tolist() == list(range(5))
    scored = pd.read_csv(tmp_path / "run/predictions.csv")
    assert scored.groupby("row")["cell"].apply(list).tolist() == [list(range(SIDE**2))] * 2
    vectors = embed(tmp_path / "run", str(tmp_path / "hills"), rank=2)
    assert len(vectors) == 5 * 2 * (SIDE - 1) ** 2
    with pytest.raises(ValueError, match="sees complexes in patches"):
        embed(tmp_path / "run", str(tmp_path / "hills"))


def test_vectors_of_cells_are_those_of_the_whole(tmp_path):
    folder = write_hill(tmp_path / "hill")
    train(config(folder), tmp_path / "run")
    ensemble = Ensemble.open(tmp_path / "run")
    run = replace(ensemble.runs[0], preparation=replace(ensemble.runs[0].preparation, patches=None))
    cut, whole = (embed_with(each, str(folder), rank=1)[0] for each in (
        ensemble, replace(ensemble, runs=(run,))))  # fmt: skip
    np.testing.assert_allclose(cut.vectors, whole.vectors, rtol=1e-5, atol=1e-5)


def test_cells_that_the_source_splits_keep_their_parts(tmp_path):
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(120), np.roll(np.arange(120), 1)], axis=1)  # a circle
    graph = cf.Graph.from_edges(edges, 120)
    parts = rng.choice(["train", "val", "test"], 120)
    opened = with_cell_targets(
        [graph], 0, {"y": rng.normal(size=120).tolist()}, parts, "regression", None, "circle"
    )
    train(config("circle", patch_cells=60), tmp_path / "run", data=opened)
    split = pd.read_csv(tmp_path / "run/split.csv").sort_values("cell")
    assert split["part"].tolist() == parts.tolist()


def test_what_sees_the_whole_complex_is_refused_unless_the_halo_is_given(tmp_path):
    folder = write_hill(tmp_path / "hill")
    for message, chosen in {
        "a sparse form does not": config(folder, "general-dense"),
        "virtual cell": config(folder, model={"virtual_cell": True}),
        "BSPe.*depends on the whole": config(folder, encodings="bspe:2"),
    }.items():
        with pytest.raises(ValueError, match=f"data.patch_cells: .*{message}.*data.patch_halo"):
            train(chosen, tmp_path / "run")
    train(config(folder, encodings="bspe:2", patch_halo=4), tmp_path / "run")


def test_the_halo_grows_with_the_model_and_the_encodings():
    halos = [
        with_halo(config("x", encodings=encodings, model={"layers": layers})).data.patch_halo
        for encodings, layers in (("zeros", 1), ("zeros", 3), ("rwbspe:8", 3), ("rwpe:8", 3))
    ]
    assert halos == [2, 6, 11, 16]
    given = config("x", patch_halo=3)
    assert with_halo(given) is given


def test_targets_of_whole_complexes_are_refused(tmp_path):
    folder = write_hill(tmp_path / "hill")
    (folder / "hill.vertices.csv").unlink()
    (folder / "labels.csv").write_text("file,size\nhill.off,3.5\n", encoding="utf-8")
    with pytest.raises(ValueError, match="targets of whole complexes"):
        train(config(folder), tmp_path / "run")


def test_patches_are_kept_with_a_preparation():
    made = cf.Preparation(patches=Patches(100, 3))
    assert cf.Preparation.from_dict(made.to_dict()) == made


def test_a_mesh_is_written_back_with_its_predictions(tmp_path, capsys):
    folder = write_hill(tmp_path / "hill")
    train(config(folder), tmp_path / "run")
    run, mesh = str(tmp_path / "run"), str(folder / "hill.off")
    assert main(["predict", run, mesh, "-o", str(tmp_path / "a.ply")]) == 0
    assert main(["predict", run, mesh, "-o", str(tmp_path / "a.csv")]) == 0
    loaded = trimesh.load(tmp_path / "a.ply", process=False)
    table = pd.read_csv(tmp_path / "a.csv")["prediction"]
    told = np.ravel(loaded.metadata["_ply_raw"]["vertex"]["data"]["prediction"])
    np.testing.assert_allclose(told, table, rtol=1e-6)
    assert loaded.is_winding_consistent
    corners = trimesh.load(mesh, process=False).faces
    np.testing.assert_array_equal(np.sort(loaded.faces), np.sort(corners))
    write_hill(folder, "other")
    capsys.readouterr()
    assert main(["predict", run, str(folder), "-o", str(tmp_path / "b.ply")]) == 1
    assert "can hold one mesh, the source has 2" in capsys.readouterr().err
    assert not (tmp_path / "b.ply").exists()
