import gzip
import io
import json

import numpy as np
import pytest

from cellformer.complexes.matrices import hodge_laplacian
from cellformer.data.readers.mantra import read_mantra
from cellformer.data.readers.ogb_folder import read_ogb
from cellformer.data.readers.tu_folder import read_tu
from cellformer.data.readers.zinc_pickles import read_zinc
from cellformer.data.sources import open_source
from raw_sets import write_ogb, write_tu, zinc_archive, zipped


def test_an_ogb_folder_opens_by_path_and_as_an_archive(tmp_path):
    folder = write_ogb(tmp_path / "hiv")
    opened = open_source(folder)
    assert opened.task.kind == "binary"
    assert opened.targets[:, 0].tolist() == [0, 1, 1]
    assert {p: r.tolist() for p, r in opened.split.items()} == {
        "train": [0], "val": [2], "test": [1]}  # fmt: skip
    assert [opened.graph(row).num_edges for row in range(3)] == [3, 0, 2]
    assert opened.graph(2).edges.tolist() == [[0, 1], [1, 2]]
    assert opened.graph(2).edge_features.discrete.tolist() == [[4], [5]]
    assert opened.graph(2).vertex_features.discrete[:, 0].tolist() == [4, 5, 6]
    archived = read_ogb(zipped(folder, tmp_path / "hiv.zip"), "hiv")
    assert archived.digest == opened.digest


def test_both_directions_of_an_edge_are_one(tmp_path):
    folder = write_ogb(tmp_path / "set", **{
        "raw/num-edge-list": "4\n0\n0\n", "raw/edge": "0,1\n1,0\n1,2\n2,1\n",
        "raw/edge-feat": "1\n1\n2\n2\n"})  # fmt: skip
    graph = open_source(folder).graph(0)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_features.discrete.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("label", "kind", "first"),
    [
        ("0.5\n\n-1\n", "regression", 0.5),
        ("2\n0\n1\n", "multiclass", 2),
        ("\n1\n0\n", "binary", None),
    ],
)
def test_labels_pose_their_task_and_may_be_blank(label, kind, first, tmp_path):
    opened = open_source(write_ogb(tmp_path / "set", **{"raw/graph-label": label}))
    assert opened.task.kind == kind
    assert opened.targets[0, 0] == first or np.isnan(opened.targets[0, 0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"raw/edge": "0,1\n"}, "1 edges where num-edge-list counts 5"),
        ({"raw/edge": "0,1\n1,2\n0,9\n1,0\n1,2\n"}, "names a node that its graph lacks"),
        ({"raw/edge": "0,1\n1,2\n0,x\n1,0\n1,2\n"}, "no table of numbers"),
        ({"raw/graph-label": "0\n"}, "1 rows of labels for 3 graphs"),
        ({"raw/node-feat": "1\n"}, "node-feat.*1 rows for 7"),
        ({"split/scaffold/test": "9\n"}, "test_idx names row 9"),
        ({"split/random/train": "1\n"}, "has 2 splits"),
    ],
)
def test_faults_of_an_ogb_folder_name_the_file(changed, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        open_source(write_ogb(tmp_path / "set", **changed))


def test_a_damaged_archive_is_told(tmp_path):
    folder = write_ogb(tmp_path / "set")
    (folder / "raw/edge.csv.gz").write_bytes(b"\x1f\x8b" + b"x" * 20)
    with pytest.raises(ValueError, match=r"edge\.csv\.gz: it cannot be read"):
        open_source(folder)
    (tmp_path / "cut.zip").write_bytes(b"PK")
    with pytest.raises(ValueError, match="neither a folder nor a whole"):
        read_ogb(tmp_path / "cut.zip", "cut")


def test_a_tu_folder_opens_by_path_and_as_an_archive(tmp_path):
    folder = write_tu(tmp_path / "SET")
    opened = open_source(folder)
    assert (opened.task.labels, opened.task.metric) == ((-1, 1), "accuracy")
    assert opened.targets[:, 0].tolist() == [1, 0]
    first, second = opened.graph(0), opened.graph(1)
    assert first.edges.tolist() == [[0, 1], [1, 2]]
    assert first.edge_features.discrete[:, 0].tolist() == [0, 1]
    assert first.vertex_features.discrete[:, 0].tolist() == [0, 1, 0]
    assert second.vertex_features.continuous.tolist() == [[2, 1], [2.5, 1]]
    assert second.edges.tolist() == [[0, 1]]
    assert read_tu(zipped(folder, tmp_path / "SET.zip"), "SET").digest == opened.digest


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"A": "1, 4\n"}, "an edge joins two graphs"),
        ({"A": "1, 9\n"}, "names node 9 of 5"),
        ({"graph_labels": "1\n"}, "all graphs are of one class|2 graphs, but 1 labels"),
        ({"graph_indicator": "2\n1\n1\n2\n2\n"}, "must follow one another"),
        ({"node_labels": "1\n2\n"}, "2 rows for 5 cells"),
    ],
)
def test_faults_of_a_tu_folder_name_the_file(changed, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        open_source(write_tu(tmp_path / "SET", **changed))


def test_a_folder_of_something_else_says_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match="holds no known set"):
        open_source(tmp_path)


