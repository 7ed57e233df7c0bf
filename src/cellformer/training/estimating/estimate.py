"""What a data set will take, told beforehand from a sample of it."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.descriptors import concatenate_descriptors
from cellformer.complexes.many.ragged import RaggedRank
from cellformer.complexes.many.writing import stored_type
from cellformer.complexes.piece import piece
from cellformer.data.dataset import GraphSequence, GraphSet, SmilesList
from cellformer.data.flat import FlatGraphs
from cellformer.data.preparation import Preparation
from cellformer.data.preparing.shards import shard_bounds
from cellformer.encodings.encode import Encoding, encode
from cellformer.lifting.lift import LiftingLimitError
from cellformer.model.config import DescriptorShape
from cellformer.model.plans.named import attention_plan
from cellformer.training.config import RunConfig
from cellformer.training.estimating.step_memory import StepMemory, step_memory
from cellformer.training.materials.preparation import check_use, preparation_of
from cellformer.training.runs.recipe import number_of_outputs

LARGEST = 20
"""How many of the largest graphs are lifted beside those drawn at random."""
PROBE_CELLS = 50_000
"""The encodings of a larger complex are timed on a piece of it."""
PROBE_NUMBERS = 2_000_000
"""Cells times width, about, of the batch that a step of training is tried with."""
FILE_HEADER, MANIFEST_ENTRY, PART_ENTRY = 128, 137, 135
"""Bytes of a store for each of its arrays, beside the numbers; the last for each shard too."""


@dataclass(frozen=True)
class FailedRow:
    """A row that has no complex."""

    row: int
    reason: str
    over_limit: bool


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a data set will take. Totals are exact if ``sample`` is ``rows``."""

    rows: int
    sample: int
    """Rows drawn at random and lifted; the totals are those of the sample, scaled up."""
    lifting: str
    """The lifting with its limits."""
    complexes: float
    """Rows that have a complex."""
    cells: Float64[np.ndarray, " rank"]
    """Cells of each rank, all complexes together."""
    uncertainty: Float64[np.ndarray, " rank"]
    """Two standard errors of these; 0 where they are exact, NaN where one row was drawn."""
    largest: Int64[np.ndarray, " rank"]
    """The most cells of each rank in a complex looked at."""
    failures: tuple[FailedRow, ...]
    """Of the rows looked at, the largest graphs included."""
    store_bytes: float
    """Of the prepared complexes on disk."""
    lift_seconds: float
    """To make and lift all graphs in one process."""
    encode_seconds: float
    """To encode all complexes in one process."""
    in_pieces: bool
    """Whether a complex was so large that only a piece of it was encoded, and the time scaled."""
    step: StepMemory | None
    """Of a step of training; None if there is no complex."""

    @property
    def cells_per_complex(self) -> float:
        """Cells of all ranks in a complex, on average."""
        return float(self.cells.sum()) / max(self.complexes, 1)


def estimate(config: RunConfig, limit: int = 1000, seconds: float = 10.0) -> Estimate:
    """Lifts and encodes up to ``limit`` rows of the configured source, and counts.

    The rows are drawn at random, the same ones every time; drawing ends after ``seconds``, with at
    least one row. Where not all rows are drawn, the largest graphs are lifted too, so that graphs
    over the lifting's limits are found. Nothing is stored. Raises ValueError if the source cannot
    be read or has no rows.
    """
    preparation = preparation_of(config.data, config.data.source)
    source = preparation.open(config.data.source)
    check_use(config.data, source)
    if not len(source):
        raise ValueError(f"{config.data.source} has no rows")
    encodings = preparation.encodings
    order = np.random.default_rng(0).permutation(len(source))[:limit].tolist()
    if len(order) > 1:
        _look(preparation, source, order[0], encodings)  # compiles what is compiled
    most = PROBE_NUMBERS // config.model.width
    drawn: list[_Look] = []
    batch: list[CellComplex] = []
    began = time.perf_counter()
    for row in order:
        if drawn and time.perf_counter() - began > seconds:
            break
        look, part = _look(preparation, source, row, encodings)
        drawn.append(look)
        if part is not None and _total(batch) < most:
            batch.append(_cut(part, most))
    extremes: list[_Look] = []
    if len(drawn) < len(source):
        seen, began = {look.row for look in drawn}, time.perf_counter()
        for row in _largest(source.graphs):
            if row not in seen and time.perf_counter() - began < seconds / 2:
                extremes.append(_look(preparation, source, row, ())[0])
    return _summary(config, preparation, source, drawn, extremes, batch)


