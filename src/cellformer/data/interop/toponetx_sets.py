"""Lists of TopoNetX complexes as graph sets."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, Kind, Metric
from cellformer.data.interop.toponetx_complex import AnyTopoNetX, complex_of
from cellformer.data.targets import Value, encode_targets, kind_of_values, make_task


def from_toponetx_list(
    complexes: Sequence[AnyTopoNetX],
    y: ArrayLike | None = None,
    features: Sequence[Sequence[str]] = (),
    positions: str | None = None,
    split: Mapping[str, ArrayLike] | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    name: str = "complexes",
) -> GraphSet:
    """The complexes in their order, to be prepared with their own cells (`OwnCells`).

    ``y`` has one value or one row of values per complex: fractions are a regression, whole numbers
    and words classes, unless ``kind`` says otherwise; NaN marks a missing one. ``features[k]``
    names the attributes of cells of rank k that become features. All three kinds of complex may
    occur; see `from_toponetx`, `from_simplicial` and `from_combinatorial` for what becomes of each.
    Raises ValueError, naming the complex by its number, where one cannot be read, and where
    lengths do not fit.

    TopoNetX's own files are pickles, which are not read here as that could run code, or lists of
    atoms that do not say which kind of complex they hold: load these with TopoNetX.
    """
    made = [
        complex_of(one, features, positions, f"{name}[{row}]") for row, one in enumerate(complexes)
    ]
    if y is None:
        return complex_set(made, split=split, name=name)
    values = np.asarray(y)
    rows = values[:, None] if values.ndim == 1 else values
    if rows.ndim != 2 or len(rows) != len(made):
        raise ValueError(f"{name}: y has shape {values.shape} for {len(made)} complexes")
    names = ["y"] if rows.shape[1] == 1 else [f"y{column}" for column in range(rows.shape[1])]
    columns: dict[str, list[Value]] = {
        word: [None if value != value else value for value in rows[:, at].tolist()]
        for at, word in enumerate(names)
    }
    task = make_task(columns, kind or kind_of_values(columns, name), metric, name)
    return complex_set(made, encode_targets(columns, task, name), task, split, name)
