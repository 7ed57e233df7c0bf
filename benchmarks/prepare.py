"""Lifting, matrices and encodings of many graphs against the ways that others compute them.

Every peer works graph by graph, as these libraries do; ours takes all graphs of a case at once.
All run in this one process, on graphs that lie in memory. The sets are read from the folder that
``CELLFORMER_DATA`` names: ``zinc/zinc12k_graphs.npz`` and ``gcb/hard_regenerated_seed0_flat.npz``.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from toponetx.classes import CellComplex as TopoNetXComplex
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

from benchmarks.timing import Row, data_folder, parser, report, rows_of
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.union import DisjointUnion
from cellformer.complexes.matrices import (
    Matrix,
    barycentric_skeleton,
    down_adjacency,
    down_laplacian,
    hodge_laplacian,
    incidence,
    up_adjacency,
    up_laplacian,
)
from cellformer.data.flat import FlatGraphs
from cellformer.data.readers.npz import read_npz
from cellformer.encodings.bspe import BSPe
from cellformer.encodings.encode import encode, encode_many
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.lifting.cycle_basis import CycleBasis

SIZE = 8  # columns of every encoding


def spread(file: str, count: int) -> list[Graph]:
    """Graphs from the beginning to the end of a set, at equal distances."""
    graphs = read_npz(data_folder() / file).graphs
    return [graphs.graph(int(row)) for row in np.linspace(0, len(graphs) - 1, count)]


def our_matrices(union: DisjointUnion) -> list[Matrix]:
    """Signed and unsigned incidences, adjacencies and Laplacians of all ranks."""
    matrices = [union.boundary(rank).tocsr() for rank in (1, 2)]
    matrices += [incidence(union, rank) for rank in (1, 2)]
    matrices += [make(union, rank) for make in (up_adjacency, up_laplacian) for rank in (0, 1)]
    matrices += [make(union, rank) for make in (down_adjacency, down_laplacian) for rank in (1, 2)]
    return matrices + [hodge_laplacian(union, rank) for rank in (0, 1, 2)]


def our_complexes(graphs: FlatGraphs) -> tuple[RaggedComplexes, list[Matrix]]:
    """Flat arrays of edges, to complexes and the matrices of their disjoint union."""
    complexes = CycleBasis().many(graphs.ragged()).complexes
    return complexes, our_matrices(DisjointUnion.of(complexes))


def ours_encoded(graphs: FlatGraphs) -> RaggedComplexes:
    """The same, with BSPe."""
    complexes, _ = our_complexes(graphs)
    return encode_many(complexes, BSPe(SIZE))


def one_by_one(graphs: FlatGraphs) -> None:
    """Ours without batches: a `CellComplex` and its matrices for each graph."""
    for row in range(len(graphs)):
        our_matrices(DisjointUnion.of(CycleBasis()(graphs.graph(row))))


def toponetx(edges: NDArray[np.int64], vertices: int) -> tuple[TopoNetXComplex, list[Any]]:
    """TopoNetX's complex of a graph and its cycle basis, and the same matrices."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(edges.tolist())
    cells = TopoNetXComplex(graph)
    cells.add_cells_from(nx.cycle_basis(graph), rank=2)
    higher = range(1, cells.dim + 1)
    lower = range(cells.dim)
    matrices = [cells.incidence_matrix(rank, signed=s) for rank in higher for s in (True, False)]
    matrices += [m(r) for m in (cells.adjacency_matrix, cells.up_laplacian_matrix) for r in lower]
    matrices += [
        m(r) for m in (cells.coadjacency_matrix, cells.down_laplacian_matrix) for r in higher
    ]
    return cells, matrices + [cells.hodge_laplacian_matrix(r) for r in range(cells.dim + 1)]


def toponetx_all(graphs: Sequence[Graph]) -> None:
    """TopoNetX on every graph."""
    for graph in graphs:
        toponetx(graph.edges, graph.num_vertices)


def skeletons_of(complexes: RaggedComplexes) -> list[NDArray[np.float64]]:
    """The dense adjacency of the barycentric 1-skeleton of each complex, a loop where it is alone.

    Given to the dense peers for nothing: their time is that of the linear algebra.
    """
    skeletons = []
    for index in range(len(complexes)):
        skeleton = barycentric_skeleton(complexes[index]).toarray().astype(np.float64)
        alone = ~skeleton.any(axis=0)
        skeleton[alone, alone] = 1
        skeletons.append(skeleton)
    return skeletons