def stored_bytes(cells: CellComplex, encoding_columns: int) -> int:
    """The numbers that a store keeps of a complex with so many columns of encodings, in bytes."""
    total = 0 if cells.descriptors is None else cells.descriptors.counts.nbytes
    for rank, (count, rows) in enumerate(zip(cells.num_cells, cells.features, strict=True)):
        faces = cells.boundary(rank).indices
        numbers = rows.continuous.shape[1] + rows.signed.shape[1] + encoding_columns
        narrow = (("faces", faces), ("discrete", rows.discrete), ("face_offsets", np.arange(count)))
        total += 8 + 4 * numbers * count + len(faces)  # of which each has a sign
        total += sum(
            array.size * stored_type(f"rank{rank}_{name}", array).itemsize for name, array in narrow
        )
    return total


@dataclass(frozen=True, eq=False)
class _Look:
    """What is remembered of a row."""

    row: int
    failure: FailedRow | None
    num_cells: tuple[int, ...] = ()
    bytes: int = 0
    lift_seconds: float = 0.0
    encode_seconds: float = 0.0
    in_pieces: bool = False


def _look(
    preparation: Preparation, source: GraphSet, row: int, encodings: tuple[Encoding, ...]
) -> tuple[_Look, CellComplex | None]:
    """A row, and its complex, or a piece of it, encoded."""
    began = time.perf_counter()
    try:
        cells = preparation.one(source, row, encoded=False)
    except ValueError as error:
        failure = FailedRow(row, str(error), isinstance(error, LiftingLimitError))
        return _Look(row, failure, lift_seconds=time.perf_counter() - began), None
    lifted = time.perf_counter()
    part = _cut(cells, PROBE_CELLS)
    scale = _total([cells]) / max(_total([part]), 1)
    began_encoding = time.perf_counter()
    encoded = encode(part, encodings)
    look = _Look(
        row,
        None,
        cells.num_cells,
        stored_bytes(cells, len(encoded.encoding_signs)),
        lifted - began,
        (time.perf_counter() - began_encoding) * scale,
        part is not cells,
    )
    return look, encoded


def _summary(
    config: RunConfig,
    preparation: Preparation,
    source: GraphSet,
    drawn: Sequence[_Look],
    extremes: Sequence[_Look],
    batch: Sequence[CellComplex],
) -> Estimate:
    counts = _table(look.num_cells for look in drawn)
    scale = len(source) / len(drawn)
    exact = len(drawn) == len(source)
    spread = np.zeros(counts.shape[1])
    if not exact:
        spread += counts.std(axis=0, ddof=1) if len(drawn) > 1 else np.nan
    valid = scale * sum(look.failure is None for look in drawn)
    ranks = counts.shape[1]
    shards = sum(1 for _ in shard_bounds(len(source)))
    of_array = FILE_HEADER + MANIFEST_ENTRY + PART_ENTRY * shards
    files = (len(RaggedRank.ARRAYS) * ranks + 1) * of_array
    return Estimate(
        len(source),
        len(drawn),
        str(preparation.whole_lifting),
        valid,
        scale * counts.sum(axis=0),
        2 * len(source) * spread / len(drawn) ** 0.5,
        _table(look.num_cells for look in (*drawn, *extremes)).max(axis=0).astype(np.int64),
        tuple(look.failure for look in (*drawn, *extremes) if look.failure),
        scale * sum(look.bytes for look in drawn) + files,
        scale * sum(look.lift_seconds for look in drawn),
        scale * sum(look.encode_seconds for look in drawn),
        any(look.in_pieces for look in drawn),
        step_memory(
            collate(batch),
            config.model,
            attention_plan(config.attention, max_rank=ranks - 1),
            number_of_outputs(source.task, config.training.loss) if source.task_or_none else 1,
            DescriptorShape.of(concatenate_descriptors([cells.descriptors for cells in batch])),
        )
        if batch
        else None,
    )


def _table(rows: Iterable[tuple[int, ...]]) -> Float64[np.ndarray, "complex rank"]:
    """The cells of each complex and rank; 0 where a complex lacks a rank."""
    given = list(rows)
    table = np.zeros((len(given), max(map(len, given), default=0)))
    for row, counts in zip(table, given, strict=True):
        row[: len(counts)] = counts
    return table


def _largest(graphs: GraphSequence) -> list[int]:
    """The rows with the most edges, or with the longest SMILES."""
    match graphs:
        case FlatGraphs():
            sizes = np.diff(graphs.edge_offsets)
        case SmilesList():
            sizes = np.array([len(text) for text in graphs.smiles])
        case _:
            return []
    rows: list[int] = np.argsort(-sizes, kind="stable")[:LARGEST].tolist()
    return rows


def _cut(cells: CellComplex, most: int) -> CellComplex:
    """A piece of about so many cells, or the whole complex if it has no more."""
    total = _total([cells])
    return cells if total <= most else piece(cells, max(cells.num_vertices * most // total, 1))


def _total(complexes: Sequence[CellComplex]) -> int:
    return sum(sum(cells.num_cells) for cells in complexes)
