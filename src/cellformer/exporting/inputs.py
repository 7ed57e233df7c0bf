"""The tensors that an exported model reads, and the batch that it makes of them."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch, Faces
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.model.described import CellModel, transformer_of
from cellformer.model.relations.common_cells import CommonCells
from cellformer.model.relations.pair_encoder import PairEncoder
from cellformer.model.relations.patterns import (
    described_key,
    described_patterns,
    keep_listed,
    listed_key,
    pairs_key,
    patterns,
    signed_key,
    signed_neighborhoods,
)
from cellformer.model.relations.relation import Relation
from cellformer.model.transformer import check_ranks

COPIES = 3
"""Rows of a sender in attention that knows orientations, whatever the signs of a batch."""

Tensors: TypeAlias = dict[str, Tensor]
Size: TypeAlias = int | str
"""A number, or the name of one that differs from batch to batch, perhaps plus one."""


class TensorKind(NamedTuple):
    """Type and shape of a tensor."""

    dtype: torch.dtype
    shape: tuple[Size, ...]


@dataclass(frozen=True)
class _Pairs:
    """A neighborhood that a model reads of a batch, and which of its tensors."""

    name: str
    key: Hashable
    receivers: tuple[int, ...]
    senders: tuple[int, ...]
    parts: tuple[str, ...]  # of weights, features
    common: tuple[str, ...] = ()
    copies: int = 1

    @property
    def rows(self) -> str:
        """The word for the number of its receivers."""
        return " + ".join(f"cells_{rank}" for rank in self.receivers)


class ProgramInputs:
    """What models of one form read: names, types and shapes, and the way there and back.

    Sizes that differ from batch to batch have names: ``complexes``, ``cells_K`` of rank K and those
    of pairs. All members of an ensemble read the same.
    """

    def __init__(self, model: CellModel):
        transformer = transformer_of(model)
        config, plan = transformer.config, transformer.plan
        self.model = transformer
        self.binary = config.architecture.neighbor_weights == "binary"
        self.steps = config.architecture.pair_steps
        self.num_ranks = plan.diagram.num_ranks
        self.relations = plan.relations(plan.diagram.max_rank)
        self.encoding = transformer.embedding.encoding
        self.columns = transformer.embedding.columns
        described = model.config.data.descriptors
        self.descriptors = 0 if described is None else described.columns
        self.pairs = [*self._corners(), *self._of_relations()]

    def _corners(self) -> list[_Pairs]:
        """The vertices of the cells of each rank that start from these, or are told of them."""
        embedding = self.model.embedding
        read = embedding.either_sign is not None and embedding.either_sign.mixes
        return [
            _Pairs(f"corners_{rank}", ("vertices of", rank), (rank,), (0,), ())
            for rank in range(1, self.num_ranks)
            if rank > 1 or read or "1" not in embedding.features
        ]

    def _of_relations(self) -> list[_Pairs]:
        chosen, found = self.model.config.architecture, []
        for number, relation in enumerate(self.relations):
            ends = relation.receivers, relation.senders
            name = f"pairs_{number}"
            if chosen.pair_width:
                key = described_key(relation, self.binary, self.steps)
                encoder = self.model.pair_encoders[number]
                assert isinstance(encoder, PairEncoder)
                common = tuple(
                    word for word in encoder.common if self._ranked(word) in range(self.num_ranks)
                )
                found.append(_Pairs(name, key, *ends, ("weights", "features"), common))
                continue
            if chosen.signed_width:
                key = signed_key(relation, self.binary)
                found.append(_Pairs(name, key, *ends, ("weights",), copies=COPIES))
            elif not relation.dense:
                found.append(_Pairs(name, pairs_key(relation, self.binary), *ends, ("weights",)))
            elif chosen.degree_scaling != "none" and not _known(relation, self.relations):
                found.append(_Pairs(name, pairs_key(relation, self.binary), *ends, ()))
            if relation.dense:
                key = listed_key(relation, self.binary)
                found.append(_Pairs(f"all_{name}", key, *ends, ("weights",)))
        return found

    @staticmethod
    def _ranked(word: str) -> int:
        """The rank of the cells that pairs have in common."""
        where, rank = word.split()
        return int(rank) + (1 if where == "above" else -1)

    def kinds(self) -> dict[str, TensorKind]:
        """Every tensor by its name."""
        whole, real = torch.int64, torch.float32
        found: dict[str, TensorKind] = {}
        for rank, (discrete, continuous, signed) in enumerate(self.columns):
            cells = f"cells_{rank}"
            found[f"offsets_{rank}"] = TensorKind(whole, ("complexes + 1",))
            found[f"encodings_{rank}"] = TensorKind(real, (cells, self.encoding))
            if discrete:
                found[f"discrete_{rank}"] = TensorKind(whole, (cells, discrete))
            if continuous:
                found[f"continuous_{rank}"] = TensorKind(real, (cells, continuous))
            if signed:
                found[f"signed_{rank}"] = TensorKind(real, (cells, signed))
        if self.descriptors:
            found["descriptors"] = TensorKind(real, ("complexes", self.descriptors))
        columns = self._feature_columns()
        for pairs in self.pairs:
            name = pairs.name
            found[f"{name}_offsets"] = TensorKind(whole, (f"{pairs.rows} + 1",))
            found[f"{name}_senders"] = TensorKind(whole, (name,))
            types = {"weights": real, "features": torch.float16}
            for part in pairs.parts:
                wide = (columns,) if part == "features" else ()
                found[f"{name}_{part}"] = TensorKind(types[part], (name, *wide))
            for word in pairs.common:
                own = _joined(name, word)
                found[f"{own}_pairs"] = found[f"{own}_cells"] = TensorKind(whole, (own,))
        return found

    def _feature_columns(self) -> int:
        encoders = self.model.pair_encoders
        return encoders[0].inner.in_features if len(encoders) else 0  # type: ignore[union-attr,return-value]

    def example(self) -> Tensors:
        """A batch in which sizes of different names differ, to trace a model with.

        All cells are those of the last complex, and all pairs those of the last receiver.
        """
        sizes: dict[str, int] = {}
        kinds = self.kinds()
        names = dict.fromkeys(
            word.strip()
            for kind in kinds.values()
            for size in kind.shape
            if isinstance(size, str)
            for word in size.split("+")
            if word.strip() != "1"
        )
        for number, name in enumerate(names):
            sizes[name] = 5 + 4 * number * number + 3 * number
        made = {
            name: torch.zeros([_counted(size, sizes) for size in kind.shape], dtype=kind.dtype)
            for name, kind in kinds.items()
        }
        for rank in range(self.num_ranks):
            made[f"offsets_{rank}"][-1] = sizes[f"cells_{rank}"]
        for pairs in self.pairs:
            made[f"{pairs.name}_offsets"][-1] = sizes[pairs.name]
        return made

    def tensors(self, batch: CellBatch) -> Tensors:
        """Those of a batch; raises ValueError if it has other ranks or columns than the model."""
        check_ranks(batch.dim + 1, self.num_ranks, "the batch has")
        batch = self._of_all_ranks(batch)
        self.model.embedding.check(batch)
        self._fill(batch)
        found: Tensors = {}
        for rank, (discrete, continuous, signed) in enumerate(self.columns):
            found[f"offsets_{rank}"] = batch.offsets[rank]
            found[f"encodings_{rank}"] = batch.encodings[rank].float()
            if discrete:
                found[f"discrete_{rank}"] = batch.discrete[rank]
            if continuous:
                found[f"continuous_{rank}"] = batch.continuous[rank].float()
            if signed:
                found[f"signed_{rank}"] = batch.signed[rank].float()
        if self.descriptors:
            assert batch.descriptors is not None
            found["descriptors"] = batch.descriptors
        for pairs in self.pairs:
            kept = batch.neighborhoods[pairs.key]
            if pairs.copies > 1:
                kept = replace(kept, copies=pairs.copies).in_copies
            found[f"{pairs.name}_offsets"] = kept.offsets
            found[f"{pairs.name}_senders"] = kept.senders
            for part in pairs.parts:
                found[f"{pairs.name}_{part}"] = getattr(kept, part)
            for word in pairs.common:
                assert kept.common is not None
                numbers, cells = kept.common[word]
                own = _joined(pairs.name, word)
                found[f"{own}_pairs"], found[f"{own}_cells"] = numbers, cells
        return {name: found[name] for name in self.kinds()}

    def batch(self, tensors: Mapping[str, Tensor]) -> CellBatch:
        """The inverse of `tensors`, with all that a model which is `exporting` reads."""
        ranks = range(self.num_ranks)
        counts = [tensors[f"encodings_{rank}"].shape[0] for rank in ranks]

        def rows(kind: str, rank: int, dtype: torch.dtype) -> Tensor:
            none = torch.zeros((counts[rank], 0), dtype=dtype)
            return tensors.get(f"{kind}_{rank}", none)

        neighborhoods: dict[Hashable, Neighborhood] = {}
        for pairs in self.pairs:
            senders = tensors[f"{pairs.name}_senders"]
            parts = {part: tensors[f"{pairs.name}_{part}"] for part in pairs.parts}
            if "weights" not in parts:
                parts["weights"] = torch.ones(senders.shape[0])
            common = {}
            for word in pairs.common:
                own = _joined(pairs.name, word)
                common[word] = CommonCells(tensors[f"{own}_pairs"], tensors[f"{own}_cells"])
            neighborhoods[pairs.key] = Neighborhood(
                sum(counts[rank] for rank in pairs.senders) * pairs.copies,
                tensors[f"{pairs.name}_offsets"],
                senders,
                copies=pairs.copies,
                common=common if pairs.parts[-1:] == ("features",) else None,
                **parts,
            )
        nothing = torch.zeros(1, dtype=torch.int64)
        none = Faces(nothing, nothing[:0].int(), nothing[:0].to(torch.int8))
        return CellBatch(
            tuple(tensors[f"offsets_{rank}"] for rank in ranks),
            (none,) * (self.num_ranks - 1),
            tuple(rows("discrete", rank, torch.int64) for rank in ranks),
            tuple(rows("continuous", rank, torch.float32) for rank in ranks),
            tuple(tensors[f"encodings_{rank}"] for rank in ranks),
            torch.zeros(self.encoding, dtype=torch.int8),
            _neighborhoods=neighborhoods,
            descriptors=tensors.get("descriptors"),
            signed=tuple(rows("signed", rank, torch.float32) for rank in ranks),
        )

    def _of_all_ranks(self, batch: CellBatch) -> CellBatch:
        """The batch with all ranks that the model knows, and their columns where no cell is."""
        absent = self.num_ranks - batch.dim - 1
        zero = torch.zeros_like(batch.offsets[0])
        none = Faces(zero[:1], zero[:0].int(), zero[:0].to(torch.int8))

        def filled(rows: Sequence[Tensor], widths: Sequence[int]) -> tuple[Tensor, ...]:
            dtype = rows[0].dtype
            given = [*rows, *[torch.zeros((0, 0), dtype=dtype)] * absent]
            return tuple(
                own if len(own) else own.new_zeros(0, width)
                for own, width in zip(given, widths, strict=True)
            )

        discrete, continuous, signed = zip(*self.columns, strict=True)
        return replace(
            batch,
            offsets=(*batch.offsets, *[zero] * absent),
            faces=(*batch.faces, *[none] * absent),
            discrete=filled(batch.discrete, discrete),
            continuous=filled(batch.continuous, continuous),
            encodings=filled(batch.encodings, [self.encoding] * self.num_ranks),
            signed=filled(batch.signed, signed),
            _neighborhoods={},
        )

    def _fill(self, batch: CellBatch) -> None:
        """Has the batch keep all that the model reads, in the way that the model does."""
        chosen = self.model.config.architecture
        for pairs in self.pairs:
            if pairs.name.startswith("corners"):
                self.model.embedding.corners(batch, *pairs.receivers)
        if chosen.pair_width:
            described_patterns(batch, self.relations, self.binary, self.steps)
            for pairs, encoder in zip(self._described(), self.model.pair_encoders, strict=True):
                assert isinstance(encoder, PairEncoder)
                kept = batch.neighborhoods[pairs.key]
                batch.keep(pairs.key, replace(kept, common=encoder.shared(kept, batch)))
            return
        if chosen.signed_width:
            signed_neighborhoods(batch, self.relations, self.binary)
        else:
            sparse = [replace(relation, dense=False) for relation in self.relations]
            patterns(batch, sparse, self.binary)
        dense = [relation for relation in self.relations if relation.dense]
        keep_listed(batch, dense, self.binary)

    def _described(self) -> list[_Pairs]:
        return [pairs for pairs in self.pairs if pairs.name.startswith("pairs")]


def _known(relation: Relation, relations: Sequence[Relation]) -> bool:
    """Whether the neighborhood of a dense relation is that of a sparse one, too."""
    return any(other.key == relation.key for other in relations if not other.dense)


def _joined(name: str, word: str) -> str:
    return f"{name}_{word.replace(' ', '_')}"


def _counted(size: Size, sizes: Mapping[str, int]) -> int:
    """A size in numbers."""
    if isinstance(size, int):
        return size
    return sum(1 if word.strip() == "1" else sizes[word.strip()] for word in size.split("+"))
