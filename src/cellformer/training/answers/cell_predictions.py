"""Predictions for cells, as rows of a table."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from cellformer.data.preparing.patches import numbers_of_cells
from cellformer.data.preparing.prepare import Prepared


def cell_rows(prepared: Prepared | None, rank: int, rows: int) -> pd.DataFrame:
    """A row for each cell that has a prediction, and one for each complex that has none.

    ``row`` is the number of the complex in its source, ``cell`` that of the cell; ``place`` is the
    row of the model's outputs, -1 where there is none.
    """
    if prepared is None or rank >= len(prepared.complexes.ranks):
        return pd.DataFrame({"row": range(rows), "cell": [None] * rows, "place": [-1] * rows})
    every = np.arange(len(prepared.complexes))
    cells, counting = numbers_of_cells(prepared.complexes, every, rank, prepared.patches)
    counts = prepared.complexes.num_cells[:, rank]
    found = pd.DataFrame(
        {
            "row": np.repeat(prepared.rows, counts),
            "cell": pd.array(cells, dtype="Int64"),
            "place": np.arange(len(cells)),
        }
    ).loc[counting]
    lost = np.setdiff1d(np.arange(rows), prepared.rows[counts > 0])
    rest = pd.DataFrame(
        {
            "row": lost,
            "cell": pd.array([pd.NA] * len(lost), dtype="Int64"),
            "place": np.full(len(lost), -1),
        }
    )
    return pd.concat([found, rest]).sort_values(["row", "cell"], ignore_index=True)


def spread_outputs(
    outputs: Float[np.ndarray, "cell output"], frame: pd.DataFrame
) -> Float[np.ndarray, "row output"]:
    """The outputs of each row of `cell_rows`; NaN where there is none."""
    places = frame["place"].to_numpy()
    rows = np.full((len(frame), outputs.shape[1]), np.nan)
    rows[places >= 0] = outputs[places[places >= 0]]
    return rows
