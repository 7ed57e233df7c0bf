"""Sets of fields on cells that make themselves: flows to complete, trajectories to tell apart."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Int64

from cellformer.basics.archives import kept_arrays
from cellformer.basics.cache import cache_entry
from cellformer.basics.files import replace_atomically
from cellformer.basics.progress import progress
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, Metric, Task
from cellformer.data.named.benchmark_set import posing
from cellformer.data.named.drawn_fields import CLASSES, Field, draw_field, draw_trajectory
from cellformer.data.named.planar import Sea
from cellformer.data.splitting.splits import random_split

VERSION = 1
SHARES = 0.8, 0.1, 0.1

Draw: TypeAlias = Callable[[np.random.Generator, int], Field]


@dataclass(frozen=True)
class FieldSet:
    """A set: how many items, how one is drawn, and what is to be learned of it.

    Args:
        items: The number of complexes.
        number: Of the set, for what is drawn at random.
        draw: One item, from its row.
        task: What is learned.
    """

    items: int
    number: int
    draw: Draw
    task: Task


FIELD_SETS = {
    "flows": FieldSet(
        1000,
        0,
        lambda rng, row: draw_field(rng),
        Task("regression", ("flow",), "mae", rank=1, flips=True),
    ),
    "trajectories": FieldSet(
        1200,
        1,
        lambda rng, row: draw_trajectory(rng, row % len(CLASSES)),
        Task("multiclass", ("holes",), "accuracy", CLASSES),
    ),
}


def open_fields(
    name: str,
    metric: Metric | None = None,
    task: Task | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> GraphSet:
    """A set of `FIELD_SETS`, the same for the same seed, made once and kept in the cache.

    In "flows" the edges have a signed feature, what was measured, 0 where nothing was; a category,
    whether it was; and a target that flips, the flow of the edges that were not measured. In
    "trajectories" the signed feature is how often the path goes along an edge, the category whether
    it meets it at all, and complexes have one of `CLASSES`. Vertices and triangles have no
    features.
    """
    chosen = FIELD_SETS[name]
    kept = cache_entry("sources", f"{name}-{seed}-{VERSION}.npz", cache_dir)
    fields = _read(kept, chosen.items)
    if fields is None:
        fields = []
        with progress(f"Drawing {chosen.items} {name}", chosen.items) as advance:
            for row in range(chosen.items):
                rng = np.random.default_rng([seed, chosen.number, row])
                fields.append(chosen.draw(rng, row))
                advance(1)
        _keep(fields, kept)
    complexes = [_with_features(field) for field in fields]
    targets = (
        [field.label for field in fields]
        if chosen.task.rank is None
        else [np.where(field.values[:, 2] > 0, np.nan, field.values[:, 0]) for field in fields]
    )
    split = random_split(chosen.items, SHARES, seed)
    return posing(complex_set(complexes, targets, chosen.task, split, name), metric, task)


def _with_features(field: Field) -> CellComplex:
    """The complex of a field with what a model may know of its edges."""
    cells = field.sea.complex()
    signed, category = field.values[:, -2], field.values[:, -1]
    known = Features.of(category.astype(np.int64), len(category), "edges").with_signed(signed)
    return CellComplex.unchecked(
        cells.num_vertices, cells.boundaries, [None, known, None], cells.positions
    )


def _keep(fields: Sequence[Field], kept: Path) -> None:
    seas = [field.sea for field in fields]
    arrays = {
        "points": np.concatenate([sea.points for sea in seas]),
        "triangles": np.concatenate([sea.triangles for sea in seas]),
        "holes": np.concatenate([sea.holes for sea in seas]),
        "values": np.concatenate([field.values for field in fields]),
        "labels": np.array([field.label for field in fields]),
    }
    counts = [(len(f.sea.points), len(f.sea.triangles), len(f.sea.holes), len(f.values))
              for f in fields]  # fmt: skip
    arrays["offsets"] = np.concatenate([np.zeros((1, 4), np.int64), np.cumsum(counts, axis=0)])
    with replace_atomically(kept, durable=False) as unfinished, unfinished.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _read(kept: Path, count: int) -> list[Field] | None:
    """What was drawn before; None where that is not kept."""
    arrays = kept_arrays(kept)
    names = ("points", "triangles", "holes", "values")
    if arrays is None or not {*names, "labels", "offsets"} <= set(arrays):
        return None
    offsets: Int64[np.ndarray, "item 4"] = arrays["offsets"]
    if len(offsets) != count + 1:
        return None
    points, triangles, holes, values = (
        np.split(arrays[name], offsets[1:-1, column]) for column, name in enumerate(names)
    )
    return [
        Field(Sea(*parts[:3]), parts[3], int(label))
        for *parts, label in zip(points, triangles, holes, values, arrays["labels"], strict=True)
    ]
