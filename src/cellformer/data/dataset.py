"""What a source of data gives: graphs, targets, a split, and the task they pose."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64
from numpy.typing import ArrayLike, NDArray

from cellformer.basics.checks import one_of
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.descriptors import Descriptors, with_columns
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import ranges
from cellformer.complexes.many.ragged_graphs import RaggedGraphs

Kind: TypeAlias = Literal["regression", "binary", "multiclass"]
Metric: TypeAlias = str
"""One that the kind of task allows, or one of your own, ``package.module:Name``."""
Label: TypeAlias = int | str
MoleculeDescriptors: TypeAlias = Literal["none", "morgan", "fingerprints"]

DEFAULT_METRIC: dict[Kind, Metric] = {
    "regression": "mae",
    "binary": "rocauc",
    "multiclass": "accuracy",
}
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Task:
    """What is to be predicted of every graph, and how predictions are judged.

    With a ``rank``, it is to be predicted of every cell of that rank instead: of the vertices, the
    edges or the faces. Stored targets of a classification are class numbers; ``labels[i]`` is the
    source's own word for class i, the same for all targets. Values of cells that ``flips`` says are
    along the orientation of each cell and change their signs where it is reversed: flows along
    edges, fluxes through faces, potentials of vertices, which come with the sign of the flows.
    """

    kind: Kind
    targets: tuple[str, ...]  # their names
    metric: Metric
    labels: tuple[Label, ...] = ()  # of a classification
    rank: int | None = None  # of the cells that have the targets; None: the complexes have them
    units: tuple[str, ...] = ()  # of the targets, "" where one has none; () where none has any
    flips: bool = False  # whether values of cells change their signs with the orientation

    def __post_init__(self) -> None:
        if not self.targets:
            raise ValueError("a task needs at least one target")
        if self.units and len(self.units) != len(self.targets):
            raise ValueError(f"a task has a unit for each target, got {self.units}")
        if self.rank is not None and self.rank < 0:
            raise ValueError(f"the rank of the cells to predict must be 0 or more, got {self.rank}")
        one_of(get_args(Kind), kind=self.kind)
        if self.flips and (self.kind != "regression" or self.rank is None):
            raise ValueError("targets that flip with the orientation are values of cells of a rank")
        if self.flips and self.metric in ("r2", "spearman"):
            raise ValueError(
                f"data.metric {self.metric} depends on how cells are oriented; targets that flip "
                "are judged by mae or rmse"
            )
        allowed = {
            "regression": ("mae", "rmse", "r2", "spearman"),
            "binary": ("rocauc", "average_precision", "accuracy", "f1", "mcc"),
            "multiclass": ("accuracy", "f1", "mcc"),
        }[self.kind]
        if self.metric not in allowed and ":" not in self.metric:
            raise ValueError(
                f"data.metric of a {self.kind} task is one of {', '.join(allowed)}, not "
                f"{self.metric}"
            )
        if self.kind == "regression" and self.labels:
            raise ValueError("a regression has no class labels")
        if self.kind == "binary" and len(self.labels) != 2:
            raise ValueError(f"a binary task has two labels, got {self.labels}")
        if self.kind == "multiclass" and (len(self.labels) < 2 or len(self.targets) != 1):
            raise ValueError(
                f"a multi-class task has one target and at least two labels, got {self.targets} "
                f"and {self.labels}"
            )

    def unit(self, target: str) -> str:
        """The unit that stood beside the values of a target; empty where there was none."""
        return self.units[self.targets.index(target)] if self.units else ""

    @property
    def outputs(self) -> int:
        """The number of values that a model gives for each graph."""
        return len(self.labels) if self.kind == "multiclass" else len(self.targets)


@runtime_checkable
class GraphSequence(Protocol):
    """Graphs made one at a time; can be sent to another process, whole or in parts."""

    def __len__(self) -> int:
        """The number of rows, those without a valid graph included."""

    def graph(self, row: int) -> Graph:
        """The graph of a row; raises ValueError, saying why, if the row has none."""

    def part(self, start: int, stop: int) -> "GraphSequence":
        """The rows ``start:stop`` as a sequence of their own."""


@runtime_checkable
class RaggedGraphSequence(GraphSequence, Protocol):
    """Graphs that lie in flat arrays already."""

    def ragged(self) -> RaggedGraphs:
        """All graphs at once; raises ValueError if any row has none."""


def graph_of(graphs: GraphSequence, row: int) -> Graph:
    """The graph of a row; raises ValueError, saying why, whatever is wrong with the row.

    A lack of memory or an error of the file system says nothing of the row and is raised as it is.
    """
    try:
        return graphs.graph(row)
    except (ValueError, MemoryError, OSError):
        raise
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True, eq=False)
class SmilesList:
    """Molecules as SMILES, parsed when asked for."""

    smiles: Sequence[str]
    scheme: MoleculeScheme = "standard"  # which features atoms and bonds get
    descriptors: MoleculeDescriptors = "none"  # which the molecules get

    def __len__(self) -> int:
        return len(self.smiles)

    def graph(self, row: int) -> Graph:
        """The molecule's graph; raises ValueError with RDKit's reason if there is none."""
        return Graph.from_smiles(self.smiles[row], scheme=self.scheme)

    def in_graph_order(self, row: int) -> str:
        """A SMILES of the molecule whose atoms come in the order of its graph's vertices."""
        from cellformer.chemistry.smiles import in_graph_order

        return in_graph_order(self.smiles[row], self.scheme)

    def described(self, rows: Int64[np.ndarray, " row"]) -> Descriptors | None:
        """The descriptors of some molecules, which have to be valid; None where there are none."""
        if self.descriptors == "none":
            return None
        from cellformer.chemistry.fingerprints import fingerprint_counts, morgan_counts

        smiles = [self.smiles[row] for row in rows]
        if self.descriptors == "morgan":
            return Descriptors(morgan_counts(smiles), np.zeros((len(rows), 0), np.float32))
        from cellformer.chemistry.physical import physical_values

        return Descriptors(fingerprint_counts(smiles), physical_values(smiles))

    def part(self, start: int, stop: int) -> "SmilesList":
        """The rows ``start:stop``."""
        return replace(self, smiles=tuple(self.smiles[start:stop]))

    def digest(self, rows: int | None = None) -> str:
        """Of the strings, or the first ones, the features and the RDKit version that makes them."""
        from rdkit import __version__

        described = () if self.descriptors == "none" else (f"descriptors {self.descriptors}",)
        smiles = islice(self.smiles, rows)
        return digest_of(chain((__version__, self.scheme, *described), smiles))


