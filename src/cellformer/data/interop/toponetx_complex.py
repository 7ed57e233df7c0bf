"""Cell complexes from TopoNetX and back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import (
    boundary_walks,
    edge_boundary,
    edge_ends,
    is_polygon,
    polygon_boundary,
)
from cellformer.data.interop.attributes import gather, gather_positions, spread
from cellformer.data.interop.toponetx_others import from_combinatorial, from_simplicial

if TYPE_CHECKING:
    import toponetx

AnyTopoNetX: TypeAlias = Union[
    "toponetx.CellComplex", "toponetx.SimplicialComplex", "toponetx.CombinatorialComplex"
]


def from_toponetx(
    complex_: "AnyTopoNetX",
    vertex_features: Sequence[str] = (),
    edge_features: Sequence[str] = (),
    face_features: Sequence[str] = (),
    positions: str | None = None,
    name: str = "",
) -> CellComplex:
    """A complex of TopoNetX, with named attributes as features.

    Simplicial complexes, of any dimension, are read as `from_simplicial` does, combinatorial ones
    as `from_combinatorial` does. A ``CellComplex`` is always of dimension 2, and its cells are
    numbered as in TopoNetX's own matrices: vertices sorted, edges sorted by their vertices, 2-cells
    as inserted, each oriented as it was listed. So the boundaries equal ``incidence_matrix(1)`` and
    ``incidence_matrix(2)``. Attributes are read as in `from_networkx`; ``signed`` ones are along
    these orientations.

    Self-loops are dropped. Raises ValueError if nodes cannot be sorted, an attribute is missing,
    or a 2-cell is not a cycle of three or more different vertices (TopoNetX allows others), and for
    anything that is none of the three.
    """
    return complex_of(complex_, (vertex_features, edge_features, face_features), positions, name)


def complex_of(
    one: "AnyTopoNetX", features: Sequence[Sequence[str]], positions: str | None, name: str
) -> CellComplex:
    """Any complex of TopoNetX; ``features[k]`` names the attributes of cells of rank k.

    Raises ValueError as `from_toponetx` does.
    """
    import toponetx

    match one:
        case toponetx.CellComplex():
            vertex, edge, face = ([*features, (), (), ()])[:3]
            return _from_cells(one, vertex, edge, face, positions, name)
        case toponetx.SimplicialComplex():
            return from_simplicial(one, features, positions, name)
        case toponetx.CombinatorialComplex():
            return from_combinatorial(one, features, positions, name)
    raise ValueError(
        f"{name or 'what is given'} is a {type(one).__name__}, which is not read; cell complexes, "
        "simplicial complexes and combinatorial complexes of TopoNetX are"
    )


def _from_cells(
    complex_: "toponetx.CellComplex",
    vertex_features: Sequence[str],
    edge_features: Sequence[str],
    face_features: Sequence[str],
    positions: str | None,
    name: str,
) -> CellComplex:
    where = f"complex {name!r}: " if name else ""
    try:
        nodes = sorted(complex_.nodes)
    except TypeError as error:
        raise ValueError(f"{where}nodes of different types cannot be sorted: {error}") from None
    number = {node: index for index, node in enumerate(nodes)}
    listed = sorted(
        ((*sorted((number[u], number[v])), data) for u, v, data in complex_.edges(data=True)),
        key=lambda edge: edge[:2],
    )
    proper = [edge for edge in listed if edge[0] != edge[1]]
    edges = np.array([edge[:2] for edge in proper], np.int64).reshape(-1, 2)
    faces = list(complex_.cells)
    try:
        polygons = polygon_boundary(
            len(nodes), edges, [[number[node] for node in face.elements] for face in faces]
        )
    except ValueError as error:
        raise ValueError(f"{where}2-cells must be cycles of different vertices: {error}") from None
    vertex_attributes = [complex_.nodes[node] for node in nodes]
    return CellComplex.from_boundaries(
        [edge_boundary(len(nodes), edges), polygons],
        features=[
            gather(vertex_attributes, vertex_features, f"{where}vertex"),
            gather([edge[2] for edge in proper], edge_features, f"{where}edge"),
            gather([_attributes(face) for face in faces], face_features, f"{where}2-cell"),
        ],
        positions=gather_positions(vertex_attributes, positions, f"{where}vertex"),
        name=name,
    )


def to_toponetx(cells: CellComplex) -> "toponetx.CellComplex":
    """A TopoNetX ``CellComplex`` on the nodes 0, 1, ... with features as attributes.

    The attributes are named as in `to_networkx`. TopoNetX sorts edges by their vertices and has
    no orientation of its own for them, so edge numbers and orientations may differ from those of
    ``cells``; 2-cells keep theirs. Encodings are not carried over. Needs the extra: ``pip install
    "cellformer[toponetx]"``, else ImportError.

    Raises ValueError if the complex has cells of rank 3 or more, parallel edges, or a 2-cell whose
    boundary is not one cycle: TopoNetX cannot hold them.
    """
    try:
        import toponetx
    except ImportError as error:
        raise ImportError(
            'TopoNetX is not installed; run: pip install "cellformer[toponetx]"'
        ) from error

    where = f"complex {cells.name!r}" if cells.name else "complex"
    if any(cells.num_cells[3:]):
        raise ValueError(f"{where} has cells of rank 3 or more; TopoNetX holds ranks 0, 1 and 2")
    made = toponetx.CellComplex()
    ends = edge_ends(cells)
    upward = np.where(ends[:, 0] > ends[:, 1], -1, 1)  # as TopoNetX's edges are read
    attributes = [
        spread(features.turned(upward) if rank == 1 else features)
        for rank, features in enumerate(cells.features)
    ]
    for vertex, row in enumerate(attributes[0]):
        if cells.positions is not None:
            row["position"] = tuple(cells.positions[vertex].tolist())
        made.add_node(vertex, **row)
    for edge, (tail, head) in enumerate(ends.tolist()):
        if (tail, head) in made.edges:
            raise ValueError(f"{where}: edge {edge} joins the same vertices as another edge")
        made.add_edge(tail, head, **attributes[1][edge])
    for face, walks in enumerate(boundary_walks(cells)):
        if not is_polygon(walks):
            raise ValueError(f"{where}: the boundary of 2-cell {face} is not one cycle")
        made.add_cell(walks[0], rank=2, **attributes[2][face])
    return made


def _attributes(face: Any) -> Any:
    return face._attributes  # the only access that tells equal 2-cells apart
