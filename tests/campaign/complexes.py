"""Odd complexes through lifting, encodings, batches and models, forward and backward."""

import itertools
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

import cellformer as cf
from campaign.commands import Commands
from campaign.engine import BrokenError
from cellformer.encodings.catalog import ENCODINGS
from cellformer.lifting.simplices import simplicial_complex
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, ModelConfig

Rng = np.random.Generator

INVARIANT = ("zeros", "rwbspe", "rwpe")
"""Encodings that are the same under any order of the cells; eigenvectors may turn or swap."""
MOLECULES = (
    "[H][H]", "[H+]", "[Na+].[Cl-]", "C", "[2H]C", "C1CC1", "C12C3C4C1C5C2C3C45", "c1ccc2ccccc2c1",
    "C1CC12CC2", "[Fe+2]", "N[C@@H](C)C(=O)O", "C/C=C/C", "*C*", "C1=CC=C1", "O=S(=O)(O)O",
    "[O-][N+](=O)c1ccccc1", "C" * 60, "C1" + "C" * 30 + "1", "F[P-](F)(F)(F)(F)F", "[Xe]", "B(O)O",
    "C1CC2CCC1CC2", "CC.CC.CC.O", "c1ccccc1-c1ccccc1", "C#C", "[C-]#[O+]", "[13CH4]", "S1SSSSSSS1",
)  # fmt: skip


class Complexes:
    """Batches of odd complexes, each through an attention of its own."""

    def __init__(self, folder: Path, commands: Commands):
        torch.set_num_threads(1)
        self.counts: Counter[str] = Counter()

    def case(self, rng: Rng, folder: Path) -> Sequence[str]:
        """Raises BrokenError where a value is not finite, or depends on numbers or neighbors."""
        said = []
        try:
            _refused(rng)
        except ValueError as error:
            said.append(_line(error))
        count = int(rng.integers(1, 5))
        self.counts["complexes"] += count
        names = list(rng.choice(ENCODINGS.names, int(rng.integers(1, 3)), replace=False))
        encodings = cf.parse_encodings("+".join(f"{n}:{rng.integers(1, 10)}" for n in names), 8)
        bare = []
        while len(bare) < count:
            try:
                bare.append(_any_complex(rng))
            except ValueError as error:
                said.append(_line(error))
        columns = [int(rng.integers(0, 3)) for _ in range(2)]
        encoded = [cf.encode(_with_features(rng, each, columns), encodings) for each in bare]
        order = [[rng.permutation(n) for n in each.num_cells] for each in bare]
        moved = [_moved(each, rows, encodings, names) for each, rows in zip(encoded, order,
                                                                          strict=True)]  # fmt: skip
        _judge(rng, encoded, moved)
        return said


def _judge(rng: Rng, complexes: Sequence[cf.CellComplex], moved: Sequence[cf.CellComplex]) -> None:
    batch = cf.collate(complexes)
    model = _model(rng, batch)
    output = model(batch)
    output.square().sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    if not torch.isfinite(output).all() or not all(g.isfinite().all() for g in gradients):
        raise BrokenError("an output or a gradient is not finite")
    model.eval()
    with torch.no_grad():
        together = model(batch)
        alone = torch.cat([model(cf.collate([each])) for each in complexes])
        renamed = model(cf.collate(moved))
    _same(together, alone, "in a batch and alone")
    if model.config.architecture.edge_signal == "sum":  # the other one depends on the labels
        _same(together, renamed, "under other numbers")


def _same(one: torch.Tensor, other: torch.Tensor, what: str) -> None:
    scale = max(1.0, float(one.abs().max()) if one.numel() else 1.0)
    apart = float((one - other).abs().max()) if one.numel() else 0.0
    if not apart <= 1e-8 * scale:
        raise BrokenError(f"outputs {what} are {apart:.3g} apart, of {scale:.3g}")


