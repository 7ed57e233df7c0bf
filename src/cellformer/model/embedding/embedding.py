"""From a batch's features and encodings to one hidden vector per cell."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from cellformer.attention.segments import gather_rows, segment_sum
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.batches.runs import is_exporting
from cellformer.complexes.matrices import containment
from cellformer.model.embedding.sign_network import SignNetwork
from cellformer.model.embedding.signed_embedding import SignedEmbedding, sized
from cellformer.model.embedding.signs import with_random_signs


class FeatureEmbedding(nn.Module):
    """The sum of a learned vector per category and a linear map of the continuous columns.

    A category past a column's known ones counts as unknown and adds nothing; so does any other that
    no training cell has, once `silence_unseen` was told which they have. Continuous columns
    are taken as they are until `standardize_features` sets their mean and deviation.
    """

    first_row: Int64[Tensor, " discrete"]
    last_row: Int64[Tensor, " discrete"]
    mean: Float[Tensor, " continuous"]
    deviation: Float[Tensor, " continuous"]

    def __init__(self, categories: Sequence[int], continuous: int, width: int):
        super().__init__()
        # One table for all columns; its row 0 is the unknown category, always zero.
        ends = torch.tensor([0, *categories]).cumsum(0)
        self.register_buffer("first_row", ends[:-1] + 1, persistent=False)
        self.register_buffer("last_row", ends[1:].clone(), persistent=False)
        self.table = (
            nn.EmbeddingBag(sum(categories) + 1, width, mode="sum", padding_idx=0)
            if categories
            else None
        )
        self.linear = nn.Linear(continuous, width) if continuous else None
        if continuous:
            self.register_buffer("mean", torch.zeros(continuous))
            self.register_buffer("deviation", torch.ones(continuous))
            self.register_load_state_dict_pre_hook(_as_they_are)  # type: ignore[no-untyped-call]

    def forward(
        self, discrete: Int64[Tensor, "cell discrete"], continuous: Float[Tensor, "cell continuous"]
    ) -> Float[Tensor, "cell width"]:
        """One vector per cell."""
        parts = []
        if self.table is not None:
            rows = self.rows_of(discrete)
            exported = is_exporting()
            parts.append(
                functional.embedding(rows, self.table.weight).sum(1)
                if exported
                else self.table(rows)
            )
        if self.linear is not None:
            scaled = (continuous - self.mean) / self.deviation
            parts.append(self.linear(scaled.to(self.linear.weight.dtype)))
        return torch.stack(parts).sum(0)

    def rows_of(self, discrete: Int64[Tensor, "cell discrete"]) -> Int64[Tensor, "cell discrete"]:
        """The rows of the table, 0 for an unknown category."""
        rows = discrete + self.first_row
        known = (discrete >= 0) & (rows <= self.last_row)
        return rows.where(known, 0)


def _as_they_are(module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Weights of before tell no mean and deviation, and were learned without."""
    for name, buffer in module.named_buffers(recurse=False):
        if name in ("mean", "deviation"):
            state.setdefault(f"{prefix}{name}", buffer)


class ConcatPosition(nn.Module):
    """``ConcatPE`` of the paper, section "Positional encodings on cellular complexes"."""

    def __init__(self, signal: int, encoding: int, width: int):
        super().__init__()
        self.linear = nn.Linear(signal + encoding, width)

    def forward(
        self, signals: Float[Tensor, "cell signal"], encodings: Float[Tensor, "cell encoding"]
    ) -> Float[Tensor, "cell width"]:
        """A linear map of both side by side."""
        joined: Tensor = self.linear(torch.cat([signals, encodings], dim=1))
        return joined


class SumPosition(nn.Module):
    """``SumPE`` of the paper, section "Positional encodings on cellular complexes"."""

    def __init__(self, signal: int, encoding: int, width: int):
        super().__init__()
        self.signal = nn.Linear(signal, width)
        self.encoding = nn.Linear(encoding, width)

    def forward(
        self, signals: Float[Tensor, "cell signal"], encodings: Float[Tensor, "cell encoding"]
    ) -> Float[Tensor, "cell width"]:
        """The sum of one linear map of each."""
        joined: Tensor = self.signal(signals) + self.encoding(encodings)
        return joined