def dense_eigenvectors(skeletons: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """``numpy.linalg.eigh`` of each normalized Laplacian."""
    vectors = []
    for skeleton in skeletons:
        scale = 1 / np.sqrt(skeleton.sum(axis=0))
        laplacian = np.eye(len(skeleton)) - skeleton * scale * scale[:, None]
        vectors.append(np.linalg.eigh(laplacian)[1][:, 1 : SIZE + 1])
    return vectors


def dense_powers(skeletons: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The diagonals of the powers of each walk, multiplied out."""
    diagonals = []
    for skeleton in skeletons:
        walk = skeleton / skeleton.sum(axis=0)
        power, columns = walk, [walk.diagonal()]
        for _ in range(SIZE - 1):
            power = power @ walk
            columns.append(power.diagonal())
        diagonals.append(np.stack(columns, axis=1))
    return diagonals


def pyg_encodings(
    transform: AddLaplacianEigenvectorPE | AddRandomWalkPE, graphs: Sequence[Data]
) -> None:
    """A transform of PyTorch Geometric on the same skeletons as graphs."""
    for graph in graphs:
        transform(graph.clone())


def as_pyg(skeleton: NDArray[np.float64]) -> Data:
    """A skeleton as a graph of PyTorch Geometric."""
    edges = torch.from_numpy(np.stack(np.nonzero(skeleton)))
    return Data(edge_index=edges, num_nodes=len(skeleton))


def check(graphs: Sequence[Graph], flat: FlatGraphs) -> None:
    """Both sides make the same cells, and the same numbers of entries of every matrix."""
    _, ours = our_complexes(flat)
    theirs = [toponetx(graph.edges, graph.num_vertices) for graph in graphs]
    with_faces = [matrices for cells, matrices in theirs if cells.dim == 2]
    flat_counts = [matrix.count_nonzero() for matrix in ours]
    hodge = sum(matrices[-1].count_nonzero() for matrices in with_faces)  # L_2: only with faces
    assert flat_counts[-1] == hodge, (flat_counts[-1], hodge)
    edges = sum(cells.number_of_edges() for cells, _ in theirs)
    assert ours[0].shape[1] == edges
    assert ours[1].shape[1] == sum(len(cells.cells) for cells, _ in theirs)


def check_encodings(complexes: RaggedComplexes, skeletons: list[NDArray[np.float64]]) -> None:
    """Ours are eigenvectors of the first values, and the diagonals of the powers."""
    walks = dense_powers(skeletons)
    for index, skeleton in enumerate(skeletons):
        scale = 1 / np.sqrt(skeleton.sum(axis=0))
        laplacian = np.eye(len(skeleton)) - skeleton * scale * scale[:, None]
        found = np.vstack(encode(complexes[index], BSPe(SIZE)).encodings).astype(np.float64)
        values = np.linalg.eigvalsh(laplacian)[1 : SIZE + 1]
        found = found[:, : len(values)]
        np.testing.assert_allclose(laplacian @ found, found * values, atol=1e-5)
        returns = np.vstack(encode(complexes[index], RWBSPe(SIZE)).encodings)
        np.testing.assert_allclose(returns, walks[index], atol=1e-6)


def lifting_rows(count: int, runs: int) -> list[Row]:
    """ZINC: complexes and matrices, and these with eigenvectors."""
    graphs = spread("zinc/zinc12k_graphs.npz", count)
    flat = FlatGraphs.from_graphs(graphs, "zinc")
    check(graphs, flat)
    skeletons = skeletons_of(our_complexes(flat)[0])

    def with_eigenvectors() -> None:
        toponetx_all(graphs)
        dense_eigenvectors(skeletons)

    case = f"ZINC, {count} graphs"
    return [
        *rows_of(
            f"{case}: matrices",
            partial(our_complexes, flat),
            {
                "TopoNetX": partial(toponetx_all, graphs),
                "ours, one by one": partial(one_by_one, flat),
            },
            runs,
        ),
        *rows_of(
            f"{case}: and bspe",
            partial(ours_encoded, flat),
            {"TopoNetX + dense eigh": with_eigenvectors},
            runs,
        ),
    ]


def encoding_rows(name: str, file: str, count: int, runs: int) -> list[Row]:
    """The global encodings of given complexes."""
    flat = FlatGraphs.from_graphs(spread(file, count), name)
    complexes = CycleBasis().many(flat.ragged()).complexes
    skeletons = skeletons_of(complexes)
    check_encodings(complexes.take(np.arange(4)), skeletons[:4])
    pyg = [as_pyg(skeleton) for skeleton in skeletons]
    eigenvectors = AddLaplacianEigenvectorPE(SIZE, attr_name="pe", is_undirected=True)
    walks = AddRandomWalkPE(SIZE, attr_name="pe")
    peers: dict[type[BSPe | RWBSPe], dict[str, Callable[[], object]]] = {
        BSPe: {
            "numpy.linalg.eigh of each": partial(dense_eigenvectors, skeletons),
            "PyG AddLaplacianEigenvectorPE": partial(pyg_encodings, eigenvectors, pyg),
        },
        RWBSPe: {
            "dense powers of each": partial(dense_powers, skeletons),
            "PyG AddRandomWalkPE": partial(pyg_encodings, walks, pyg),
        },
    }
    return [
        row
        for encoding, others in peers.items()
        for row in rows_of(
            f"{name}, {count}: {encoding.__name__.lower()}",
            partial(encode_many, complexes, encoding(SIZE)),
            others,
            runs,
        )
    ]


def main() -> None:
    """Every case."""
    options = parser(__doc__.splitlines()[0], runs=5)
    options.add_argument("--graphs", type=int, default=500, help="ZINC graphs that are lifted")
    options.add_argument("--complexes", type=int, default=24, help="GCB complexes encoded")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=UserWarning, module="torch_geometric")
    report(
        [
            *lifting_rows(chosen.graphs, chosen.runs),
            *encoding_rows("ZINC", "zinc/zinc12k_graphs.npz", chosen.graphs, chosen.runs),
            *encoding_rows("GCB-hard", "gcb/hard_regenerated_seed0_flat.npz", chosen.complexes,
                           chosen.runs),
        ],
        chosen.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
