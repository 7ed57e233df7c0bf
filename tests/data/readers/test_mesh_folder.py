import numpy as np
import pandas as pd
import pytest

from cellformer.data.readers.mesh_folder import read_mesh_folder
from cellformer.data.sources import open_source
from cellformer.data.splitting.cell_split import split_cells
from mesh_sets import write_off

TETRAHEDRON = (
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
    np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]),
)
SQUARE = (np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]), np.array([[0, 1, 2, 3]]))


@pytest.fixture
def folder(tmp_path):
    write_off(tmp_path / "set/a.off", *TETRAHEDRON)
    write_off(tmp_path / "set/b.off", *SQUARE)
    return tmp_path / "set"


def labels(folder, text):
    (folder / "labels.csv").write_text(text)
    return folder


def test_a_table_labels_meshes_by_name(folder):
    opened = open_source(labels(folder, "file,shape,split\nb.off,flat,test\na.off,solid,train\n"))
    assert [opened.graph(row).name for row in range(2)] == ["a.off", "b.off"]
    assert (opened.task.kind, opened.task.labels) == ("binary", ("flat", "solid"))
    assert opened.targets[:, 0].tolist() == [1, 0]
    assert {part: rows.tolist() for part, rows in opened.split.items()} == {
        "train": [0], "val": [], "test": [1]}  # fmt: skip
    assert opened.graph(0).cells.num_cells == (4, 6, 4)
    assert opened.graph(1).cells.num_cells == (4, 4, 1)
    volumes = open_source(labels(folder, "file,volume\na.off,0.167\nb.off,\n"))
    assert volumes.task.kind == "regression"
    assert np.isnan(volumes.targets[1, 0])


@pytest.mark.parametrize(
    ("text", "unit", "values"),
    [
        ("file;size\na.off;1,5\nb.off;n.d.\n", "", [1.5, np.nan]),
        ("file,size\na.off,3 mm\nb.off,4 mm\n", "mm", [3, 4]),
    ],
)  # fmt: skip
def test_labels_are_read_as_the_cells_of_tables_are(folder, text, unit, values):
    opened = open_source(labels(folder, text))
    assert (opened.task.kind, opened.task.unit("size")) == ("regression", unit)
    np.testing.assert_array_equal(opened.targets[:, 0], np.float32(values))


def test_labels_that_are_bounds_are_refused_and_can_be_taken(folder):
    bounds = labels(folder, "file,size\na.off,>3.5\nb.off,4\n")
    with pytest.raises(ValueError, match=r"only a bound is known: row 0 .*'>3.5'"):
        open_source(bounds)
    assert open_source(bounds, censored="bound").targets[:, 0].tolist() == [3.5, 4]
    with pytest.raises(ValueError, match="of tables of molecules alone"):
        open_source(bounds, censored="learn")


def test_whole_numbers_that_are_nearly_all_different_are_not_guessed_to_be_classes(tmp_path):
    for number in range(7):
        write_off(tmp_path / f"set/{number}.off", *SQUARE)
    lines = "".join(f"{number}.off,{number * number}\n" for number in range(7))
    folder = labels(tmp_path / "set", f"file,count\n{lines}")
    with pytest.raises(ValueError, match="'count' has 7 different values in 7 rows"):
        open_source(folder)
    assert open_source(folder, kind="regression").targets[2] == 4
    assert len(open_source(folder, kind="multiclass").task.labels) == 7


def test_folders_name_classes_as_modelnet_does(tmp_path):
    for name, mesh in (("solid", TETRAHEDRON), ("flat", SQUARE)):
        for number in range(10):
            write_off(tmp_path / f"set/{name}/train/{number}.off", *mesh)
        write_off(tmp_path / f"set/{name}/test/10.off", *mesh)
    opened = open_source(tmp_path / "set")
    assert opened.task.labels == ("flat", "solid")
    assert [len(opened.split[part]) for part in ("train", "val", "test")] == [18, 2, 2]


