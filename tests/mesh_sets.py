"""Pieces of meshes, turned and jittered, as files."""

import numpy as np

from cellformer.complexes.polygons import boundary_walks
from cellformer.data.readers.mesh_file import read_mesh


def write_off(path, points, faces):
    lines = ["OFF", f"{len(points)} {len(faces)} 0"]
    lines += [" ".join(f"{x:.9g}" for x in point) for point in points]
    lines += [" ".join(map(str, (len(face), *face))) for face in faces]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def triangles(mesh):
    return np.array([walks[0] for walks in boundary_walks(mesh)])


def piece(points, faces, rng, size, jitter=0.02):
    """The faces nearest to a random one, turned, scaled and jittered."""
    centers = points[faces].mean(axis=1)
    nearest = np.argsort(((centers - centers[rng.integers(len(faces))]) ** 2).sum(1))[:size]
    used, numbers = np.unique(faces[nearest], return_inverse=True)
    turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    own = points[used] @ turned * rng.uniform(0.5, 2)
    edge = np.linalg.norm(own[numbers.reshape(-1, 3)[:, 0]] - own[numbers.reshape(-1, 3)[:, 1]],
                          axis=1).mean()  # fmt: skip
    return own + rng.normal(scale=jitter * edge, size=own.shape), numbers.reshape(-1, 3)


def write_pieces(meshes, folder, each=20, size=150, seed=0):
    """A folder of meshes with labels.csv."""
    rng = np.random.default_rng(seed)
    lines = ["file,shape"]
    for mesh in meshes:
        cells = read_mesh(mesh)
        faces = triangles(cells)
        for number in range(each):
            name = f"{mesh.stem}_{number}.off"
            write_off(folder / name, *piece(cells.positions, faces, rng, size))
            lines.append(f"{name},{mesh.stem}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    return folder
