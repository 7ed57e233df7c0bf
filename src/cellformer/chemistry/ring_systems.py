"""Whether RDKit would find the rings of a molecule in bearable time, told without finding them."""

from collections.abc import Iterable

from rdkit import Chem

from cellformer.chemistry.bonds import bonds_of

FEW_RINGS = 14
"""So few independent rings have at most 2^14 shortest ones, and are always within the limits."""
MAX_RINGS = 20_000
"""Of a ring system: a macrocycle through k para-rings has 2^k that are equally short, and RDKit
makes a list of them all."""
MAX_WORK = 5_000_000_000
"""Of a ring system: rings times atoms squared, which is how long RDKit takes for lattices."""


def check_rings(molecule: Chem.Mol, fragments: int, name: str) -> None:
    """Raises ValueError where a ring system has too many rings, or is too large, to be searched.

    ``fragments`` is the greatest number that the molecule may have, ``name`` tells it in messages.
    """
    if molecule.GetNumBonds() - molecule.GetNumAtoms() + fragments <= FEW_RINGS:
        return
    import networkx as nx

    pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds_of(molecule)]
    for block in nx.biconnected_component_edges(nx.Graph(pairs)):
        edges = list(block)
        members = len({atom for edge in edges for atom in edge})
        rings = len(edges) - members + 1
        if rings <= FEW_RINGS:
            continue
        if (rings + 30) * members**2 > MAX_WORK:
            raise ValueError(
                f"{name}: a ring system has {members:,} atoms and {rings:,} independent rings, "
                "more than RDKit searches within seconds; leave the molecule out, or describe a "
                "part of it"
            )
        shortest = shortest_rings(edges)
        if shortest > MAX_RINGS:
            raise ValueError(
                f"{name}: a ring system has more than {MAX_RINGS:,} equally short rings, as "
                f"macrocycles through para-rings do ({shortest:.2g}); RDKit lists all of "
                "them; leave the molecule out"
            )


def shortest_rings(bonds: Iterable[tuple[int, int]]) -> float:
    """How many shortest rings a ring system has, as far as they go through pairs of atoms.

    Chains are drawn together, and of two chains between the same atoms the shorter one is kept;
    of equally long ones both, as one that counts for two. What cannot be simplified so, a cage or
    a lattice, counts for nothing.
    """
    paths: dict[int, dict[int, tuple[int, float]]] = {}  # between two atoms: length, how many
    for a, b in bonds:
        paths.setdefault(a, {})[b] = paths.setdefault(b, {})[a] = (1, 1.0)
    waiting = list(paths)
    found = 0.0
    while waiting:
        middle = waiting.pop()
        if len(paths.get(middle, ())) > 2:
            continue
        ends = paths.pop(middle, {})
        for end in ends:
            del paths[end][middle]
        if len(ends) == 2:
            (a, (length_a, count_a)), (b, (length_b, count_b)) = ends.items()
            length, count = length_a + length_b, min(count_a * count_b, 1e300)
            other_length, other_count = paths[a].get(b, (length + 1, 0.0))
            found += count * other_count
            if other_length < length:
                length, count = other_length, other_count
            elif other_length == length:
                count += other_count
            paths[a][b] = paths[b][a] = (length, count)
        waiting += ends
    return found
