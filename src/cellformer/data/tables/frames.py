"""New columns for a data frame of the user's, in the library that the user works with."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int64
from numpy.typing import NDArray

from cellformer.data.tables.table import ArrowFrame, Table


def attach(
    frame: pd.DataFrame | ArrowFrame,
    added: Mapping[str, Sequence[Any] | NDArray[Any]],
    kept: Int64[np.ndarray, " kept"] | None = None,
) -> Any:
    """A new frame of the rows ``kept``, or all, with further columns, each under a free name.

    A polars frame gives a polars frame, any other a pandas one, whose index is kept. NaN becomes
    a missing value.
    """
    polars = sys.modules.get("polars")  # nobody has a frame of it who has not imported it
    if polars is not None and isinstance(frame, polars.DataFrame):
        free = _free_names(list(frame.columns), added)
        columns = [polars.Series(n, values, nan_to_null=True) for n, values in free.items()]
        whole = frame.with_columns(columns)
        return whole if kept is None else whole[kept]
    pandas = Table.of_frame(frame).frame
    free = _free_names(list(map(str, pandas.columns)), added)
    whole = pd.concat([pandas, pd.DataFrame(free, index=pandas.index)], axis=1)
    return whole if kept is None else whole.iloc[kept]


def _free_names(
    taken: list[str], added: Mapping[str, Sequence[Any] | NDArray[Any]]
) -> dict[str, Any]:
    free: dict[str, Any] = {}
    for name, values in added.items():
        chosen, number = name, 1
        while chosen in taken or chosen in free:
            number += 1
            chosen = f"{name}_{number}"
        free[chosen] = values
    return free