def descriptors_of(graphs: GraphSequence, rows: Int64[np.ndarray, " row"]) -> Descriptors | None:
    """What is computed of some graphs as wholes, which have to be valid; None if nothing is."""
    return graphs.described(rows) if isinstance(graphs, SmilesList) else None


@dataclass(frozen=True, eq=False)
class GraphSet:
    """An ordered set of graphs with what is known of each; row i of everything is graph i."""

    name: str
    graphs: GraphSequence
    targets: Float[np.ndarray, "target_row target"]  # class numbers or values, or NaN
    task_or_none: Task | None  # None where the source has no targets, as for prediction
    split: dict[str, Int64[np.ndarray, " _"]] | None  # rows of "train", "val" and "test"
    digest: str  # of the graphs and their features: two sets with equal ones lift alike
    cell_offsets: Int64[np.ndarray, " row_plus_1"] | None = None
    """Where the cells have the targets: graph i has those in ``cell_offsets[i]:...[i + 1]``."""
    columns: Float32[np.ndarray, "row column"] | None = None
    """Descriptors of the graphs that the source brings; NaN where one is unknown."""
    faults: dict[int, str] = field(default_factory=dict)
    """Rows that cannot be used whatever their graph is, with the reason."""
    column_units: tuple[str, ...] = ()
    """The units that stand beside the descriptors, "" where there is none; one for each column."""
    cell_split: dict[str, Int64[np.ndarray, " _"]] | None = None
    """Where cells of the same graphs train, validate and test: the rows of targets of each."""
    bounds: Float[np.ndarray, "row side"] | None = None
    """Of unknown targets, what the truth is above, a column for each target, then what it is below;
    NaN where there is no bound."""

    def __post_init__(self) -> None:
        task = self.task_or_none
        if (self.cell_offsets is not None) != (task is not None and task.rank is not None):
            raise ValueError(f"{self.name}: cell_offsets belong to a task of cells, and only there")
        rows = len(self.graphs)
        if self.cell_offsets is not None:
            rows = int(self.cell_offsets[-1])
        columns = 0 if task is None else len(task.targets)
        if self.targets.shape != (rows, columns):
            raise ValueError(
                f"{self.name}: targets have shape {self.targets.shape}, expected {(rows, columns)}"
            )
        if self.bounds is not None and (
            self.cell_offsets is not None or self.bounds.shape != (rows, 2 * columns)
        ):
            raise ValueError(
                f"{self.name}: bounds have shape {self.bounds.shape}, expected "
                f"{(rows, 2 * columns)}, and are of graphs, not of cells"
            )
        if self.columns is not None and len(self.columns) != len(self.graphs):
            raise ValueError(
                f"{self.name}: {len(self.columns)} rows of descriptors, {len(self.graphs)} graphs"
            )
        if self.split is not None:
            check_split(self.split, len(self.graphs), self.name)
        if self.cell_split is not None:
            if self.cell_offsets is None or self.split is not None:
                raise ValueError(
                    f"{self.name}: a split of cells belongs to targets of cells, without another"
                )
            check_split(self.cell_split, rows, f"{self.name}: cells")

    def __repr__(self) -> str:
        task = self.task_or_none
        what = "nothing to learn" if task is None else f"{task.kind} of {', '.join(task.targets)}"
        return f"GraphSet({self.name!r}, {len(self):,} row{'' if len(self) == 1 else 's'}, {what})"

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def task(self) -> Task:
        """The task; raises ValueError where the source has no targets."""
        if self.task_or_none is None:
            raise ValueError(f"{self.name} has no targets; name the column or array to learn")
        return self.task_or_none

    @property
    def smiles(self) -> Sequence[str]:
        """The SMILES of every row; raises ValueError where the source has none."""
        if not isinstance(self.graphs, SmilesList):
            raise ValueError(
                f"{self.name} does not consist of SMILES and has no scaffolds; use a random split"
            )
        return self.graphs.smiles

    @property
    def smiles_or_none(self) -> Sequence[str] | None:
        """The SMILES of every row, where the source consists of SMILES."""
        return self.graphs.smiles if isinstance(self.graphs, SmilesList) else None

    def graph(self, row: int) -> Graph:
        """The graph of a row; raises ValueError, saying why, if the row has none."""
        return graph_of(self.graphs, row)

    def targets_of(self, rows: Int64[np.ndarray, " row"]) -> Float[np.ndarray, "target_row target"]:
        """The targets of these graphs, or of their cells where these have them."""
        if self.cell_offsets is not None:
            rows, _ = ranges(self.cell_offsets[rows], self.cell_offsets[rows + 1])
        found: Float[np.ndarray, "target_row target"] = self.targets[rows]
        return found

    def columns_of(
        self, rows: Int64[np.ndarray, " row"]
    ) -> Float32[np.ndarray, "row column"] | None:
        """The descriptors that the source brings of these graphs, if it brings any."""
        return None if self.columns is None else self.columns[rows]

    def described(self, row: int, cells: CellComplex) -> CellComplex:
        """The complex of a row with the descriptors of that row."""
        one = np.array([row])
        given = with_columns(descriptors_of(self.graphs, one), self.columns_of(one))
        return replace(cells, descriptors=given)

    def has_target(self) -> Bool[np.ndarray, " row"]:
        """Whether a graph, or one of its cells where these have them, has a target or a bound."""
        known: Bool[np.ndarray, " row"] = np.isfinite(self.targets).any(axis=1)
        if self.bounds is not None:
            known = known | np.isfinite(self.bounds).any(axis=1)
        if self.cell_offsets is not None:
            counted = np.concatenate([[0], np.cumsum(known)])[self.cell_offsets]
            known = np.diff(counted) > 0
        return known

    def labeled(self) -> Int64[np.ndarray, " target"]:
        """How many graphs (or cells) have a value, for each target."""
        present: Int64[np.ndarray, " target"] = np.isfinite(self.targets).sum(axis=0)
        return present


