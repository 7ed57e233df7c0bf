"""What a notebook shows of a graph or a complex: a picture, of a molecule as chemists draw it."""

import io
from typing import Any

import matplotlib
import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.molecule import (
    atom_symbols,
    bond_orders,
    hetero_labels,
    molecule_positions,
)
from cellformer.lifting.lift import lift
from cellformer.lifting.skeleton import Skeleton

MOST_CELLS = 2000
"""Of a complex that is drawn without being asked to."""
INCHES = 3.2


def picture(shown: Graph | CellComplex) -> str | None:
    """An <svg> element on a light ground; None for what has too many cells, or none."""
    if isinstance(shown, Graph):
        shown = lift(shown, Skeleton())
    if not 0 < sum(shown.num_cells) <= MOST_CELLS:
        return None
    figure = draw_complex(shown, size=INCHES, **_of_molecule(shown))
    target = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "cellformer"}):
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    text = target.getvalue()
    return text[text.index("<svg") :]


def _of_molecule(cells: CellComplex) -> dict[str, Any]:
    """What `draw_complex` is told of a molecule, if the name is its SMILES; else nothing."""
    if cells.positions is not None or not cells.name:
        return {}
    try:
        graph = Graph.from_smiles(cells.name)
        positions = molecule_positions(cells.name)
    except ValueError:
        return {}
    own = Graph.of_complex(cells)
    if own.num_vertices != graph.num_vertices or not np.array_equal(own.edges, graph.edges):
        return {}
    return {
        "positions": positions,
        "labels": hetero_labels(atom_symbols(cells.name)),
        "orders": bond_orders(cells.name, cells),
    }
