"""The complex of a mesh in a file: its own vertices, edges and faces."""

import logging
import warnings
from pathlib import Path

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.readers.mesh_formats import MESH_READERS
from cellformer.lifting.mesh import Degenerate, mesh_complex

logger = logging.getLogger(__name__)

MESH_SUFFIXES = tuple(MESH_READERS)
"""The suffixes of the files that `read_mesh` reads."""


class MeshFileError(ValueError):
    """A mesh file cannot be read."""


def read_mesh(path: str | Path, degenerate: Degenerate = "fail") -> CellComplex:
    """The complex of the vertices and faces in an OFF, OBJ, PLY or STL file, named after the file.

    Polygons stay polygons: OFF, OBJ and PLY files are read here rather than by trimesh, which cuts
    faces of more than three vertices into triangles. The vertices of these files are neither merged
    nor reordered. An STL file, which repeats its vertices for every triangle, is read by trimesh
    (``pip install "cellformer[mesh]"``) and equal vertices are merged, in the order in which they
    appear first. Colors, normals and textures are not read.

    ``degenerate`` is what to do with faces that `mesh_complex` cannot use; the log tells how many
    are dropped. Raises MeshFileError
    (a ValueError) naming the file if it cannot be understood, ValueError naming the face otherwise.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in MESH_READERS:
        raise MeshFileError(
            f"{path}: cannot read {kind or 'files without a suffix'!r}; convert the mesh to one "
            f"of {', '.join(MESH_READERS)}"
        )
    content = path.read_bytes()
    try:
        vertices, polygons = MESH_READERS[kind](content)
    except (ValueError, IndexError, KeyError) as error:
        raise MeshFileError(f"{path}: not a valid {kind} mesh: {error}") from error
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cells = mesh_complex(vertices, polygons, degenerate=degenerate, name=path.name)
    for each in told:
        logger.warning("%s", each.message)
    return cells