def rows_of(split: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.int64]]:
    """A split as its user gave it: parts may be left out, and be lists."""
    return {part: np.asarray(split.get(part, ()), np.int64) for part in PARTS}


def check_split(split: Mapping[str, NDArray[np.integer]], rows: int, where: str) -> None:
    """Raises ValueError, naming the part, unless parts are disjoint sets of existing rows."""
    if set(split) != set(PARTS):
        raise ValueError(f"{where}: a split has the parts {PARTS}, got {tuple(split)}")
    owner = np.full(rows, -1)
    for number, part in enumerate(PARTS):
        indices = split[part]
        outside = (indices < 0) | (indices >= rows)
        if outside.any():
            raise ValueError(
                f"{where}: {part}_idx names row {int(indices[outside][0])}; "
                f"there are {rows} rows, counted from 0"
            )
        taken = indices[owner[indices] >= 0]
        if len(taken):
            raise ValueError(
                f"{where}: row {int(taken[0])} is in both {PARTS[owner[taken[0]]]}_idx and "
                f"{part}_idx; a row may belong to one part only"
            )
        owner[indices] = number
        if np.count_nonzero(owner == number) != len(indices):
            raise ValueError(f"{where}: {part}_idx names a row twice")


def digest_of(parts: Iterable[str | bytes | NDArray[np.generic]]) -> str:
    """A SHA-256 of strings and arrays, in order; type and shape of an array count."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            head = f"{part.dtype.str}{part.shape}".encode()
            body = np.ascontiguousarray(part).tobytes()
        else:
            head, body = b"", part.encode(errors="surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d %d:" % (len(head), len(body)))
        digest.update(head)
        digest.update(body)
    return digest.hexdigest()
