"""What a run predicts for its own validation and test data."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.dataset import GraphSequence, SmilesList
from cellformer.data.preparation import Preparation
from cellformer.drawing.molecule import (
    atom_symbols,
    bond_orders,
    hetero_labels,
    molecule_positions,
)
from cellformer.drawing.sketch import sketch
from cellformer.lifting.lift import lift
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.materials.materials import Materials, gather

MOST_VERTICES = 400
"""Of a complex that is sketched."""


@dataclass(frozen=True, eq=False)
class ScoredPart:
    """One part of the data: its rows in the source, what is true, and what is predicted.

    Where cells are predicted, each stands for itself, with the row of its complex and its number
    there.
    """

    rows: Int64[np.ndarray, " row"]
    targets: Float[np.ndarray, "row target"]
    outputs: Float[np.ndarray, "row output"]
    cells: Int64[np.ndarray, " row"] | None = None

    def of_complex(self, row: int) -> "ScoredPart":
        """What belongs to one row of the source."""
        own = self.rows == row
        cells = None if self.cells is None else self.cells[own]
        return ScoredPart(self.rows[own], self.targets[own], self.outputs[own], cells)


@dataclass(frozen=True, eq=False)
class RunOutcome:
    """The parts of a run's data, and how to draw a row of them."""

    parts: dict[str, ScoredPart]
    materials: Materials
    preparation: Preparation

    @property
    def rows(self) -> Int64[np.ndarray, " complex"]:
        """Of the source, for every complex."""
        return self.materials.rows

    @property
    def graphs(self) -> GraphSequence:
        """Those of all rows."""
        return self.materials.graphs

    def smiles(self, row: int) -> str | None:
        """The molecule of a row, where the rows are molecules."""
        return self.graphs.smiles[row] if isinstance(self.graphs, SmilesList) else None

    def drawn(self, row: int) -> str | None:
        """The same with the atoms in the order of its vertices, to draw it."""
        return self.graphs.in_graph_order(row) if isinstance(self.graphs, SmilesList) else None

    def complex_of(self, row: int) -> CellComplex:
        """The complex of a row of the source; without encodings where it was cut into patches."""
        if self.materials.patches is not None:
            return lift(self.graphs.graph(row), self.preparation.whole_lifting)
        return self.materials.complexes[int(np.flatnonzero(self.rows == row)[0])]

    def labeled(self, part: str) -> int:
        """How many predictions of a part have a truth: its complexes, or cells."""
        known = self.materials.complexes.targets_of(self.materials.split[part])
        return int(np.isfinite(known).any(axis=1).sum())

    def truth_of(self, row: int) -> Float[np.ndarray, "cell target"]:
        """Of the cells of a row of the source, whatever part they belong to; NaN where unknown."""
        copies, rank = np.flatnonzero(self.rows == row), self.materials.task.rank
        targets = self.materials.complexes.targets_of(copies)
        if rank is None:
            return np.asarray(targets, np.float32)
        _, cells, counting = self.materials.cells_of(copies, rank)
        known = np.full((cells.max(initial=-1) + 1, targets.shape[1]), np.nan, np.float32)
        np.fmax.at(known, cells[counting], targets[counting])
        return known

    def drawing(self, row: int, description: str) -> str:
        """A sketch of a row's complex, or nothing if it is too large."""
        cells = self.complex_of(row)
        if cells.num_vertices > MOST_VERTICES:
            return ""
        smiles = self.drawn(row)
        if smiles is None:
            return sketch(cells, self.graphs.graph(row).positions, None, description)
        labels = hetero_labels(atom_symbols(smiles))
        return sketch(
            cells, molecule_positions(smiles), labels, description, bond_orders(smiles, cells)
        )


def outcome_of(run: TrainedRun) -> RunOutcome:
    """Opens the run's data and predicts its validation and test parts.

    Raises what `gather` raises where the data are no longer there.
    """
    materials = gather(run.config.data, preparation=run.preparation)
    complexes, rank = materials.complexes, materials.task.rank

    def part_of(chosen: Int64[np.ndarray, " chosen"]) -> ScoredPart:
        targets, outputs = complexes.targets_of(chosen), run.outputs(complexes, chosen)
        if rank is None:
            return ScoredPart(materials.rows[chosen], targets, outputs)
        rows, cells, counting = materials.cells_of(chosen, rank)
        return ScoredPart(rows[counting], targets[counting], outputs[counting], cells[counting])

    parts = {
        part: part_of(chosen)
        for part, chosen in materials.split.items()
        if part in ("val", "test") and len(chosen)
    }
    return RunOutcome(parts, materials, run.preparation)
