"""From some rows of a source to encoded complexes: all at once, or one by one.

A lifting that takes one graph at a time is followed by encodings that take all complexes at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.ragged_graphs import RaggedGraphs
from cellformer.data.dataset import (
    GraphSequence,
    RaggedGraphSequence,
    descriptors_of,
    graph_of,
)
from cellformer.data.flat import FlatGraphs
from cellformer.encodings.encode import CollectiveEncoding, Encoding, encode, encode_many
from cellformer.lifting.lift import (
    CollectiveLifting,
    Lifted,
    Lifting,
    LiftingLimitError,
    PartlyCollective,
    collective_form,
    lift,
    limit_error,
)


@dataclass(frozen=True)
class Failure:
    """A row without a complex."""

    row: int
    reason: str
    over_limit: bool  # the graph is valid, but the lifting gave up

    def told(self) -> list[object]:
        """It as JSON holds it; `failure_of` is the inverse."""
        return [self.row, self.reason, self.over_limit]


def failure_of(told: object) -> Failure:
    """What JSON holds of a failure; raises ValueError where that is something else."""
    match told:
        case [int(row), str(reason), bool(over_limit)]:
            return Failure(row, reason, over_limit)
    raise ValueError(f"{told!r} is no row, reason and limit")


class PreparationError(ValueError):
    """A graph that cannot be lifted or encoded; ``row`` is its place in the source, from 0."""

    def __init__(self, message: str, row: int):
        super().__init__(message, row)
        self.message = message
        self.row = row

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, eq=False)
class Made:
    """What became of some rows."""

    complexes: RaggedComplexes | None  # of the rows that did not fail; None where all did
    failures: tuple[Failure, ...]  # by row
    slow: str | None = None  # why not all at once, where that was tried and something was raised


def make(
    graphs: GraphSequence,
    start: int,
    lifting: Lifting,
    encodings: Sequence[Encoding],
    tell: Callable[[str], None],
) -> Made:
    """Lifts, encodes and describes ``graphs``, the rows of a source from ``start`` on.

    A row fails that has no valid graph or description, or is over the lifting's limit. Whatever
    else is raised with all rows at once is given to ``tell``, and they are taken one by one. Raises
    PreparationError, naming the row, where the lifting or an encoding raises with one alone.
    """
    collective = collective_form(lifting)
    valid = (_flat(graphs) if collective is not None else None) or _listed(graphs, start)
    if isinstance(lifting, PartlyCollective) and valid.own_cells:
        collective = None
    made, slow = None, None
    try:
        if collective is not None:
            made = _together(valid, start, collective, encodings)
        elif any(isinstance(encoding, CollectiveEncoding) for encoding in encodings):
            made = _encoded_together(valid, start, lifting, encodings)
    except PreparationError:
        raise
    except Exception as error:
        slow = f"{type(error).__name__}: {error}".splitlines()[0]
        tell(slow)
    made = made or _one_by_one(valid, start, lifting, encodings)
    return replace(_described(made, graphs, start), slow=slow)


@dataclass(frozen=True, eq=False)
class _Valid:
    """Those of some rows that have a graph."""

    numbers: Sequence[int]  # among the rows
    graph: Callable[[int], Graph]  # of the valid row i
    ragged: Callable[[], RaggedGraphs]  # all, without the cells that they bring
    own_cells: bool  # whether any brings cells
    failures: tuple[Failure, ...]  # the other rows


def _flat(graphs: GraphSequence) -> _Valid | None:
    """Rows that lie in flat arrays already and all have a graph; else None."""
    if not isinstance(graphs, RaggedGraphSequence):
        return None
    try:
        ragged = graphs.ragged()
    except ValueError:  # which row has none is seen one by one
        return None
    return _Valid(range(len(graphs)), graphs.graph, lambda: ragged, False, ())


def _listed(graphs: GraphSequence, start: int) -> _Valid:
    found: list[Graph] = []
    numbers: list[int] = []
    failures: list[Failure] = []
    for number in range(len(graphs)):
        try:
            found.append(graph_of(graphs, number))
        except ValueError as error:
            failures.append(Failure(start + number, str(error), over_limit=False))
        else:
            numbers.append(number)

    def ragged() -> RaggedGraphs:
        plain = [replace(graph, positions=None) for graph in found]  # which some may lack
        return FlatGraphs.from_graphs(plain, "graphs").ragged()

    brought = any(graph.cells is not None for graph in found)
    return _Valid(numbers, found.__getitem__, ragged, brought, tuple(failures))


def _together(
    valid: _Valid, start: int, lifting: CollectiveLifting, encodings: Sequence[Encoding]
) -> Made:
    """All rows at once; raises whatever the lifting or an encoding raises."""
    if not valid.numbers:
        return Made(None, valid.failures)
    lifted = lifting.many(valid.ragged())
    _check(lifted, lifting, len(valid.numbers))
    over = [
        Failure(start + valid.numbers[i], str(limit_error(valid.graph(i), reason)), over_limit=True)
        for i, reason in lifted.over_limit.items()
    ]
    failures = tuple(sorted((*valid.failures, *over), key=lambda failure: failure.row))
    if not len(lifted.complexes):
        return Made(None, failures)
    return Made(encode_many(lifted.complexes, encodings), failures)


def _check(lifted: object, lifting: CollectiveLifting, graphs: int) -> None:
    """Raises TypeError or ValueError unless every graph has a complex or a reason."""
    if not isinstance(lifted, Lifted):
        raise TypeError(
            f"many() of {lifting!r} must return Lifted, it returned {type(lifted).__name__}"
        )
    if len(lifted.complexes) + len(lifted.over_limit) != graphs:
        raise ValueError(
            f"many() of {lifting!r} returned {len(lifted.complexes)} complexes and "
            f"{len(lifted.over_limit)} graphs over a limit for {graphs} graphs"
        )


def _encoded_together(
    valid: _Valid, start: int, lifting: Lifting, encodings: Sequence[Encoding]
) -> Made:
    """Each row lifted alone, then all encoded at once; raises whatever an encoding raises."""
    lifted = _one_by_one(valid, start, lifting, ())
    if lifted.complexes is None:
        return lifted
    return replace(lifted, complexes=encode_many(lifted.complexes, encodings))


def _one_by_one(valid: _Valid, start: int, lifting: Lifting, encodings: Sequence[Encoding]) -> Made:
    complexes: list[CellComplex] = []
    failures = list(valid.failures)
    for i, number in enumerate(valid.numbers):
        graph = valid.graph(i)
        try:
            complexes.append(encode(lift(graph, lifting), encodings))
        except LiftingLimitError as error:
            failures.append(Failure(start + number, str(error), over_limit=True))
        except Exception as error:
            raise unmade(graph, start + number, error) from error
    failures.sort(key=lambda failure: failure.row)
    return Made(RaggedComplexes.from_complexes(complexes) if complexes else None, tuple(failures))


def unmade(graph: Graph, row: int, error: Exception) -> PreparationError:
    """What is raised where a lifting or an encoding raises something."""
    return PreparationError(
        f"row {row} (counted from 0), graph {graph.name!r} with {graph.num_vertices} vertices and "
        f"{graph.num_edges} edges: {type(error).__name__}: {error}",
        row,
    )


def _described(made: Made, graphs: GraphSequence, start: int) -> Made:
    """The complexes with what is computed of their graphs as wholes; rows without it fail."""
    if made.complexes is None:
        return made
    failed = [failure.row - start for failure in made.failures]
    rows = np.setdiff1d(np.arange(len(graphs)), failed)
    try:
        described = descriptors_of(graphs, rows)
    except ValueError:
        found = {row: _undescribed(graphs, row) for row in rows.tolist()}
        reasons = {row: reason for row, reason in found.items() if reason is not None}
        kept = np.array([row not in reasons for row in rows.tolist()])
        more = [Failure(start + row, reason, over_limit=False) for row, reason in reasons.items()]
        failures = tuple(sorted((*made.failures, *more), key=lambda failure: failure.row))
        if not kept.any():
            return Made(None, failures)
        complexes = made.complexes.take(np.flatnonzero(kept))
        return _described(Made(complexes, failures), graphs, start)
    return replace(made, complexes=replace(made.complexes, descriptors=described))


def _undescribed(graphs: GraphSequence, row: int) -> str | None:
    """Why a row has no description, if it has none."""
    try:
        descriptors_of(graphs, np.array([row]))
    except ValueError as error:
        return str(error)
    return None
