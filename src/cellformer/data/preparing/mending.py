"""A prepared store of which some is damaged: only those rows are made again."""

import logging
from pathlib import Path

from cellformer.basics.causes import raise_of_process
from cellformer.complexes.many.mending import Damage, damage_of, mend
from cellformer.complexes.many.parts import StoreError
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.preparing.assembling import Assembly
from cellformer.data.preparing.shards import ShardExecutor, read_shard, shard_bounds

logger = logging.getLogger(__name__)

SOME = 9
"""No more stretches of rows of a file are told."""


def mended(store: Path, fault: str, assembly: Assembly, executor: ShardExecutor) -> bool:
    """Makes the damaged shards of a store again, and tells of them in the log.

    Afterwards the store has the bytes that it was written with. False where it cannot have them:
    what tells of its parts is damaged itself, the rows do not give what they gave, or the files
    cannot be written. Raises what the executor raises, which leaves the store as it is. ``fault``
    is what was found when the store was opened.
    """
    bounds = [*shard_bounds(len(assembly.source))]
    try:
        damage = damage_of(store)
        if damage.of != len(bounds):
            return False
    except StoreError:
        return False
    _tell(store, fault, damage, bounds)
    tasks = (assembly.task(*bounds[number]) for number in damage.parts)
    for _ in executor(tasks) if damage.parts else ():
        pass

    def made(number: int) -> RaggedComplexes | None:
        return read_shard(assembly.file(bounds[number][0]))[1]

    try:
        mend(store, damage, made)
    except (OSError, StoreError) as error:
        raise_of_process(error)
        logger.warning("%s", error.fault if isinstance(error, StoreError) else error)
        return False
    return True


def _tell(store: Path, fault: str, damage: Damage, bounds: list[tuple[int, int]]) -> None:
    """Names each file, and some of the rows."""
    files = damage.files(store)
    if not files:
        logger.warning("%s; the beginning of the file is made again", fault)
    for file, numbers in files.items():
        rows = ", ".join(f"{bounds[n][0]} to {bounds[n][1] - 1}" for n in numbers[:SOME])
        logger.warning(
            "%s is damaged in %d of %d parts (checksums differ); only rows %s%s are made again",
            file,
            len(numbers),
            damage.of,
            rows,
            " and others" if len(numbers) > SOME else "",
        )
