"""What a run predicts for its own validation and test data."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.dataset import GraphSequence, SmilesList
from cellformer.drawing.molecule import atom_symbols, hetero_labels, molecule_positions
from cellformer.drawing.sketch import sketch
from cellformer.training.materials import Materials, gather
from cellformer.training.trained import TrainedRun

MOST_VERTICES = 400
"""Of a complex that is sketched."""


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the data: its rows in the source, what is true, and what is predicted."""

    rows: Int64[np.ndarray, " row"]
    targets: Float32[np.ndarray, "row target"]
    outputs: Float32[np.ndarray, "row output"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The parts of a run's data, and how to draw a row of them."""

    parts: dict[str, Part]
    materials: Materials
    rows: Int64[np.ndarray, " complex"]  # of the source, for every complex
    graphs: GraphSequence

    def smiles(self, row: int) -> str | None:
        """The molecule of a row, where the rows are molecules."""
        return self.graphs.smiles[row] if isinstance(self.graphs, SmilesList) else None

    def complex_of(self, row: int) -> CellComplex:
        """The complex of a row of the source."""
        return self.materials.complexes[int(np.searchsorted(self.rows, row))]

    def drawing(self, row: int, description: str) -> str:
        """A sketch of a row's complex, or nothing if it is too large."""
        cells = self.complex_of(row)
        if cells.num_vertices > MOST_VERTICES:
            return ""
        smiles = self.smiles(row)
        if smiles is None:
            return sketch(cells, self.graphs.graph(row).positions, None, description)
        labels = hetero_labels(atom_symbols(smiles))
        return sketch(cells, molecule_positions(smiles), labels, description)


def outcome_of(run: TrainedRun) -> Outcome:
    """Opens the run's data and predicts its validation and test parts.

    Raises what `gather` raises where the data are no longer there.
    """
    config = run.config.data
    materials = gather(config)
    graphs = run.open_rows(config.source, labeled=False, smiles_column=None).graphs
    failed = [row for row, _ in materials.failures]
    rows = np.setdiff1d(np.arange(len(graphs)), failed)
    targets = materials.complexes.targets
    assert targets is not None
    parts = {
        part: Part(rows[chosen], targets[chosen], run.outputs(materials.complexes, chosen))
        for part, chosen in materials.split.items()
        if part in ("val", "test") and len(chosen)
    }
    return Outcome(parts, materials, rows, graphs)
