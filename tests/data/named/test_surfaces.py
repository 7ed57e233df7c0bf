"""Sets of manifolds that make themselves."""

from random import Random

import numpy as np
import pytest

import cellformer as cf
from cellformer.complexes.homology import (
    betti_numbers,
    euler_characteristic,
    is_closed_manifold,
    is_orientable,
)
from cellformer.data.named import surfaces
from cellformer.data.named.catalogue import named_set
from cellformer.data.named.surfaces import MANIFOLDS, SURFACES, Triangulated, open_surfaces
from cellformer.data.named.triangulations import Growing
from cellformer.lifting.simplices import simplicial_complex

FEW = {name: SURFACES[name] for name in ("sphere", "torus", "projective plane", "Klein bottle")}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Small sets, and an empty cache."""
    few = {"3-sphere": MANIFOLDS["3-sphere"], "RP2 x S1": MANIFOLDS["projective plane x circle"]}
    monkeypatch.setattr(
        surfaces,
        "SURFACE_SETS",
        {
            "surfaces": Triangulated(FEW, 5, (12, 16)),
            "surfaces-10x": Triangulated(FEW, 5, (12, 16), test_times=3),
            "3-manifolds": Triangulated(few, 5, (20, 22)),
        },
    )
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", [*SURFACES, *MANIFOLDS])
def test_moves_change_the_triangulation_and_nothing_else(name):
    made = (SURFACES | MANIFOLDS)[name]
    before = simplicial_complex(made())
    vertices = before.num_vertices + 6
    simplices = Growing(made(), Random(3)).grow(vertices)
    after = simplicial_complex(simplices)
    assert after.num_vertices == vertices
    assert is_closed_manifold(after)
    assert euler_characteristic(after) == euler_characteristic(before)
    for coefficients in ("Q", "Z2"):
        assert betti_numbers(after, coefficients) == betti_numbers(before, coefficients)
    assert simplices != Growing(made(), Random(4)).grow(vertices)


def test_a_set_is_the_same_each_time_and_kept(small):
    first = open_surfaces("surfaces")
    kept = list(small.rglob("*.npz"))
    assert len(kept) == 1
    assert open_surfaces("surfaces").graphs.digest() == first.graphs.digest()
    kept[0].write_bytes(kept[0].read_bytes()[:100])
    assert open_surfaces("surfaces").graphs.digest() == first.graphs.digest()
    assert open_surfaces("surfaces", seed=1).graphs.digest() != first.graphs.digest()


def test_orientability_is_that_of_each_complex(small):
    for name in ("surfaces", "3-manifolds"):
        opened = open_surfaces(name)
        assert opened.task.labels == ("no", "yes")
        told = [opened.task.labels[int(value)] == "yes" for value in opened.targets[:, 0]]
        assert told == [is_orientable(cells) for cells in opened.graphs.complexes]
        assert len(set(told)) == 2


def test_numbers_of_cells_do_not_tell_who_can_be_oriented(small):
    opened = open_surfaces("surfaces")
    by_number = {}
    for cells, value in zip(opened.graphs.complexes, opened.targets[:, 0], strict=True):
        by_number.setdefault(euler_characteristic(cells), set()).add(float(value))
    assert by_number[0] == {0.0, 1.0}


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        ("name", ("Klein bottle", "projective plane", "sphere", "torus")),
        ("genus", (0, 1, 2)),
        ("betti_1", (0, 1, 2)),
        ("betti_2", (0, 1)),
        ("betti_1_mod_2", (0, 1, 2)),
    ],
)
def test_other_targets_are_what_topology_says(target, labels, small):
    opened = open_surfaces("surfaces", [target])
    assert opened.task.labels == labels
    told = [opened.task.labels[int(value)] for value in opened.targets[:, 0]]
    for cells, value in zip(opened.graphs.complexes, told, strict=True):
        rational, modulo_2 = betti_numbers(cells), betti_numbers(cells, "Z2")
        handles = 2 - euler_characteristic(cells)
        expected = {
            "name": cells.name,
            "genus": handles // 2 if rational[2] else handles,
            "betti_1": rational[1],
            "betti_2": rational[2],
            "betti_1_mod_2": modulo_2[1],
        }
        assert value == expected[target]


def test_the_test_part_may_be_larger(small):
    opened = open_surfaces("surfaces-10x")
    vertices = np.array([cells.num_vertices for cells in opened.graphs.complexes])
    assert vertices[opened.split["test"]].min() >= 36
    assert vertices[opened.split["train"]].max() <= 16


def test_what_cannot_be_asked_is_named(small):
    with pytest.raises(ValueError, match="orientable"):
        cf.open_source("surfaces", target="orientabel")
    with pytest.raises(ValueError, match="target"):
        cf.open_source("3-manifolds", target="genus")
    with pytest.raises(ValueError, match="one target at a time"):
        cf.open_source("surfaces", target=["genus", "name"])
    trained = cf.open_source("surfaces", target="genus").task
    assert cf.open_source("surfaces", task=trained).task == trained


def test_there_is_nothing_to_fetch():
    with pytest.raises(ValueError, match="surfaces needs no fetching"):
        named_set("surfaces")
