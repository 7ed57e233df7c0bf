"""What of a field on cells runs downhill, what turns around cells, and what goes around holes."""

from dataclasses import dataclass, replace

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.hodge import hodge_decomposition
from cellformer.lifting.lift import Lifting, lift


@dataclass(frozen=True)
class HodgeParts:
    """Another lifting, whose features that flip are followed by their parts.

    For each column of a rank there come its gradient, its curl and its harmonic part, see
    `hodge_decomposition`, so four columns stand where there was one: all columns as they were, all
    gradients, all curls, all harmonic parts. A network would have to find out the last of these by
    looking at the whole complex at once. Ranks without features that flip stay as they are.
    """

    lifting: Lifting

    def __call__(self, graph: Graph) -> CellComplex:
        """The complex of the lifting, with these features; raises what the lifting raises."""
        cells = lift(graph, self.lifting)
        features = [_with_parts(cells, rank, own) for rank, own in enumerate(cells.features)]
        return replace(cells, features=tuple(features))


def _with_parts(cells: CellComplex, rank: int, own: Features) -> Features:
    if not own.signed.size:
        return own.with_signed(np.tile(own.signed, 4))
    parts = hodge_decomposition(cells, own.signed, rank)
    return own.with_signed(np.hstack([own.signed, parts.gradient, parts.curl, parts.harmonic]))
