import struct
import sys

import numpy as np
import pytest
import trimesh

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.readers.mesh_file import MESH_SUFFIXES, MeshFileError, read_mesh
from cellformer.lifting.mesh import mesh_complex
from strategies import assert_same_complex

#      5
#     / \        a house seen from the front: four walls and a floor of four corners,
#    3---2       a roof of four triangles that meet in vertex 8
#    |   |
#    0---1
POINTS = np.array(
    [(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))] + [(0.5, 0.5, 2)],
    np.float64,
)
FACES = [
    [0, 3, 2, 1],
    [0, 1, 5, 4],
    [1, 2, 6, 5],
    [2, 3, 7, 6],
    [3, 0, 4, 7],
    [4, 5, 8],
    [5, 6, 8],
    [6, 7, 8],
    [7, 4, 8],
]
FACE_LIST = [" ".join(map(str, face)) for face in FACES]
POINT_LIST = [" ".join(map(str, point)) for point in POINTS.tolist()]


def off(first="OFF", color=""):
    rows = [f"{len(face)} {text}{color}" for face, text in zip(FACES, FACE_LIST, strict=True)]
    return "\n".join([first, "# a house", "9 9 0", "", *POINT_LIST, *rows]).encode()


def obj(corner):
    faces = ["f " + " ".join(corner(v) for v in face) for face in FACES]
    return "\n".join(
        ["# a house", "vn 0 0 1", *(f"v {point}" for point in POINT_LIST), "s off", *faces]
    ).encode()


def ply(kind, points=POINTS, faces=FACES, name="vertex_indices"):
    header = (
        f"ply\nformat {kind} 1.0\ncomment a house\nelement vertex {len(points)}\n"
        "property float x\nproperty float y\nproperty float z\nproperty uchar red\n"
        f"element face {len(faces)}\nproperty list uchar int {name}\nproperty short flag\n"
        "element edge 1\nproperty int vertex1\nproperty int vertex2\nend_header\n"
    ).encode()
    if kind == "ascii":
        rows = [" ".join(map(str, [*point, 255])) for point in np.asarray(points).tolist()]
        rows += [" ".join(map(str, [len(face), *face, 7])) for face in faces]
        return header + "\n".join([*rows, "0 1"]).encode()
    order = "<" if "little" in kind else ">"
    body = b"".join(struct.pack(f"{order}fffB", *point, 255) for point in points)
    for face in faces:
        body += struct.pack(f"{order}B{len(face)}ih", len(face), *face, 7)
    return header + body + struct.pack(f"{order}ii", 0, 1)


FILES = {
    "text": ("house.off", off()),
    "counts on the first line": ("house.off", off().replace(b"OFF\n# a house\n", b"OFF ")),
    "colored faces": ("house.OFF", off("COFF", " 255 0 0")),
    "obj": ("house.obj", obj(lambda v: str(v + 1))),
    "obj with textures": ("house.obj", obj(lambda v: f"{v + 1}/1/1")),
    "obj with normals": ("house.obj", obj(lambda v: f"{v + 1}//1")),
    "obj counted from the end": ("house.obj", obj(lambda v: str(v - 9))),
    "obj in continued lines": ("house.obj", obj(lambda v: str(v + 1)).replace(b"f ", b"f \\\n")),
    "ply text": ("house.ply", ply("ascii")),
    "ply little-endian": ("house.ply", ply("binary_little_endian")),
    "ply big-endian": ("house.PLY", ply("binary_big_endian", name="vertex_index")),
}


def euler(cells):
    vertices, edges, faces = cells.num_cells
    return vertices - edges + faces


def test_the_house_is_a_sphere():
    house = mesh_complex(POINTS, FACES, name="house")
    assert house.num_cells == (9, 16, 9)
    assert euler(house) == 2
    assert house.name == "house"
    np.testing.assert_array_equal(house.positions, POINTS)
    np.testing.assert_array_equal(np.diff(house.boundary(2).indptr), [4] * 5 + [3] * 4)
    assert (abs(house.boundary(2)).sum(axis=1) == 2).all()
    assert (house.boundary(2).data[house.boundary(2).indptr[:-1]] == 1).all()
    CellComplex.from_boundaries(house.boundaries)
    ends = house.boundary(1).indices.reshape(-1, 2).tolist()
    assert ends == sorted(ends)


@pytest.mark.parametrize("case", FILES)
def test_polygons_stay_polygons_in_every_format(case, tmp_path):
    name, content = FILES[case]
    (tmp_path / name).write_bytes(content)
    cells = read_mesh(tmp_path / name)
    assert cells.name == name
    assert_same_complex(cells, mesh_complex(POINTS, FACES))


@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("faces", [[[0, 1, 5, 4], [1, 2, 6, 5]], [[0, 1, 2]], []], ids=str)
def test_ply_files_whose_faces_are_all_alike(kind, faces, tmp_path):
    (tmp_path / "part.ply").write_bytes(ply(kind, faces=faces))
    assert_same_complex(read_mesh(tmp_path / "part.ply"), mesh_complex(POINTS, faces))


@pytest.mark.parametrize("kind", ["stl", "stl_ascii"])
def test_equal_vertices_of_an_stl_file_are_merged(kind, tmp_path):
    box = trimesh.creation.box()
    (tmp_path / "box.stl").write_bytes(
        content if isinstance(content := box.export(file_type=kind), bytes) else content.encode()
    )
    cells = read_mesh(tmp_path / "box.stl")
    assert cells.num_cells == (8, 18, 12)
    assert euler(cells) == 2
    first = box.vertices[box.faces[0]]
    np.testing.assert_allclose(cells.positions[:3], first)


