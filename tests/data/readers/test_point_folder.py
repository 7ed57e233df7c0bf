import json

import numpy as np
import pandas as pd
import pytest

from cellformer.cli.main import main
from cellformer.data.readers.point_files import PointFileError, read_points
from cellformer.data.sources import open_source
from cellformer.lifting.point_cloud import PointNeighbors

RNG = np.random.default_rng(0)
SHAPES = {
    "ball": lambda n: (p := RNG.normal(size=(n, 3))) / np.linalg.norm(p, axis=1)[:, None],
    "disc": lambda n: np.c_[RNG.uniform(-1, 1, size=(n, 2)), RNG.normal(scale=0.01, size=n)],
}


def write_xyz(path, points):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, points, fmt="%.8g")


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """Balls and discs, turned, in a folder for each."""
    folder = tmp_path_factory.mktemp("clouds") / "shapes"
    for name, make in SHAPES.items():
        for number in range(12):
            turned, _ = np.linalg.qr(RNG.normal(size=(3, 3)))
            points = make(40 + number) @ turned * RNG.uniform(0.5, 2)
            if number % 2:
                write_xyz(folder / name / f"{number}.xyz", points)
            else:
                (folder / name).mkdir(parents=True, exist_ok=True)
                np.save(folder / name / f"{number}.npy", points.astype(np.float32))
    return folder


