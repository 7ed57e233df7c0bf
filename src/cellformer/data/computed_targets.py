"""Targets that are computed from the graphs themselves, to learn from without labels."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float32, Int64, UInt8

from cellformer.chemistry.computed import computed_fragments, computed_names, computed_values
from cellformer.data.dataset import GraphSet, SmilesList, Task
from cellformer.data.preparing.molecule_values import molecule_values

REACH = 5.0
"""Deviations from the mean at which values are clipped: some descriptors have far outliers."""
SIZES = ("log_vertices", "log_edges")
"""Of graphs that are no molecules: log(1 + n) of the numbers of both."""


def with_computed_targets(source: GraphSet, *, fragments: int = 0, workers: int = 0) -> GraphSet:
    """The set with what can be computed of its graphs in place of its own targets.

    Of molecules given as SMILES these are RDKit's descriptors and counts of fragments, and of other
    graphs the `SIZES`, as nothing else is known of all: in deviations from the mean of the set,
    clipped at `REACH`. What is the same for all graphs is left out, and what RDKit cannot compute
    is missing. Of molecules, ``fragments`` more targets are counts of fragments within two bonds,
    those columns of `computed_fragments` in which molecules differ most. ``workers`` processes
    compute, and what they computed is kept in the cache. A split of graphs stays, one of cells
    does not.
    """
    if isinstance(source.graphs, SmilesList):
        values = molecule_values(
            "Computing descriptors", computed_values, source.graphs.smiles, workers=workers
        )
        names = computed_names()
        if fragments:
            counts = molecule_values(
                "Counting fragments", computed_fragments, source.graphs.smiles, workers=workers
            )
            own, columns = _telling(counts, fragments)
            own[np.isnan(values).all(axis=1)] = np.nan
            values = np.hstack([values, own])
            names = (*names, *(f"fragment_{column}" for column in columns))
    else:
        values, names = _sizes(source), SIZES
    scaled, varying = _standardized(values)
    return replace(
        source,
        targets=scaled,
        task_or_none=Task("regression", tuple(names[place] for place in varying), "mae"),
        cell_offsets=None,
        cell_split=None,
        bounds=None,
    )


def _telling(
    counts: UInt8[np.ndarray, "molecule column"], number: int
) -> tuple[Float32[np.ndarray, "molecule kept"], Int64[np.ndarray, " kept"]]:
    """The counts of the columns that are nearest to being in half of the molecules, and these."""
    share = (counts > 0).mean(axis=0)
    kept = np.sort(np.argsort(-share * (1 - share), kind="stable")[:number])
    return counts[:, kept].astype(np.float32), kept


def _sizes(source: GraphSet) -> Float32[np.ndarray, "row size"]:
    rows = np.full((len(source), len(SIZES)), np.nan, np.float32)
    for row in range(len(source)):
        try:
            graph = source.graph(row)
        except ValueError:  # preparation tells why
            continue
        rows[row] = np.log1p([graph.num_vertices, graph.num_edges])
    return rows


def _standardized(
    values: Float32[np.ndarray, "row value"],
) -> tuple[Float32[np.ndarray, "row varying"], Int64[np.ndarray, " varying"]]:
    """The values of the columns that have different ones, and these columns; the first of none."""
    present = np.isfinite(values)
    known = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0).sum(axis=0, dtype=np.float64) / known
    apart = values - mean
    deviation = np.sqrt(np.where(present, apart**2, 0).sum(axis=0) / known)
    varying = np.flatnonzero(deviation > 0)
    varying = varying if len(varying) else np.zeros(1, np.int64)
    scaled = apart[:, varying] / np.maximum(deviation[varying], np.finfo(np.float64).tiny)
    return np.clip(scaled, -REACH, REACH).astype(np.float32), varying
