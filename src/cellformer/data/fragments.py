"""Which fragments of a molecule count: all, or the largest one without salts and solvents."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from cellformer.basics.checks import one_of
from cellformer.chemistry.fragments import Fragments, largest_fragment
from cellformer.data.dataset import GraphSet, SmilesList
from cellformer.data.texts import as_before

logger = logging.getLogger(__name__)


def keep_fragments(source: GraphSet, which: Fragments) -> GraphSet:
    """The set with all fragments of its molecules, or with the largest of each.

    Everything that is derived from the molecules then follows: features, scaffolds, duplicates.
    Says in the log how many molecules lost fragments. A row whose fragments RDKit cannot choose
    from cannot be used (see `GraphSet.faults`). Raises ValueError where "largest" is asked
    of a set that does not consist of SMILES.
    """
    one_of(get_args(Fragments), fragments=which)
    if which == "all":
        return source
    if not isinstance(source.graphs, SmilesList):
        raise ValueError(
            f"{source.name} does not consist of SMILES, so the largest fragment cannot be chosen; "
            "set data.fragments to all"
        )
    task = source.task_or_none
    if task is not None and task.rank is not None:
        raise ValueError(
            f"{source.name}: the largest fragment has its atoms in another order than the lists of "
            "targets; set data.fragments to all"
        )
    smiles, faults = source.smiles, dict(source.faults)
    shortened = 0

    def largest() -> Iterator[str]:
        nonlocal shortened
        for row, text in enumerate(smiles):
            kept = text
            try:
                kept = largest_fragment(text)
            except ValueError as error:
                faults.setdefault(row, str(error))
            shortened += kept is not text
            yield kept

    graphs = replace(source.graphs, smiles=as_before(smiles, largest()))
    logger.info(
        "%s: the largest fragment was taken of %d of %d molecules, which have several",
        source.name,
        shortened,
        len(smiles),
    )
    return replace(source, graphs=graphs, digest=graphs.digest(), faults=faults)