def _model(rng: Rng, batch: cf.CellBatch) -> cf.CellularTransformer:
    torch.manual_seed(int(rng.integers(1 << 30)))
    name = str(rng.choice(ATTENTIONS.names))
    pairs = int(rng.choice([0, 0, 0, 4]))
    architecture = ArchitectureConfig(
        width=16,
        layers=int(rng.integers(0, 4)),
        heads=2,  # each other number is compiled anew
        attention_dropout=0.0,
        readout_cells=str(rng.choice(["vertices", "all"])),  # type: ignore[arg-type]
        pooling=str(rng.choice(["sum", "mean"])),  # type: ignore[arg-type]
        position=str(rng.choice(["sum", "concat"])),  # type: ignore[arg-type]
        edge_signal=str(rng.choice(["sum", "concat"])),  # type: ignore[arg-type]
        neighbor_weights=str(rng.choice(["counts", "binary"])),  # type: ignore[arg-type]
        norm=str(rng.choice(["layer", "rms"])),  # type: ignore[arg-type]
        degree_scaling=str(rng.choice(["none", "log", "linear"])),  # type: ignore[arg-type]
        gate=bool(rng.integers(2)),
        virtual_cell=bool(rng.integers(2)),
        final_norm=bool(rng.integers(2)),
        theta_per_head=bool(rng.integers(2)) and not pairs,
        pair_width=pairs,
        random_signs=False,
        pair_updates=bool(pairs) and bool(rng.integers(2)),
        reach=str(rng.choice(["1", "1", "2", "all,1"] if name == "general-sparse" else ["1"])),
    )
    plan = cf.attention_plan(name, max(2, batch.dim))
    return cf.CellularTransformer(ModelConfig.for_batch(batch, architecture, 2), plan).double()


def _moved(
    cells: cf.CellComplex,
    order: Sequence[np.ndarray],
    encodings: Sequence[cf.Encoding],
    names: Sequence[str],
) -> cf.CellComplex:
    """The complex under other numbers, encoded anew where that must give the same."""
    moved = cf.permute(cells, order)
    if set(names) <= set(INVARIANT):
        again = cf.encode(moved, encodings)
        for one, other in zip(again.encodings, moved.encodings, strict=True):
            if not np.allclose(one, other, rtol=1e-4, atol=1e-5):
                raise BrokenError(f"encodings {'+'.join(names)} depend on the order of the cells")
    return moved


def _with_features(rng: Rng, cells: cf.CellComplex, columns: Sequence[int]) -> cf.CellComplex:
    """With equally many columns for all complexes of a batch, on vertices and edges."""
    features: list[cf.Features | None] = [None] * (cells.dim + 1)
    for rank, width in enumerate(columns[: cells.dim + 1]):
        rows = cells.num_cells[rank]
        values = rng.normal(size=(rows, width)) * 10.0 ** rng.integers(-6, 4)
        features[rank] = cf.Features(rng.integers(0, 3, (rows, width)), values.astype(np.float32))
    return cf.CellComplex.from_boundaries(cells.boundaries, cells.num_vertices, features)


def _any_complex(rng: Rng) -> cf.CellComplex:
    kinds = (_lifted, _lifted, _lifted, _simplices, _mesh, _molecule, _boundaries)
    return kinds[rng.integers(len(kinds))](rng)


def any_graph(rng: Rng) -> cf.Graph:
    """A graph with loops, parallel edges, isolated vertices, hubs, or several components."""
    vertices = int(rng.choice([1, 2, 3, 5, 8, 13, 30]))
    edges = rng.integers(0, vertices, (int(rng.integers(0, 2 * vertices + 1)), 2))
    if rng.integers(4) == 0:  # one vertex of a huge degree
        hub = int(rng.choice([50, 300]))
        edges = np.concatenate([edges, [(0, vertices + spoke) for spoke in range(hub)]])
        vertices += hub
    if rng.integers(4) == 0:  # a part apart, whose vertices all meet
        clique = list(itertools.combinations(range(vertices, vertices + 5), 2))
        edges, vertices = np.concatenate([edges, clique]), vertices + 5
    vertices += int(rng.choice([0, 0, 1, 7]))  # isolated ones, at the end
    order = rng.permutation(vertices)
    return cf.Graph.from_edges(order[edges.astype(np.int64)], vertices)


