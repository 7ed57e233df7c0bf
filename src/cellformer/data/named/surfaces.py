"""Sets of triangulated manifolds that make themselves, with what topology knows of each.

Whether a surface can be oriented is not decided by its numbers of cells, nor by anything that the
numbers of neighbors tell: moves that change the triangulation at random hide where it came from.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
from jaxtyping import Int32

from cellformer.basics.archives import kept_arrays
from cellformer.basics.cache import cache_entry
from cellformer.basics.files import replace_atomically
from cellformer.basics.progress import progress
from cellformer.basics.suggestions import unknown_choice
from cellformer.complexes.homology import betti_numbers, euler_characteristic, is_closed_manifold
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, Kind, Label, Metric, Task
from cellformer.data.named.triangulations import (
    Growing,
    Simplex,
    boundary_of_simplex,
    connected_sum,
    projective_plane,
    times_circle,
    torus,
)
from cellformer.data.splitting.splits import random_split
from cellformer.lifting.simplices import simplicial_complex

VERSION = 1
SHARES = 0.8, 0.1, 0.1

Maker: TypeAlias = Callable[[], list[Simplex]]
Simplices: TypeAlias = Int32[np.ndarray, "simplex corner"]


def _sum_of(part: Maker, number: int) -> Maker:
    return lambda: reduce(connected_sum, [part() for _ in range(number)])


def _product(surface: Maker) -> Maker:
    return lambda: times_circle(surface())


SPHERE, TORUS, PLANE = (lambda: boundary_of_simplex(2)), torus, projective_plane
SURFACES: dict[str, Maker] = {
    "sphere": SPHERE,
    "torus": TORUS,
    "double torus": _sum_of(TORUS, 2),
    "triple torus": _sum_of(TORUS, 3),
    "projective plane": PLANE,
    "Klein bottle": _sum_of(PLANE, 2),
    "three projective planes": _sum_of(PLANE, 3),
    "four projective planes": _sum_of(PLANE, 4),
    "five projective planes": _sum_of(PLANE, 5),
    "six projective planes": _sum_of(PLANE, 6),
}
"""Every Euler characteristic of a surface that can be oriented has one that cannot, but 2."""
MANIFOLDS: dict[str, Maker] = {
    "3-sphere": lambda: boundary_of_simplex(3),
    "sphere x circle": _product(SPHERE),
    "torus x circle": _product(TORUS),
    "projective plane x circle": _product(PLANE),
    "Klein bottle x circle": _product(SURFACES["Klein bottle"]),
}


@dataclass(frozen=True)
class Triangulated:
    """A set: which manifolds, how many of each, and of how many vertices they are.

    Args:
        manifolds: Each by its name.
        each: The number of triangulations of each.
        vertices: The fewest and the most of each.
        test_times: So many times as many vertices have those of the test part.
    """

    manifolds: dict[str, Maker]
    each: int
    vertices: tuple[int, int]
    test_times: int = 1


SURFACE_SETS = {
    "surfaces": Triangulated(SURFACES, 60, (24, 48)),
    "surfaces-10x": Triangulated(SURFACES, 60, (24, 48), test_times=10),
    "3-manifolds": Triangulated(MANIFOLDS, 60, (32, 48)),
}


def open_surfaces(
    name: str,
    targets: Sequence[str] | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> GraphSet:
    """A set of `SURFACE_SETS`, the same for the same seed, made once and kept in the cache.

    Every item was checked to be a closed manifold. The target is orientable (whether it can be
    oriented), unless another is given: name; genus (of a surface that cannot be oriented, the
    number of projective planes); betti_1 and betti_2 over the rationals, betti_1_mod_2; all of them
    classes. Vertices have no features and no places. Raises ValueError for another target.
    """
    chosen = SURFACE_SETS[name]
    invariants = {word: known(word, made) for word, made in chosen.manifolds.items()}
    allowed = tuple(next(iter(invariants.values())))
    wanted = tuple(targets or (() if task is None else task.targets) or allowed[:1])
    if len(wanted) > 1:
        raise ValueError(f"{name} has one target at a time, got {', '.join(wanted)}")
    if wanted[0] not in allowed:
        raise unknown_choice("target", wanted[0], allowed)
    words = [word for word in chosen.manifolds for _ in range(chosen.each)]
    split = random_split(len(words), SHARES, seed)
    tested = set(split["test"].tolist())
    kept = cache_entry("sources", f"{name}-{seed}-{VERSION}.npz", cache_dir)
    simplices = _read(kept, len(words))
    if simplices is None:
        times = [chosen.test_times if row in tested else 1 for row in range(len(words))]
        simplices = _triangulate(chosen, words, times, f"{name} {seed}", kept)
    complexes = [
        simplicial_complex(given, word) for given, word in zip(simplices, words, strict=True)
    ]
    values = [invariants[word][wanted[0]] for word in words]
    if task is None:
        labels = tuple(sorted(set(values), key=lambda label: (str(type(label)), label)))
        kind: Kind = "binary" if len(labels) == 2 else "multiclass"
        task = Task(kind, wanted, metric or "accuracy", labels)
    numbers = [task.labels.index(value) for value in values]
    return complex_set(complexes, numbers, task, split, name)


def _triangulate(
    chosen: Triangulated, words: Sequence[str], times: Sequence[int], seed: str, kept: Path
) -> list[Simplices]:
    found = []
    with progress(f"Triangulating {len(words)} manifolds", len(words)) as advance:
        for row, (word, multiple) in enumerate(zip(words, times, strict=True)):
            rng = Random(f"{seed} {row}")  # a text seeds alike on every machine
            vertices = multiple * rng.randint(*chosen.vertices)
            simplices = np.array(Growing(chosen.manifolds[word](), rng).grow(vertices), np.int32)
            if not is_closed_manifold(simplicial_complex(simplices)):
                raise ValueError(f"a triangulation of the {word} is no manifold; please report it")
            found.append(simplices)
            advance(1)
    offsets = np.cumsum([0, *map(len, found)])
    with replace_atomically(kept, durable=False) as unfinished, unfinished.open("wb") as stream:
        np.savez(stream, allow_pickle=False, simplices=np.concatenate(found), offsets=offsets)
    return found


def _read(kept: Path, count: int) -> list[Simplices] | None:
    """What was triangulated before; None where that is not kept."""
    arrays = kept_arrays(kept)
    if arrays is None or not {"simplices", "offsets"} <= set(arrays):
        return None
    offsets = arrays["offsets"]
    if len(offsets) != count + 1:
        return None
    return np.split(arrays["simplices"], offsets[1:-1].tolist())


def known(name: str, made: Maker) -> dict[str, Label]:
    """What topology knows of a manifold, computed for the triangulation with few vertices."""
    cells = simplicial_complex(made(), name)
    rational, modulo_2 = betti_numbers(cells, "Q"), betti_numbers(cells, "Z2")
    orientable = rational[-1] == modulo_2[-1]
    told: dict[str, Label] = {"orientable": "yes" if orientable else "no", "name": name}
    if cells.dim == 2:
        handles = 2 - euler_characteristic(cells)
        told["genus"] = handles // 2 if orientable else handles
    return told | {
        "betti_1": rational[1],
        "betti_2": rational[2],
        "betti_1_mod_2": modulo_2[1],
    }
