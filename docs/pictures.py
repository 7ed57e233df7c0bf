"""Draws the picture of the README: python docs/pictures.py (from the root of the repository)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import cellformer as cf
from cellformer.complexes.examples import torus_grid

ROWS, COLUMNS = 12, 30


def torus() -> cf.CellComplex:
    """A grid of squares closed to a torus, placed in space."""
    cells = torus_grid(ROWS, COLUMNS)
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    around, along = 2 * np.pi * row / ROWS, 2 * np.pi * column / COLUMNS
    radius = 2.4 + np.cos(around)
    places = np.stack([radius * np.cos(along), radius * np.sin(along), np.sin(around)], axis=1)
    return cf.CellComplex.from_boundaries(cells.boundaries, positions=places)


def main() -> None:
    """Caffeine, a graph of the GCB task, and a torus."""
    smiles = "Cn1cnc2c1c(=O)n(C)c(=O)n2C"
    caffeine = cf.lift(cf.Graph.from_smiles(smiles), cf.Rings())
    graph = replace(cf.open_source("gcb-hard-small").graph(4), positions=None)  # laid out anew
    cloud = cf.lift(graph, cf.CycleBasis())
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, cells, title, places in (
        (axes[0], caffeine, "a molecule and its rings", cf.molecule_positions(smiles)),
        (axes[1], cloud, "a graph and its cycles", None),
        (axes[2], torus(), "a mesh and its faces", None),
    ):
        cf.draw_complex(cf.encode(cells, cf.BSPe(8)), positions=places, ax=ax, title=title)
    figure.savefig(Path("docs/images/cells.png"), dpi=110)


if __name__ == "__main__":
    main()