def _lifted(rng: Rng) -> cf.CellComplex:
    graph = any_graph(rng)
    liftings: tuple[object, ...] = (
        cf.Skeleton(),
        cf.CycleBasis(),
        cf.InducedCycles(max_length=int(rng.integers(3, 9)), over_limit="truncate"),
        cf.Rings(over_limit="truncate"),
        cf.Cliques(max_dim=int(rng.integers(1, 5)), over_limit="truncate"),
    )
    return cf.lift(graph, liftings[rng.integers(len(liftings))])  # type: ignore[arg-type]


def _simplices(rng: Rng) -> cf.CellComplex:
    size = int(rng.integers(2, 6))  # up to dimension 4
    vertices = int(rng.integers(size, size + 6))
    top = [rng.choice(vertices, size, replace=False) for _ in range(int(rng.integers(1, 6)))]
    return simplicial_complex(np.array(top))


def _mesh(rng: Rng) -> cf.CellComplex:
    vertices = int(rng.integers(3, 15))
    faces = [
        rng.integers(0, vertices, int(rng.integers(3, 6))).tolist()
        if rng.integers(5) == 0
        else rng.choice(vertices, int(rng.integers(3, min(vertices, 6) + 1)), False).tolist()
        for _ in range(int(rng.integers(0, 8)))
    ]
    scale = 10.0 ** rng.integers(-12, 13)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*are left out")
        return cf.mesh_complex(rng.normal(size=(vertices, 3)) * scale, faces, degenerate="drop")


def _molecule(rng: Rng) -> cf.CellComplex:
    text = ".".join(rng.choice(MOLECULES, int(rng.integers(1, 3))))
    return cf.lift(cf.Graph.from_smiles(text), cf.Rings())


def _boundaries(rng: Rng) -> cf.CellComplex:
    """Ranks that are declared and empty, up to dimension 4, cells that are bounded by nothing."""
    cells = _simplices(rng) if rng.integers(2) else cf.lift(any_graph(rng), cf.Cliques(2))
    boundaries = [matrix.toarray() for matrix in cells.boundaries]
    kept = int(rng.integers(0, len(boundaries) + 1))
    boundaries = boundaries[:kept]
    for _ in range(int(rng.integers(0, 5 - len(boundaries)))):
        rows = boundaries[-1].shape[1] if boundaries else cells.num_vertices
        boundaries.append(np.zeros((rows, 0), np.int8))
    return cf.CellComplex.from_boundaries(boundaries, cells.num_vertices)


def _refused(rng: Rng) -> None:
    """What must be refused with a reason, as it is no complex: entries moved, doubled, cut off."""
    cells = _lifted(rng)
    if not cells.dim or not cells.num_cells[1]:
        return
    boundaries = [matrix.toarray().astype(np.int64) for matrix in cells.boundaries]
    edge = int(rng.integers(cells.num_cells[1]))
    match rng.integers(4):
        case 0:
            boundaries[0][:, edge] *= 2
        case 1:
            boundaries[0][:, edge] = 0
        case 2:
            boundaries[0] = boundaries[0][:-1]
            boundaries[0][:, 0] = 0
        case 3:
            boundaries[0][:, edge] = np.abs(boundaries[0][:, edge])
    cf.CellComplex.from_boundaries(boundaries, cells.num_vertices)
    raise BrokenError("what is no complex was taken")


def _line(error: ValueError) -> str:
    text = str(error)
    if "\n" in text or not text:
        raise BrokenError(f"a reason is not one line: {text!r}")
    return text