class CellEmbedding(nn.Module):
    """The first layer P of the paper: features of every rank, joined by positional encodings.

    Vertices start from their features, or from one learned vector if they have none; edges from
    their features, or else from their endpoints' vectors; cells of rank 2 and more from the sum
    of their vertices' vectors, plus their own features' if they have any. Source: the paper,
    appendix "Signals on cells".

    With a ``signed_width`` rows are [x | y], of which y flips with the orientation of the cell; the
    ``signed`` features of each rank, and the columns ``flipping`` of the encodings, which flip too,
    are read by `SignedEmbedding` alone. The columns of ``either_sign`` are read by `SignNetwork`.
    """

    flipping: Int64[Tensor, " flipping"]
    invariant: Int64[Tensor, " invariant"]

    def __init__(
        self,
        categories: Sequence[Sequence[int]],
        continuous: Sequence[int],
        encoding: int,
        width: int,
        *,
        concat_position: bool,
        concat_edges: bool,
        random_signs: bool,
        dropout: float,
        flipping: Sequence[int] = (),
        signed: Sequence[int] = (),
        signed_width: int = 0,
        either_sign: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ):
        super().__init__()
        signed = signed or [0] * len(categories)
        self.columns = [
            (len(discrete), values, fields)
            for discrete, values, fields in zip(categories, continuous, signed, strict=True)
        ]
        self.encoding = encoding
        self.features = nn.ModuleDict(
            {
                str(rank): FeatureEmbedding(discrete, values, width)
                for rank, (discrete, values) in enumerate(zip(categories, continuous, strict=True))
                if discrete or values
            }
        )
        self.constant = None if "0" in self.features else nn.Parameter(torch.randn(width))
        self.concat_edges = concat_edges and "1" not in self.features
        self.signed: SignedEmbedding | None = None
        if signed_width:
            self.signed = SignedEmbedding(signed, len(flipping), width, signed_width)
        self.either_sign: SignNetwork | None = None
        if any(either_sign):
            self.either_sign = SignNetwork(*either_sign, width)
        if signed_width or any(either_sign):
            elsewhere = {*(flipping if signed_width else ()), *either_sign[0], *either_sign[1]}
            invariant = [column for column in range(encoding) if column not in elsewhere]
            for name, columns in (("flipping", flipping), ("invariant", invariant)):
                self.register_buffer(name, torch.tensor(columns).long(), persistent=False)
            encoding = len(invariant) + (width if any(either_sign) else 0)
        self.placed = encoding
        # Without encodings both ways are one linear map.
        position = ConcatPosition if concat_position or not encoding else SumPosition
        self.positions = nn.ModuleList(
            position(2 * width if rank == 1 and self.concat_edges else width, encoding, width)
            for rank in range(len(self.columns))
        )
        self.random_signs = random_signs
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        """One row per cell, for each rank of the batch.

        Raises ValueError, naming the rank, if the batch has other columns than the model.
        """
        self.check(batch)
        signals = [self._vertices(batch)]
        for rank in range(1, batch.dim + 1):
            signals.append(self._higher(batch, rank, signals[0]))
        drawn = self.random_signs and self.training
        if self.either_sign is not None and self.signed is None:
            drawn = False  # nothing that is read would be another
        encodings = with_random_signs(batch) if drawn else batch.encodings
        told = self._told_of_places(batch, encodings)
        placed = [
            position(signal, rows.to(signal.dtype))
            for position, signal, rows in zip(self.positions, signals, told, strict=False)
        ]
        if self.signed is None:
            return [self.dropout(rows) for rows in placed]
        both = self.signed(placed, batch.signed, sized(batch, encodings, self.flipping))
        return [self.dropout(rows) for rows in both]

    def ranks_from_vertices(self, batch: CellBatch) -> list[int]:
        """The ranks whose cells start from their vertices' vectors: all but edges with features."""
        edges = batch.dim > 0 and self._told(batch, 1)
        return list(range(2 if edges else 1, batch.dim + 1))

    def ranks_with_corners(self, batch: CellBatch) -> list[int]:
        """The ranks whose cells are told of their vertices."""
        if self.either_sign is not None and self.either_sign.mixes:
            return list(range(1, batch.dim + 1))
        return self.ranks_from_vertices(batch)

    def _told_of_places(
        self, batch: CellBatch, encodings: Sequence[Float[Tensor, "_ encoding"]]
    ) -> Sequence[Float[Tensor, "_ placed"]]:
        """What positions read: encodings, but for columns that flip, and those of either sign."""
        if self.signed is None and self.either_sign is None:
            return encodings
        known = [rows[:, self.invariant] for rows in encodings]
        if self.either_sign is None:
            return known
        corners = {}
        if self.either_sign.mixes:
            corners = {rank: self.corners(batch, rank) for rank in range(1, batch.dim + 1)}
        read = self.either_sign(batch, encodings, corners)
        return [
            torch.cat([rows.to(own.dtype), own], dim=1)
            for rows, own in zip(known, read, strict=True)
        ]

    def corners(self, batch: CellBatch, rank: int) -> Neighborhood:
        """The vertices of every cell of a rank."""
        return batch.neighborhood(
            ("vertices of", rank), lambda cells: containment(cells, 0, rank).T.tocsr()
        )

    def blank(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        """What cells of which nothing is known start from: neither features nor encodings."""
        rows = []
        for rank, cells in enumerate(batch.num_cells):
            weight = next(self.positions[rank].parameters())  # one row per column of the width
            columns = len(weight) * (2 if rank == 1 and self.concat_edges else 1)
            signals = weight.new_zeros(cells, columns)
            rows.append(self.positions[rank](signals, weight.new_zeros(cells, self.placed)))
        if self.signed is None:
            return rows
        fields = [
            own.new_zeros(len(own), columns[2])
            for own, columns in zip(rows, self.columns, strict=False)
        ]
        nothing = [own.new_zeros(len(own), len(self.flipping)) for own in rows]
        both: list[Tensor] = self.signed(rows, fields, nothing)
        return both

    def _vertices(self, batch: CellBatch) -> Float[Tensor, "vertex width"]:
        if self.constant is not None:
            return self.constant.expand(batch.num_cells[0], -1)
        return self._own(batch, 0)

    def _higher(
        self, batch: CellBatch, rank: int, vertices: Float[Tensor, "vertex width"]
    ) -> Float[Tensor, "cell signal"]:
        """The signals of the cells of rank 1 or more."""
        own = self._told(batch, rank)
        if rank not in self.ranks_from_vertices(batch):
            return self._own(batch, rank)
        corners = self.corners(batch, rank)
        corner_vectors = gather_rows(vertices, corners.senders)
        if rank == 1 and self.concat_edges:
            # Every edge has two corners, and the lower number comes first.
            return corner_vectors.reshape(batch.num_cells[1], 2 * vertices.shape[1])
        total = segment_sum(corner_vectors, corners.offsets)
        return total + self._own(batch, rank) if own else total

    def _told(self, batch: CellBatch, rank: int) -> bool:
        """Whether cells of a rank have features; a batch without such cells may lack them."""
        columns = batch.discrete[rank].shape[1], batch.continuous[rank].shape[1]
        return str(rank) in self.features and columns == self.columns[rank][:2]

    def _own(self, batch: CellBatch, rank: int) -> Float[Tensor, "cell width"]:
        vectors: Tensor = self.features[str(rank)](batch.discrete[rank], batch.continuous[rank])
        return vectors

    def check(self, batch: CellBatch) -> None:
        """Raises ValueError, naming the rank, if the batch has other columns than the model."""
        if len(batch.encoding_signs) != self.encoding:
            raise ValueError(
                f"the batch has {len(batch.encoding_signs)} encoding columns, the model expects "
                f"{self.encoding}; encode the complexes as for training"
            )
        for rank, cells in enumerate(batch.num_cells):
            kinds = (batch.discrete[rank], batch.continuous[rank], batch.signed[rank])
            columns = tuple(rows.shape[1] for rows in kinds)
            if columns != self.columns[rank] and cells:
                raise ValueError(
                    f"rank {rank} of the batch has {columns} discrete, continuous and signed "
                    f"feature columns, the model expects {self.columns[rank]}"
                )
