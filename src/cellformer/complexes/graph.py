"""A simple undirected graph with features: what a lifting starts from."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int64
from numpy.typing import ArrayLike

from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features, positions_of
from cellformer.complexes.polygons import edge_ends
from cellformer.complexes.words import cells_told, picture_of, titled


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph whose edges run from the lower to the higher vertex number.

    Edge i of the graph becomes the 1-cell i of every complex made from it.
    """

    num_vertices: int
    edges: Int64[np.ndarray, "edge 2"]  # low < high, no row twice
    vertex_features: Features
    edge_features: Features
    positions: Float64[np.ndarray, "vertex space"] | None = None  # for drawing and geometry
    name: str = ""
    dropped_loops: int = 0
    dropped_parallel: int = 0
    cells: CellComplex | None = None  # whose 1-skeleton this is, where the source has such cells

    def __repr__(self) -> str:
        return titled("Graph", self.name, cells_told((self.num_vertices, self.num_edges)))

    def _repr_svg_(self) -> str | None:
        return picture_of(self)

    @property
    def num_edges(self) -> int:
        """The number of edges kept."""
        return len(self.edges)

    def edge_numbers(self, pairs: Int64[np.ndarray, "pair 2"]) -> Int64[np.ndarray, " pair"]:
        """The edge that joins each pair of vertices, in any direction; -1 where none does."""
        own = self.edges[:, 0] * self.num_vertices + self.edges[:, 1]
        wanted = pairs.min(axis=1) * self.num_vertices + pairs.max(axis=1)
        if not len(own) or not len(wanted):
            return np.full(len(wanted), -1)
        order = np.argsort(own)
        places = order[np.minimum(np.searchsorted(own[order], wanted), len(own) - 1)]
        inside = (pairs >= 0).all(axis=1) & (pairs < self.num_vertices).all(axis=1)
        found: Int64[np.ndarray, " pair"] = np.where(inside & (own[places] == wanted), places, -1)
        return found

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        num_vertices: int | None = None,
        vertex_features: ArrayLike | Features | None = None,
        edge_features: ArrayLike | Features | None = None,
        positions: ArrayLike | None = None,
        name: str = "",
    ) -> "Graph":
        """Makes a graph of rows (vertex, vertex), in any direction.

        Self-loops are dropped, and of parallel edges the first is kept with its features; both
        are counted. Without ``num_vertices`` the highest number in ``edges`` decides. Integer
        features are categories, floating-point features are values. Signed features of an edge
        (see `Features`) are given along its row, from the first to the second vertex; where that
        is from the higher to the lower number, the graph's edge runs the other way, and they
        change their signs.

        Raises ValueError if a vertex number is out of range or rows are missing somewhere.
        """
        where = f"graph {name!r}" if name else "graph"
        pairs = np.asarray(edges)
        if pairs.size == 0:
            pairs = np.zeros((0, 2), np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "ui":
            raise ValueError(
                f"{where}: edges must be rows of two vertex numbers, got an array of "
                f"shape {pairs.shape} and type {pairs.dtype}"
            )
        pairs = pairs.astype(np.int64)
        count = int(pairs.max(initial=-1)) + 1 if num_vertices is None else num_vertices
        if count < 0:
            raise ValueError(f"{where}: num_vertices is negative ({count})")
        out_of_range = (pairs < 0) | (pairs >= count)
        if out_of_range.any():
            row = int(out_of_range.any(axis=1).argmax())
            raise ValueError(
                f"{where}: edge {row} {tuple(pairs[row].tolist())} names a vertex "
                f"outside 0..{count - 1}"
            )
        all_edge_features = Features.of(edge_features, len(pairs), f"{where}: edge_features")
        along = np.where(pairs[:, 0] > pairs[:, 1], -1, 1)
        pairs.sort(axis=1)
        proper = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        keys = pairs[proper, 0] * count + pairs[proper, 1]
        kept = proper[np.sort(np.unique(keys, return_index=True)[1])]
        return cls(
            count,
            pairs[kept],
            Features.of(vertex_features, count, f"{where}: vertex_features"),
            all_edge_features.turned(along).take(kept),
            positions_of(positions, count, where),
            name,
            dropped_loops=len(pairs) - len(proper),
            dropped_parallel=len(proper) - len(kept),
        )

    @classmethod
    def of_complex(cls, cells: CellComplex) -> "Graph":
        """The vertices and edges of a complex, which the graph remembers as its ``cells``."""
        edges = edge_ends(cells) if cells.dim else np.zeros((0, 2), np.int64)
        graph = cls.from_edges(
            edges,
            cells.num_vertices,
            cells.features[0],
            cells.features[1] if cells.dim else None,
            cells.positions,
            cells.name,
        )
        return replace(graph, cells=cells)

    @classmethod
    def from_smiles(
        cls, smiles: str, name: str = "", scheme: MoleculeScheme = "standard"
    ) -> "Graph":
        """The heavy atoms and bonds of a molecule, with the discrete features of a scheme.

        "ogb" are the nine atom and three bond features of the Open Graph Benchmark. "standard" are
        the same, except that chirality and double bonds are told by their CIP labels, which do not
        depend on the order of the atoms. "zinc" are the atom and bond types of ZINC-12k.

        Raises ValueError with RDKit's reason if the SMILES is not a valid molecule, or has an atom
        that the scheme does not know.
        """
        from cellformer.chemistry.smiles import atoms_and_bonds  # RDKit is slow to import

        atoms, bonds, bond_features = atoms_and_bonds(smiles, scheme)
        return cls.from_edges(bonds, len(atoms), atoms, bond_features, name=name or smiles)
