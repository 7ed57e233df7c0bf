"""Triangulations of closed surfaces and 3-manifolds, and moves that change them.

A triangulation is a set of simplices of one dimension; a simplex is a sorted tuple of vertices.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable
from random import Random

Simplex = tuple[int, ...]


def boundary_of_simplex(dim: int) -> list[Simplex]:
    """The sphere of this dimension with the fewest vertices."""
    return list(itertools.combinations(range(dim + 2), dim + 1))


def torus() -> list[Simplex]:
    """Möbius's torus of 7 vertices."""
    turns = ((0, 1, 3), (0, 2, 3))
    return [tuple(sorted((turn + i) % 7 for turn in face)) for i in range(7) for face in turns]


def projective_plane() -> list[Simplex]:
    """The hemi-icosahedron, of 6 vertices."""
    return [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5), (0, 1, 5),
            (1, 2, 4), (2, 3, 5), (1, 3, 4), (2, 4, 5), (1, 3, 5)]  # fmt: skip


def connected_sum(one: Iterable[Simplex], other: Iterable[Simplex]) -> list[Simplex]:
    """Both, each without its last simplex, glued along where these were."""
    first, second = list(one), list(other)
    beyond = 1 + max(map(max, first))
    glued = dict(zip(second[-1], first[-1], strict=True))
    names = {vertex: glued.get(vertex, vertex + beyond) for vertex in set(itertools.chain(*second))}
    moved = [tuple(sorted(names[vertex] for vertex in simplex)) for simplex in second[:-1]]
    return _numbered([*first[:-1], *moved])


def times_circle(surface: Iterable[Simplex]) -> list[Simplex]:
    """The product with a circle of three edges, its prisms cut into simplices."""
    given = list(surface)
    count = 1 + max(map(max, given))
    found = []
    for start, stop in ((0, 1), (1, 2), (0, 2)):
        for simplex in given:
            for place in range(len(simplex)):
                low = [vertex + start * count for vertex in simplex[: place + 1]]
                high = [vertex + stop * count for vertex in simplex[place:]]
                found.append(tuple(sorted((*low, *high))))
    return found


def _numbered(simplices: list[Simplex]) -> list[Simplex]:
    """The same with vertices from 0 without a gap."""
    names = {old: new for new, old in enumerate(sorted(set(itertools.chain(*simplices))))}
    return [tuple(sorted(names[vertex] for vertex in simplex)) for simplex in simplices]


class Growing:
    """A triangulation that bistellar moves change into others of the same manifold.

    Source: Pachner, "P.L. homeomorphic manifolds are equivalent by elementary shellings" (1991),
    by whom such moves reach every triangulation of it.
    """

    def __init__(self, simplices: Iterable[Simplex], rng: Random):
        self.rng = rng
        self.simplices: list[Simplex] = []
        self.place: dict[Simplex, int] = {}
        self.around: dict[Simplex, set[Simplex]] = defaultdict(set)
        """The simplices that contain a pair of vertices."""
        for simplex in simplices:
            self._add(simplex)
        self.vertices = 1 + max(map(max, self.simplices))

    def grow(self, vertices: int, moves_per_vertex: int = 12) -> list[Simplex]:
        """Divides simplices until there are so many vertices, and moves between times."""
        while self.vertices < vertices:
            self._divide()
            for _ in range(moves_per_vertex):
                self._move()
        return sorted(self.simplices)

    def _divide(self) -> None:
        """A random simplex gets a vertex inside."""
        simplex = self._random()
        self._remove(simplex)
        for face in itertools.combinations(simplex, len(simplex) - 1):
            self._add((*face, self.vertices))
        self.vertices += 1

    def _move(self) -> None:
        """The simplices around a random face become those around the face opposite to it.

        On a surface this turns an edge. Nothing happens where they are too many, or the opposite
        face is there already. No vertex comes or goes.
        """
        simplex = self._random()
        size = self.rng.randrange(2, len(simplex))
        face = tuple(sorted(self.rng.sample(simplex, size)))
        star = self._around(face)
        opposite = tuple(sorted(set(itertools.chain(*star)) - set(face)))
        if len(star) != len(simplex) + 1 - size or len(opposite) != len(star):
            return
        if self._around(opposite):
            return
        for each in star:
            self._remove(each)
        for part in itertools.combinations(face, size - 1):
            self._add(tuple(sorted((*part, *opposite))))

    def _around(self, face: Simplex) -> list[Simplex]:
        """The simplices that contain these two or more vertices."""
        return [each for each in self.around.get(face[:2], ()) if set(face) <= set(each)]

    def _random(self) -> Simplex:
        return self.simplices[self.rng.randrange(len(self.simplices))]

    def _add(self, simplex: Simplex) -> None:
        self.place[simplex] = len(self.simplices)
        self.simplices.append(simplex)
        for pair in itertools.combinations(simplex, 2):
            self.around[pair].add(simplex)

    def _remove(self, simplex: Simplex) -> None:
        place, last = self.place.pop(simplex), self.simplices.pop()
        if last != simplex:
            self.simplices[place], self.place[last] = last, place
        for pair in itertools.combinations(simplex, 2):
            self.around[pair].discard(simplex)