def test_files_of_every_format_hold_their_points(tmp_path):
    points = [[0, 0, 0], [1, 0, 0.5], [0, 2, -1]]
    texts = {
        "plain.xyz": "# x y z\n0 0 0\n\n1 0 .5\n0 2 -1\n",
        "colors.xyz": "0,0,0,255,0\n1,0,.5,0,1\n0,2,-1,0,0\n",
        "a.off": "OFF\n3 0 0\n0 0 0\n1 0 .5\n0 2 -1\n",
        "a.ply": "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
        "property float z\nend_header\n0 0 0\n1 0 .5\n0 2 -1\n",
        "atoms.xyz": "3\nwater or so\nO 0 0 0\nH 1 0 .5 0.1\n6 0 2 -1\n\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "a.npy", np.array(points))
    for name in (*texts, "a.npy"):
        graph = read_points(tmp_path / name)
        np.testing.assert_array_equal(graph.positions, points)
        assert (graph.name, graph.num_edges) == (name, 0)
    assert read_points(tmp_path / "atoms.xyz").vertex_features.discrete[:, 0].tolist() == [8, 1, 6]
    (tmp_path / "plane.xyz").write_text("0 0\n1 1\n")
    assert read_points(tmp_path / "plane.xyz").positions.shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xyz", b"", "holds no points"),
        ("a.xyz", b"0 0 0\n1 nan 0\n", "point 1 .* is not finite"),
        ("a.xyz", b"0 0 0\n1 a 0\n", "could not convert"),
        ("a.xyz", b"7\n\nC 0 0 0\n", "7 atoms are announced and 1 lines follow"),
        ("a.xyz", b"1\n\nC 0 0 0\n1\n\nC 0 0 1\n", "several frames"),
        ("a.xyz", b"1\n\nXq 0 0 0\n", "no element 'Xq'"),
        ("a.xyz", b"1\n\nC 0 0\n", "not 3 coordinates"),
        ("a.xyz", b"\xff\xfe\x00", "not a valid .xyz"),
        ("a.npy", b"not an array", "not a valid .npy"),
        ("a.off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "has faces"),
        ("a.pcd", b"", "points are read from .xyz"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PointFileError, match=message) as error:
        read_points(tmp_path / name)
    assert name in str(error.value)


def test_an_array_of_objects_is_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"x": 1}], object), allow_pickle=True)
    with pytest.raises(PointFileError, match=r"allow_pickle|pickled"):
        read_points(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(PointFileError, match="shape"):
        read_points(tmp_path / "a.npy")


def test_a_folder_becomes_a_set_by_name(shapes):
    opened = open_source(shapes)
    assert (opened.task.kind, opened.task.labels) == ("binary", ("ball", "disc"))
    assert len(opened) == 24
    graph = opened.graph(0)
    assert graph.cells.num_cells[:2] == (graph.num_vertices, graph.num_edges)
    assert graph.cells.num_cells[2] > 0
    sparse = open_source(shapes, neighbors=PointNeighbors(neighbors=2))
    assert sparse.graph(0).num_edges < graph.num_edges
    assert sparse.digest != opened.digest
    assert opened.graphs.part(3, 5).graph(1).name == opened.graph(4).name


def test_meshes_without_faces_are_points_and_both_in_one_folder_are_refused(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.off").write_text("OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n")
    (tmp_path / "labels.csv").write_text("file,size\n0.off,1.5\n1.off,2.5\n")
    opened = open_source(tmp_path)
    assert opened.targets[:, 0].tolist() == [1.5, 2.5]
    assert opened.graph(0).cells.num_cells == (3, 3, 1)
    (tmp_path / "1.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    with pytest.raises(PointFileError, match=r"1\.off has faces"):
        open_source(tmp_path)


def test_points_have_labels_of_their_own(tmp_path):
    write_xyz(tmp_path / "a.xyz", RNG.normal(size=(5, 3)))
    pd.DataFrame({"kind": [0, 1, 0, 1, 1]}).to_csv(tmp_path / "a.vertices.csv", index=False)
    opened = open_source(tmp_path)
    assert opened.task.rank == 0
    assert opened.targets_of(np.array([0]))[:, 0].tolist() == [0, 1, 0, 1, 1]
    (tmp_path / "a.vertices.csv").rename(tmp_path / "a.faces.csv")
    with pytest.raises(ValueError, match="labels of faces, but these files have vertices only"):
        open_source(tmp_path)


def test_unlike_clouds_are_refused(tmp_path):
    write_xyz(tmp_path / "a.xyz", np.zeros((2, 3)))
    (tmp_path / "b.xyz").write_text("1\n\nC 0 0 0\n")
    with pytest.raises(ValueError, match=r"a\.xyz and b\.xyz only one names the elements"):
        open_source(tmp_path)
    write_xyz(tmp_path / "b.xyz", np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"a\.xyz have 3 coordinates, those of b\.xyz 2"):
        open_source(tmp_path)


def test_clouds_are_learned_and_predicted_by_the_command_line(shapes, tmp_path, capsys):
    run = tmp_path / "run"
    flags = ["--data.neighbors", "5", "--data.encodings", "rwpe:4", "--model.width", "16",
             "--model.layers", "1", "--model.heads", "2", "--model.readout_cells", "all",
             "--model.pooling", "mean", "--optimizer.peak_rate", "2e-2", "--training.epochs", "30",
             "--training.batch_size", "4", "--data.fractions", "[0.5, 0.2, 0.3]",
             "--data.metric", "accuracy", "--training.device", "cpu"]  # fmt: skip
    assert main(["train", str(shapes), "-o", str(run), *flags]) == 0
    summary = json.loads((run / "summary.json").read_text())
    assert summary["scores"]["best"]["test"]["accuracy"] > 0.8
    dense = tmp_path / "new"
    write_xyz(dense / "big.xyz", RNG.normal(size=(60, 3)) * 1e-9)  # any units will do
    write_xyz(dense / "one.xyz", np.zeros((1, 3)))
    capsys.readouterr()
    assert main(["predict", str(run), str(dense), "-o", str(tmp_path / "out.csv")]) == 0
    told = pd.read_csv(tmp_path / "out.csv")
    assert told["error"].isna().all()
    assert set(told["prediction"]) <= {"ball", "disc"}


def test_a_cloud_over_the_limit_is_a_row_with_a_reason(tmp_path):
    write_xyz(tmp_path / "a.xyz", np.zeros((1000, 3)))
    write_xyz(tmp_path / "b.xyz", RNG.normal(size=(10, 3)))
    opened = open_source(tmp_path, neighbors=PointNeighbors(max_cells=10_000))
    with pytest.raises(ValueError, match=r"'a\.xyz' \(1000 points\): more than 10000 edges"):
        opened.graph(0)
    assert opened.graph(1).num_edges > 0