def test_the_published_pickles_of_zinc_are_read(tmp_path):
    archive = zinc_archive(tmp_path / "molecules.zip")
    full = read_zinc(archive, None, "zinc-full")
    assert [len(full.split[part]) for part in ("train", "val", "test")] == [2, 2, 2]
    assert full.targets[:, 0].tolist() == [0.5, -1.5] * 3
    graph = full.graph(0)
    assert graph.vertex_features.discrete[:, 0].tolist() == [0, 5, 1]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_features.discrete[:, 0].tolist() == [2, 1]
    indices = {}
    for part, text in (("train", "1,0,"), ("val", "1"), ("test", "0\n")):
        indices[part] = tmp_path / f"{part}.index"
        indices[part].write_text(text)
    subset = read_zinc(archive, indices, "zinc")
    assert subset.targets[:, 0].tolist() == [-1.5, 0.5, -1.5, 0.5]
    indices["val"].write_text("7")
    with pytest.raises(ValueError, match=r"val\.index: it names molecules outside 0\.\.1"):
        read_zinc(archive, indices, "zinc")


def test_a_malicious_zinc_is_refused(tmp_path):
    archive = zinc_archive(tmp_path / "molecules.zip", io.StringIO("x"))
    with pytest.raises(ValueError, match=r"test\.pickle.*asks for _?io\.StringIO"):
        read_zinc(archive, None, "zinc")


SPHERE = [[1, 2, 3], [1, 2, 4], [1, 3, 4], [2, 3, 4]]


def test_triangulations_become_complexes_with_all_faces(tmp_path):
    disk = [[2, 1, 3]]
    ball = [[1, 2, 3, 4]]
    entries = [
        {"id": "a", "triangulation": SPHERE, "name": "S^2", "betti_numbers": [1, 0, 1]},
        {"id": "b", "triangulation": disk, "name": ""},
        {"id": "c", "triangulation": ball, "name": "B^3"},
    ]
    file = tmp_path / "2_manifolds.json.gz"
    file.write_bytes(gzip.compress(json.dumps(entries).encode()))
    opened = read_mantra(file, "mantra")
    assert opened.task.labels == ("B^3", "S^2", "unnamed")
    cells = [opened.graph(row).cells for row in range(3)]
    assert [one.num_cells for one in cells] == [(4, 6, 4), (3, 3, 1), (4, 6, 4, 1)]
    kernels = [
        sum(abs(np.linalg.eigvalsh(hodge_laplacian(cells[0], k).toarray())) < 1e-9)
        for k in range(3)
    ]
    assert kernels == [1, 0, 1]  # the Betti numbers of a sphere
    file.write_bytes(gzip.compress(b'[{"triangulation": [[1, 1, 2]]}]'))
    with pytest.raises(ValueError, match="entry 0: simplices have to list different vertices"):
        read_mantra(file, "mantra")