def test_meshes_without_labels_are_to_be_predicted(folder):
    assert open_source(folder).task_or_none is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,shape\na.off,x\n", "'b.off' is a file without a line"),
        ("file,shape\na.off,x\nb.off,y\nc.off,y\n", "'c.off' is no such file"),
        ("file,shape\na.off,x\nb.off,y\nb.off,y\n", "'b.off' is named twice"),
        ("file,split,shape\na.off,x,1\nb.off,test,2\n", "split 'x' is none of"),
        ("name,shape\na.off,x\nb.off,y\n", "has no column 'file'"),
        ("file\na.off\nb.off\n", "no column of labels"),
    ],
)
def test_faults_of_the_table_are_named(text, message, folder):
    with pytest.raises(ValueError, match=message):
        open_source(labels(folder, text))


def test_labels_of_cells_must_fit_the_mesh(folder):
    pd.DataFrame({"kind": [0, 1, 0]}).to_csv(folder / "a.faces.csv", index=False)
    with pytest.raises(ValueError, match=r"a\.faces\.csv has 3 lines of labels for 4 faces"):
        open_source(folder)
    (folder / "a.faces.csv").write_text("kind\n0\n\n0\n1\n")
    with pytest.raises(ValueError, match="3 lines of labels for 4 faces; an empty line is none:"):
        open_source(folder)
    pd.DataFrame({"kind": [0, 1, 0, 1]}).to_csv(folder / "a.faces.csv", index=False)
    with pytest.raises(ValueError, match=r"there is no file .*b\.faces\.csv"):
        open_source(folder)
    pd.DataFrame({"kind": [1]}).to_csv(folder / "b.faces.csv", index=False)
    opened = open_source(folder)
    assert opened.cell_offsets.tolist() == [0, 4, 5]
    assert opened.targets_of(np.array([1, 0]))[:, 0].tolist() == [1, 0, 1, 0, 1]
    (folder / "b.vertices.csv").write_text("kind\n1\n")
    with pytest.raises(ValueError, match="labels of vertices and of faces"):
        open_source(folder)


def test_edges_are_told_by_their_ends(folder):
    (folder / "b.off").unlink()
    (folder / "a.edges.csv").write_text("a,b,kind\n3,0,1\n1,0,0\n")
    opened = open_source(folder)
    # Edges are numbered by their vertices: (0, 1), (0, 2), (0, 3), (1, 2), ...
    np.testing.assert_array_equal(opened.targets[:, 0], [0, np.nan, 1, np.nan, np.nan, np.nan])
    (folder / "a.edges.csv").write_text("a,b,kind\n3,9,1\n1,0,0\n")
    with pytest.raises(ValueError, match=r"label 0 .*: no edge joins 3 and 9"):
        open_source(folder)


def test_each_part_of_a_split_by_cells_has_targets_of_its_own(folder):
    (folder / "b.off").unlink()
    pd.DataFrame({"kind": [0, 1, 0, 1]}).to_csv(folder / "a.faces.csv", index=False)
    opened = split_cells(read_mesh_folder(folder), (0.5, 0.25, 0.25))
    known = [
        np.flatnonzero(np.isfinite(opened.targets_of(opened.split[part])[:, 0]))
        for part in ("train", "val", "test")
    ]
    assert sorted(np.concatenate(known).tolist()) == [0, 1, 2, 3]
    assert [len(one) for one in known] == [2, 1, 1]


def test_faces_that_are_none_are_refused_or_dropped(folder, caplog):
    (folder / "a.off").write_text("OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 0 1 1\n")
    for source in (folder, folder / "a.off"):
        with pytest.raises(ValueError, match=r"a\.off.*faces out with data\.degenerate=drop"):
            open_source(source)
        assert open_source(source, degenerate="drop").graph(0).cells.num_cells == (3, 3, 1)
    assert "1 such faces are left out" in caplog.text
    with pytest.raises(ValueError, match="degenerate is of use to meshes only"):
        open_source("nci", degenerate="drop")
