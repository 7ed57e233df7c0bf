"""How often the largest ring of the cycle basis gives the ring term of ZINC's target exactly.

    CELLFORMER_DATA=folder python -m benchmarks.ring_term --out results/zinc/ring-term.json

The target of ZINC is a sum of three terms; one of them is minus max(0, n - 6), standardized, where
n is the length of the longest cycle of a cycle basis. The graphs of the set are lifted by
`CycleBasis`, as the preset does it, and what their largest 2-cell gives is compared with the column
``excess_ring`` of zinc/zinc12k.csv.gz in the folder of ``CELLFORMER_DATA``.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pandas as pd

from benchmarks.timing import data_folder
from cellformer.complexes.graph import Graph
from cellformer.data.sources import open_source
from cellformer.lifting.cycle_basis import CycleBasis

FREE = 6
"""Rings up to this size cost nothing."""


@dataclass(frozen=True)
class RingTerm:
    """Of some molecules."""

    molecules: int
    """How many."""
    exact: int
    """How many of them have the term that their largest ring gives."""
    zero: int
    """How many have the term 0, as most do."""
    exact_of_others: int
    """How many have another term, and it is the one that their largest ring gives."""


def main() -> None:
    """Prints the shares, and writes the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="also write the counts to this JSON file")
    out = parser.parse_args().out
    table = pd.read_csv(data_folder() / "zinc" / "zinc12k.csv.gz")
    graphs = open_source("zinc").graphs
    counts = {}
    for part in ("train", "val", "test"):
        rows = [row for row, of in enumerate(table["split"]) if of == part]
        terms = table["excess_ring"].to_numpy()[rows].tolist()
        counts[part] = compared((graphs.graph(row) for row in rows), terms)
    counts["all"] = RingTerm(
        **{
            field.name: sum(getattr(found, field.name) for found in counts.values())
            for field in fields(RingTerm)
        }
    )
    for part, found in counts.items():
        print(
            f"{part}: {found.exact:,} of {found.molecules:,} molecules "
            f"({100 * found.exact / found.molecules:.1f} %); the term is 0 for {found.zero:,}, and "
            f"exact for {found.exact_of_others:,} of the {found.molecules - found.zero:,} others"
        )
    if out is not None:
        told = {part: asdict(found) for part, found in counts.items()}
        out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def compared(graphs: Iterable[Graph], terms: Sequence[float]) -> RingTerm:
    """The terms of some molecules beside what their largest rings give."""
    given = [max(0, largest_ring(graph) - FREE) for graph in graphs]
    exact = [term for own, term in zip(given, terms, strict=True) if own == term]
    others = [term for term in exact if term != 0]
    return RingTerm(len(terms), len(exact), sum(term == 0 for term in terms), len(others))


def largest_ring(graph: Graph) -> int:
    """The length of the longest cycle of the basis; 0 where there is none."""
    cells = CycleBasis()(graph)
    if len(cells.boundaries) < 2 or not cells.boundaries[1].shape[1]:
        return 0
    return int(abs(cells.boundaries[1]).sum(axis=0).max())


if __name__ == "__main__":
    main()
