"""How far a cell of a model sees."""

import math

from cellformer.model.config import ArchitectureConfig
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.plans.reaching import reaching

KNOWN = ("arrow", "general", "hops")
"""What the keys of relations begin with whose cells share a cell or bound each other."""


def steps_seen(plan: AttentionPlan, architecture: ArchitectureConfig, dim: int) -> int:
    """How many steps away the cells are whose vectors before the first layer reach a cell.

    A step leads from a cell to one of its boundary, of whatever rank, or back. Raises ValueError,
    saying what, where something reads all of a complex, or cannot be told.
    """
    if architecture.virtual_cell:
        raise ValueError("the virtual cell reads the whole complex")
    if architecture.sign_invariant:
        raise ValueError("what reads encodings of either sign depends on the whole complex's size")
    if math.inf in architecture.shares:
        raise ValueError(f"heads read the whole complex (model.reach {architecture.reach})")
    relations = reaching(plan, architecture).relations(dim)
    for relation in relations:
        if relation.dense:
            raise ValueError("this attention reads the whole complex; a sparse form does not")
        if not (isinstance(relation.key, tuple) and relation.key[0] in KNOWN):
            raise ValueError("how far an attention of your own reaches is not known")
    # A cell attends to those that share a cell with it, or with one of those, hop by hop. Of a
    # pair, walks from one to the other are known: half of their steps lead away, beyond half of the
    # way between the two, and they have to know where they can turn.
    hops = max((relation.hops for relation in relations), default=1)
    pairs = architecture.pair_steps // 2 + hops + 1 if architecture.pair_width else 0
    return 2 * hops * architecture.layers + pairs
