import json
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

import cellformer as cf
from cell_runs import heights_run, kinds_run
from cellformer.data.dataset import Task
from cellformer.drawing.inline import INLINE, INLINE_DARK
from cellformer.explorer import alike
from cellformer.explorer.alike import Compared, Plane
from cellformer.explorer.coloring import UNKNOWN, coloring, said
from cellformer.explorer.inspection import Explorer
from cellformer.explorer.maps import map_of, neighbors_of
from evil import SCRIPT
from explorer_server import send


@pytest.fixture(scope="module")
def vectors(run):
    """Of the rows of the run's table, by `cf.embed`."""
    (table,) = run.parent.glob("*.csv")
    smiles = pd.read_csv(table)["smiles"].tolist()[:-1]  # the last is no molecule
    return np.asarray(cf.embed(run, smiles), np.float64)


def nearest_to(vector, vectors, but=None):
    """Row and distance of the nearest, by a plain search."""
    far = np.sqrt(((vectors - vector) ** 2).sum(axis=1))
    order = [row for row in np.argsort(far, kind="stable").tolist() if row != but]
    return [(row, far[row]) for row in order[:8]]


def test_rows_are_placed_by_the_principal_components_of_what_embed_gives(address, run, vectors):
    status, found = send(address, "/api/map", {})
    assert status == 200
    assert found["numbers"] == list(range(len(vectors)))
    oracle = PCA(2, svd_solver="full").fit(vectors)
    expected = oracle.transform(vectors)
    own = np.array(found["points"])
    signs = np.sign((own * expected).sum(axis=0))
    np.testing.assert_allclose(own * signs, expected, atol=1e-4 * np.abs(expected).max())
    assert f"{oracle.explained_variance_ratio_.sum():.0%} of their variance" in found["note"]
    rows = len(vectors)
    assert found["note"].startswith(f"{rows} of {rows} labeled rows of the run's data: ")
    assert found["parts"] == [("train", "val", "test")[row % 3] for row in range(rows)]
    assert found["truths"] == [str(row % 7) for row in range(rows)]
    told = cf.load(run).predict(str(next(run.parent.glob("*.csv"))))["prediction"][:rows]
    np.testing.assert_allclose([float(one) for one in found["predictions"]], told, rtol=1e-3)
    assert set(found["shades"]) == {"prediction", "truth", "error", "part"}
    assert all(len(shade["colors"]) == rows for shade in found["shades"].values())


def test_descriptors_that_are_not_in_the_vectors_are_told(address, explorer):
    assert explorer.run.preparation.molecule_descriptors == "fingerprints"
    assert "Descriptors of whole molecules" in send(address, "/api/map", {})[1]["note"]


def test_neighbors_of_a_row_are_those_of_a_plain_search(address, vectors):
    points = send(address, "/api/map", {})[1]["points"]
    for row in (0, 1, len(vectors) - 1):
        status, found = send(address, "/api/neighbors", {"row": row})
        assert status == 200
        expected = nearest_to(vectors[row], vectors, but=row)
        given = [float(one["distance"]) for one in found["neighbors"]]
        np.testing.assert_allclose(given, [far for _, far in expected], rtol=1e-2, atol=1e-3)
        for one in found["neighbors"]:  # equally near ones may change places by rounding
            far = np.linalg.norm(vectors[one["row"]] - vectors[row])
            assert float(one["distance"]) == pytest.approx(far, rel=1e-2, abs=1e-3)
            assert one["row"] != row
            assert one["truth"] == str(one["row"] % 7)
            assert one["part"] == ("train", "val", "test")[one["row"] % 3]
        assert found["place"] == pytest.approx(points[row], abs=1e-4)
        assert found["part"] == ("train", "val", "test")[row % 3]


def test_a_molecule_that_is_typed_is_placed_by_its_own_vector(address, explorer, run, vectors):
    text = "Cn1cnc2c1c(=O)n(C)c(=O)n2C"
    status, found = send(address, "/api/neighbors", {"smiles": text})
    assert status == 200
    vector = np.asarray(cf.embed(run, [text]), np.float64)[0]
    expected = nearest_to(vector, vectors)
    given = [float(one["distance"]) for one in found["neighbors"]]
    np.testing.assert_allclose(given, [far for _, far in expected], rtol=1e-2, atol=1e-3)
    place = explorer.compared.plane.places(vector[None])[0]
    np.testing.assert_allclose(found["place"], place, rtol=1e-3, atol=1e-4)
    assert found["part"] == ""
    again = send(address, "/api/neighbors", {"smiles": explorer.subject_name(4)})[1]["neighbors"]
    assert again[0]["distance"] == "0"


def test_the_map_is_the_same_for_every_server(run, explorer):
    one = map_of(explorer, None, 0, INLINE)
    other = map_of(Explorer.open(run), None, 0, INLINE)
    assert json.dumps(one) == json.dumps(other)
    assert one["shades"] != map_of(explorer, None, 0, INLINE_DARK)["shades"]