@pytest.mark.parametrize("name", ["airplane", "ant", "nut"])
def test_real_meshes_agree_with_trimesh(name, data):
    path = data / "extra" / f"mesh_{name}.ply"
    cells = read_mesh(path)
    mesh = trimesh.load(path, force="mesh", process=False)
    assert cells.num_cells == (len(mesh.vertices), len(mesh.edges_unique), len(mesh.faces))
    assert euler(cells) == mesh.euler_number
    np.testing.assert_allclose(cells.positions, mesh.vertices)
    CellComplex.from_boundaries(cells.boundaries)
    faces = [
        sorted({v for e in column for v in cells.boundary(1).indices[2 * e : 2 * e + 2].tolist()})
        for column in cells.boundary(2).indices.reshape(-1, 3).tolist()
    ]
    np.testing.assert_array_equal(faces, np.sort(mesh.faces, axis=1))


def test_the_forms_of_polygons_are_equal():
    quads = np.array(FACES[:5])
    expected = mesh_complex(POINTS, quads)
    assert_same_complex(mesh_complex(POINTS, quads.tolist()), expected)
    assert_same_complex(mesh_complex(POINTS, quads.ravel(), range(0, 21, 4)), expected)
    assert_same_complex(mesh_complex(POINTS, [tuple(q) for q in quads.tolist()]), expected)


def test_a_plane_mesh_and_unused_vertices_are_ordinary():
    cells = mesh_complex([[0, 0], [1, 0], [5, 5], [0, 1]], [[0, 1, 3]])
    assert cells.num_cells == (4, 3, 1)
    assert cells.positions.shape == (4, 2)


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.zeros((2, 3))], ids=len)
def test_a_mesh_without_faces_is_ordinary(points):
    assert mesh_complex(points, []).num_cells == (len(points), 0, 0)


def test_an_edge_may_belong_to_three_faces():
    cells = mesh_complex(np.eye(5, 3), [[0, 1, 2], [0, 1, 3], [1, 0, 4]])
    assert abs(cells.boundary(2)).sum(axis=1).max() == 3


DEGENERATE = [[0, 1, 2], [0, 1, 1], [3, 4], [0, 2, 3, 0], [2, 3, 4]]


def test_degenerate_faces_are_named():
    with pytest.raises(ValueError, match=r"mesh 'm': face 1 \(0, 1, 1\) has fewer.*'drop'"):
        mesh_complex(np.eye(5, 3), DEGENERATE, name="m")


def test_degenerate_faces_are_dropped_and_counted():
    with pytest.warns(UserWarning, match="3 such faces are left out"):
        cells = mesh_complex(np.eye(5, 3), DEGENERATE, degenerate="drop")
    assert_same_complex(cells, mesh_complex(np.eye(5, 3), [[0, 1, 2], [2, 3, 4]]))


@pytest.mark.parametrize(
    ("polygons", "offsets", "message"),
    [
        ([[0, 1, 2], [0, 1, 5]], None, r"face 1 names vertex 5, outside 0\.\.4"),
        ([[0, 1, -1]], None, "face 0 names vertex -1"),
        (np.array([[0.0, 1.0, 2.0]]), None, "vertex numbers must be integers, got float64"),
        (np.array([0, 1, 2]), [0, 4], "offsets must rise"),
        (np.array([0, 1, 2]), [1, 3], "offsets must rise"),
        (np.array([0, 1, 2]), [0, 3, 2, 3], "offsets must rise"),
    ],
)
def test_wrong_faces_are_named(polygons, offsets, message):
    with pytest.raises(ValueError, match=message):
        mesh_complex(np.eye(5, 3), polygons, offsets)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.off", b"", "empty"),
        ("a.off", b"3 3 0\n", "starts with '3' instead of OFF"),
        ("a.off", b"4OFF\n1 0 0\n", "not supported"),
        ("a.off", off()[:-20], "are announced|fewer than"),
        ("a.off", b"OFF\n1 1 0\n0 0 0\n4 0 0 0\n", "face 0 has fewer than the 4 corners"),
        ("a.obj", b"v 0 0\n", "vertex 0 has not three coordinates"),
        ("a.obj", b"v 0 0 0\nf 0 1 2\n", "OBJ counts from 1"),
        ("a.obj", b"v 0 0 x\n", "could not convert"),
        ("a.ply", b"plx\n", "no PLY header"),
        ("a.ply", ply("ascii")[:-40], "too early|too short"),
        ("a.ply", ply("binary_little_endian")[:-20], "ends too early"),
        ("a.ply", ply("binary_middle_endian"), "no known format"),
        ("a.ply", ply("ascii", name="corners"), "faces lack the list vertex_indices"),
        ("a.ply", ply("ascii").replace(b"float z", b"float w"), "vertices lack the property z"),
        ("a.stp", b"", "cannot read '.stp'; convert the mesh to one of .off, .obj, .ply, .stl"),
    ],
)
def test_files_that_cannot_be_read_are_named(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshFileError, match=f"{name}.*({message})"):
        read_mesh(tmp_path / name)


def test_a_wrong_face_in_a_file_is_named(tmp_path):
    (tmp_path / "a.obj").write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 4\n")
    with pytest.raises(ValueError, match=r"mesh 'a.obj': face 1 names vertex 3"):
        read_mesh(tmp_path / "a.obj")


def test_the_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    (tmp_path / "a.stl").write_bytes(b"solid\nendsolid\n")
    with pytest.raises(ImportError, match=r'pip install "cellformer\[mesh\]"'):
        read_mesh(str(tmp_path / "a.stl"))


def test_every_suffix_is_known():
    assert MESH_SUFFIXES == (".off", ".obj", ".ply", ".stl")
