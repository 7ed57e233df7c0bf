"""Predictions for cells, as rows of a table."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from cellformer.data.preparing.prepare import Prepared


def cell_rows(prepared: Prepared | None, rank: int, rows: int) -> pd.DataFrame:
    """A row for each cell that has a prediction, and one for each complex that has none.

    ``row`` is the number of the complex in its source, ``cell`` that of the cell; ``place`` is the
    row of the model's outputs, -1 where there is none.
    """
    if prepared is None or rank >= len(prepared.complexes.ranks):
        return pd.DataFrame({"row": range(rows), "cell": [None] * rows, "place": [-1] * rows})
    counts = np.diff(prepared.complexes.ranks[rank].offsets)
    total = int(counts.sum())
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    found = pd.DataFrame(
        {
            "row": np.repeat(prepared.rows, counts),
            "cell": pd.array(np.arange(total) - starts, dtype="Int64"),
            "place": np.arange(total),
        }
    )
    lost = np.setdiff1d(np.arange(rows), prepared.rows[counts > 0])
    rest = pd.DataFrame(
        {
            "row": lost,
            "cell": pd.array([pd.NA] * len(lost), dtype="Int64"),
            "place": np.full(len(lost), -1),
        }
    )
    return pd.concat([found, rest]).sort_values(["row", "place"], ignore_index=True)


def spread_outputs(
    outputs: Float[np.ndarray, "cell output"], frame: pd.DataFrame
) -> Float[np.ndarray, "row output"]:
    """The outputs of each row of `cell_rows`; NaN where there is none."""
    places = frame["place"].to_numpy()
    rows = np.full((len(frame), outputs.shape[1]), np.nan)
    rows[places >= 0] = outputs[places[places >= 0]]
    return rows