def test_vectors_are_computed_when_they_are_first_asked_for_and_once(run, monkeypatch):
    own, calls = Explorer.open(run), []
    counted = alike.vectors_of
    monkeypatch.setattr(alike, "vectors_of", lambda *a: calls.append(1) or counted(*a))
    own.predict(own.subject("CCO", None))
    assert not calls
    for _ in range(2):
        map_of(own, None, 0, INLINE)
        neighbors_of(own, own.subject("CCO", None), None, 0)
    assert len(calls) == 1


@pytest.mark.parametrize(("limit", "most"), [("MOST_COMPARED", 7), ("MOST_COMPARED_CELLS", 60)])
def test_of_too_many_rows_half_are_held_out(run, monkeypatch, limit, most):
    monkeypatch.setattr(alike, limit, most)
    own, again = Explorer.open(run), Explorer.open(run)
    found = own.compared
    sizes = own.outcome.materials.complexes.num_cells.sum(axis=1)
    assert (len(found.numbers) if limit == "MOST_COMPARED" else sizes[found.numbers].sum()) <= most
    assert 0 < len(found.numbers) < found.total
    learned = found.parts.count("train")
    assert learned in (len(found.parts) // 2, (len(found.parts) + 1) // 2)
    np.testing.assert_array_equal(found.numbers, again.compared.numbers)
    assert "half of them held out" in map_of(own, None, 0, INLINE)["note"]
    learned = next(row for row in range(found.total) if row not in found.numbers)
    near = neighbors_of(own, own.subject(None, learned), learned, 0)
    assert near["part"] == ""
    assert {one["row"] for one in near["neighbors"]} <= set(found.numbers.tolist())


@pytest.mark.parametrize(
    ("path", "question", "message"),
    [
        ("map", {"target": 1}, "there is no target 1; the run has 1"),
        ("map", {"target": -1}, "there is no target -1"),
        ("map", {"target": "0"}, "target is not a whole number"),
        ("map", {"target": True}, "target is not a whole number"),
        ("map", {"target": 10**40}, "there is no target"),
        ("map", [], "not a JSON object"),
        ("neighbors", {}, "type a SMILES"),
        ("neighbors", {"row": 99999}, "no complex in row 99999"),
        ("neighbors", {"row": -1}, "no complex in row -1"),
        ("neighbors", {"row": 10**40}, "no complex in row"),
        ("neighbors", {"row": 0.5}, "row is not a whole number"),
        ("neighbors", {"smiles": SCRIPT}, "is not a SMILES"),
        ("neighbors", {"smiles": "C" * 2000}, "2000 heavy atoms"),
        ("neighbors", {"row": 0, "target": 3}, "there is no target 3"),
        ("neighbors", {"row": 0, "target": None}, "target is not a whole number"),
        ("drawing", {}, "row is not a whole number"),
        ("drawing", {"row": "0"}, "row is not a whole number"),
        ("drawing", {"row": 99999}, "no complex in row 99999"),
        ("drawing", {"row": -(10**40)}, "no complex in row"),
    ],
)
def test_what_does_not_exist_is_told(address, path, question, message):
    status, found = send(address, f"/api/{path}", question)
    assert status == 422
    assert message in found["error"]


def test_a_drawing_has_the_name_of_its_row(address, explorer):
    status, found = send(address, "/api/drawing", {"row": 3})
    assert status == 200
    assert found["name"] == explorer.subject_name(3)
    assert found["svg"].startswith('<svg class="sketch"')


@pytest.mark.parametrize("path", ["map", "neighbors", "drawing"])
def test_nobody_without_the_token_is_told_of_the_data(address, path):
    asked = urllib.request.Request(
        f"{address}/api/{path}", b'{"row": 0}', {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.build_opener().open(asked)
    with refused.value as answer:
        assert answer.code == 403


def test_a_run_without_its_data_says_so(explorer):
    lost = Explorer(explorer.run, None, "the table is gone")
    with pytest.raises(ValueError, match="no rows to compare with: the table is gone"):
        map_of(lost, None, 0, INLINE)


def test_of_a_run_that_predicts_cells_the_cells_are_compared(tmp_path):
    own = Explorer.open(heights_run(tmp_path))
    assert own.about()["alike"] == "cells"
    subject = own.subject(None, 0)
    found = map_of(own, subject, 0, INLINE)
    vectors = np.asarray(cf.embed(own.run.folder.path, tmp_path / "hill", rank=0), np.float64)
    assert found["numbers"] == list(range(16))
    np.testing.assert_allclose(found["points"], Plane.of(vectors).places(vectors), atol=1e-4)
    for cell, near in enumerate(found["nearest"]):
        far = np.linalg.norm(vectors - vectors[cell], axis=1)
        expected = np.sort(np.delete(far, cell))[:8]
        np.testing.assert_allclose(far[near], expected, rtol=1e-4, atol=1e-4)
        assert cell not in near
    assert [float(one) for one in found["truths"]] == pytest.approx(
        subject.truth[:, 0].tolist(), rel=1e-3
    )
    assert len(found["centers"]) == 16
    assert "part" not in found["shades"]
    assert found["note"].startswith("This run predicts vertices")
    with pytest.raises(ValueError, match="predicts cells"):
        neighbors_of(own, subject, 0, 0)


def test_cells_of_complexes_in_patches_are_those_of_the_whole(tmp_path):
    run = kinds_run(tmp_path, patch_cells=30)
    own = Explorer.open(run)
    assert own.outcome.materials.patches is not None
    found = map_of(own, own.subject(None, 5), 0, INLINE)
    rows = cf.embed(run, tmp_path / "faces", rank=2)
    vectors = np.asarray(rows, np.float64)[rows.row == 5]
    np.testing.assert_allclose(found["points"], Plane.of(vectors).places(vectors), atol=1e-4)
    assert found["word"] == "face"
    assert [word for word, _ in found["shades"]["truth"]["words"]] == ["<b>flat", "down", "up"]


def test_of_too_many_cells_some_are_taken_evenly(tmp_path, monkeypatch):
    own = Explorer.open(heights_run(tmp_path))
    monkeypatch.setattr(alike, "MOST_COMPARED", 5)
    found = map_of(own, own.subject(None, 0), 0, INLINE)
    assert found["numbers"] == [0, 3, 6, 9, 12]
    assert "5 of 16 vertices" in found["note"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_plane_of_few_or_equal_vectors_is_still_one(count):
    same = np.ones((count, 5), np.float32)
    assert not Plane.of(same).places(same).any()
    assert Plane.of(same).share == 1
    line = np.outer(np.arange(count), np.ones(5)).astype(np.float32)
    assert Plane.of(line).share == pytest.approx(1)
    with pytest.raises(ValueError, match="not finite"):
        Plane.of(np.full((count, 5), np.nan, np.float32))


def things(outputs, targets, parts=()):
    count = len(outputs)
    return Compared(
        np.arange(count), np.zeros((count, 2), np.float32), np.array(targets, np.float32),
        np.array(outputs, np.float64), tuple(parts), count,
    )  # fmt: skip


def test_one_outlier_leaves_colors_to_the_others():
    values = np.arange(101.0)[:, None]
    values[100] = 1e6
    task = Task("regression", ("y",), "mae")
    found = coloring(task, things(values, np.full((101, 1), np.nan)), "prediction", 0, INLINE)
    assert found.ends == ("≤ 2", "≥ 98")
    assert len(set(found.colors)) > 80
    unknown = coloring(task, things(values, np.full((101, 1), np.nan)), "truth", 0, INLINE)
    assert set(unknown.colors) == {UNKNOWN}
    assert unknown.words == [("unknown", UNKNOWN)]


def test_classes_have_their_colors_and_the_error_is_what_the_true_one_lacks():
    task = Task("multiclass", ("kind",), "accuracy", ("a", "b", "c"))
    outputs = [[2.0, 0, 0], [0, 2.0, 0], [0, 0, 2.0], [0, 0, 2.0]]
    own = things(outputs, [[0], [1], [0], [np.nan]], ["val", "val", "test", "train"])
    predicted, true = (coloring(task, own, by, 0, INLINE) for by in ("prediction", "truth"))
    assert [word for word, _ in predicted.words] == ["a", "b", "c"]
    assert predicted.colors[:2] == true.colors[:2]
    assert true.colors[2:] == [true.colors[0], UNKNOWN]
    errors = coloring(task, own, "error", 0, INLINE)
    assert errors.ends == ("0", "1")
    assert errors.colors[0] == errors.colors[1] != errors.colors[2]
    assert said(task, own, 0)[1] == ["a", "b", "a", ""]
    assert said(task, own, 0)[0][0] == "a (0.79)"
    part = coloring(task, own, "part", 0, INLINE)
    assert part.colors[0] == part.colors[1]
    assert len(set(part.colors)) == 3
    with pytest.raises(ValueError, match="colored by one of prediction, truth, error, not 'part'"):
        coloring(task, things(outputs, [[0]] * 4), "part", 0, INLINE)


def test_each_target_has_its_own_colors_and_words():
    task = Task("regression", ("a", "b"), "mae")
    own = things([[1.0, 6.0], [2.0, 5.0]], [[3, np.nan], [3, 7]])
    assert said(task, own, 0) == (["1", "2"], ["3", "3"])
    assert said(task, own, 1) == (["6", "5"], ["", "7"])
    first, second = (coloring(task, own, "prediction", target, INLINE) for target in (0, 1))
    assert first.colors != second.colors
    assert coloring(task, own, "truth", 1, INLINE).colors[0] == UNKNOWN
