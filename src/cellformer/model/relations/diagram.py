"""Tensor diagrams: which ranks send to which, through which neighborhood."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from scipy import sparse

from cellformer.basics.parts.stored import from_json, to_json
from cellformer.basics.suggestions import unknown_choice
from cellformer.complexes.matrices import (
    Bounded,
    Matrix,
    down_adjacency,
    incidence,
    up_adjacency,
)

NeighborhoodName: TypeAlias = Literal["up", "down", "incidence"]
NeighborhoodFunction: TypeAlias = Callable[[Bounded], Matrix]


@dataclass(frozen=True)
class Arrow:
    """One arrow of a tensor diagram: the cells of one rank attend to those of another.

    ``neighborhood`` is ``"up"`` or ``"down"`` (adjacency with counts, of a rank to itself),
    ``"incidence"`` (between consecutive ranks, either way), or a function from a complex or a
    whole batch to a scipy CSR matrix with one row per receiver and one column per sender, which
    must not join cells of different complexes.

    A dense arrow attends to all cells of the sending rank of the same complex, and the
    neighborhood biases it; a sparse one attends to the neighborhood's stored entries only.

    Source: the paper, section "Tensor diagrams for cellular transformers". Raises ValueError
    where ranks and neighborhood do not fit.
    """

    sender: int
    receiver: int
    neighborhood: str | NeighborhoodFunction
    dense: bool = False

    def __post_init__(self) -> None:
        if self.sender < 0 or self.receiver < 0:
            raise ValueError(f"{self}: ranks start at 0")
        match self.neighborhood:
            case "up" | "down":
                if self.sender != self.receiver:
                    raise ValueError(
                        f"{self}: adjacency joins cells of one rank; use 'incidence' or a function"
                    )
                if self.neighborhood == "down" and self.sender == 0:
                    raise ValueError(f"{self}: vertices have no lower adjacency; use 'up'")
            case "incidence":
                if abs(self.sender - self.receiver) != 1:
                    raise ValueError(
                        f"{self}: incidence joins consecutive ranks; use a function otherwise"
                    )
            case str():
                raise unknown_choice(
                    f"neighborhood of the arrow {self}",
                    self.neighborhood,
                    get_args(NeighborhoodName),
                )
            case _:
                if not callable(self.neighborhood):
                    raise ValueError(f"{self}: the neighborhood is neither a name nor a function")

    def __str__(self) -> str:
        return f"{self.sender} -> {self.receiver}"

    def matrix(self, cells: Bounded) -> Matrix:
        """``N_{s->t}``: one row per receiver, one column per sender.

        Raises ValueError if the user's own function returns a matrix of another shape.
        """
        if self.neighborhood == "up":
            return up_adjacency(cells, self.receiver)
        if self.neighborhood == "down":
            return down_adjacency(cells, self.receiver)
        if isinstance(self.neighborhood, str):
            faces = incidence(cells, max(self.sender, self.receiver))
            return faces if self.receiver < self.sender else faces.T.tocsr()
        matrix = sparse.csr_array(self.neighborhood(cells), copy=True)  # it may be kept by the user
        matrix.sum_duplicates()
        shape = (cells.num_cells[self.receiver], cells.num_cells[self.sender])
        if matrix.shape != shape:
            raise ValueError(
                f"the neighborhood function of the arrow {self} returned a matrix of shape "
                f"{matrix.shape}, expected {shape} (receivers, senders)"
            )
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """The arrow as JSON holds it, a neighborhood function by its module and name.

        Raises ValueError for a function that could not be found again, such as a lambda.
        """
        return {
            "sender": self.sender,
            "receiver": self.receiver,
            "neighborhood": to_json(self.neighborhood),
            "dense": self.dense,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Arrow":
        """The inverse of `to_dict`; raises as `from_json` does, and ValueError for other types."""
        for name, kind in (("sender", int), ("receiver", int), ("dense", bool)):
            if type(values.get(name, kind())) is not kind:
                raise ValueError(
                    f"{name} of an arrow must be {kind.__name__}, got {values[name]!r}"
                )
        return cls(**{**values, "neighborhood": from_json(values["neighborhood"])})


@dataclass(frozen=True)
class TensorDiagram:
    """The arrows of a model; the ranks 0 ... max_rank are the ones that the model knows.

    Raises ValueError if there is no arrow, or the same one twice.
    """

    arrows: tuple[Arrow, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrows", tuple(self.arrows))
        if not self.arrows:
            raise ValueError("a tensor diagram needs at least one arrow")
        seen = set()
        for arrow in self.arrows:
            key = (arrow.sender, arrow.receiver, arrow.neighborhood)
            if key in seen:
                raise ValueError(f"the diagram has the arrow {arrow} twice")
            seen.add(key)

    @property
    def max_rank(self) -> int:
        """The highest rank of any arrow."""
        return max(max(arrow.sender, arrow.receiver) for arrow in self.arrows)

    @property
    def num_ranks(self) -> int:
        """The number of ranks that a model with this diagram knows."""
        return self.max_rank + 1

    def block_matrix(self, cells: Bounded) -> Matrix:
        """The square matrix over the cells of all ranks of ``cells``, rank after rank.

        Its blocks are the arrows' matrices, zero where there is no arrow. Arrows between the same
        ranks are added. Source: the paper, section "General cellular attention", the matrix N.
        """
        counts = cells.num_cells
        blocks = [[sparse.csr_array((rows, columns)) for columns in counts] for rows in counts]
        for arrow in self.arrows:
            if max(arrow.sender, arrow.receiver) <= cells.dim:
                blocks[arrow.receiver][arrow.sender] += arrow.matrix(cells)
        matrix = sparse.csr_array(sparse.block_array(blocks, format="csr"))
        matrix.sort_indices()
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """The diagram as JSON holds it; raises ValueError as `Arrow.to_dict` does."""
        return {"arrows": [arrow.to_dict() for arrow in self.arrows]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TensorDiagram":
        """The inverse of `to_dict`."""
        return cls(tuple(map(Arrow.from_dict, values["arrows"])))


def paper_diagram(max_rank: int = 2) -> TensorDiagram:
    """The paper's diagram, of seven arrows for ranks up to 2, in any dimension.

    Vertices attend to their upper neighbors, cells of a higher rank to their lower neighbors, and
    consecutive ranks to each other along incidence. Source: the paper, section "Pairwise cellular
    attention".
    """
    arrows = [Arrow(0, 0, "up")]
    for rank in range(1, max_rank + 1):
        arrows.append(Arrow(rank, rank, "down"))
        arrows.append(Arrow(rank - 1, rank, "incidence"))
        arrows.append(Arrow(rank, rank - 1, "incidence"))
    return TensorDiagram(tuple(arrows))
