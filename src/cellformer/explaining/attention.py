"""The attention of one prediction, by layer and arrow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from jaxtyping import Float64, Int64

from cellformer.attention.recording import record_attention
from cellformer.attention.weights import AttentionWeights
from cellformer.complexes.batches.batch import collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.model.described import CellModel
from cellformer.model.evaluation import evaluating
from cellformer.model.relations.relation import Relation

SIGNED = " (signed)"
"""After the name of an arrow of dense attention: the softmax of the columns that flip."""
WHOLE = " (all)"
"""After that of heads which see the whole complex, where others do not."""


@dataclass(frozen=True, eq=False)
class ArrowWeights:
    """How much the cells of one rank took from those of another, in one layer.

    The weights of a receiver sum to 1 over all its senders; in general attention, where these
    are of all ranks, over the arrows of a layer that reach the receiver's rank.
    """

    layer: int
    arrow: str  # such as "0 -> 1"; with the neighborhood where several join the same ranks
    sender_rank: int
    receiver_rank: int
    receivers: Int64[np.ndarray, " pair"]  # numbers within their rank
    senders: Int64[np.ndarray, " pair"]
    weights: Float64[np.ndarray, "pair head"]

    @property
    def heads(self) -> int:
        """The number of heads."""
        return int(self.weights.shape[1])

    def of_head(self, head: int | None) -> Float64[np.ndarray, " pair"]:
        """The weights of one head, or their mean over all heads; ValueError if there is none."""
        if head is None:
            mean: Float64[np.ndarray, " pair"] = self.weights.mean(axis=1)
            return mean
        if not 0 <= head < self.heads:
            raise ValueError(f"there is no head {head}; the heads are 0 to {self.heads - 1}")
        column: Float64[np.ndarray, " pair"] = self.weights[:, head]
        return column


def attention_of(model: CellModel, cells: CellComplex) -> tuple[ArrowWeights, ...]:
    """The attention weights of a model's prediction for one complex, layer after layer.

    A pairwise model has one entry per layer and arrow of its diagram whose ranks the complex has;
    a general model one per layer and pair of ranks. Heads that reach farther than others have
    entries of their own, "0 -> 1 (2 hops)" and "0 -> 1 (all)". Where a model has columns that flip
    with the orientation of cells, they have a softmax of their own in dense attention, "0 -> 1
    (signed)".
    """
    batch = collate([cells])
    device = next(model.parameters()).device
    with evaluating(model), torch.no_grad(), record_attention() as record:
        model.embed(batch.to(device))  # all ranks, also those that are not read out
    found = list(_by_arrow(model, cells, record))
    return tuple(found)


def _by_arrow(
    model: CellModel, cells: CellComplex, record: list[AttentionWeights]
) -> Iterator[ArrowWeights]:
    relations = model.plan.relations(cells.dim)
    names = _names(relations)
    signed = model.config.architecture.signed_width > 0
    present = [
        (relation, name, own)
        for relation, name in zip(relations, names, strict=True)
        if relation.max_rank <= cells.dim
        for own in (("", SIGNED) if signed and relation.dense else ("",))
    ]
    places = list(product(range(len(model.layers)), present))
    if len(places) != len(record):
        raise ValueError(
            f"{len(record)} softmaxes were taken in {len(model.layers)} layers, whose plan has "
            f"{len(present)} relations for this complex; a layer of your own attends along each of "
            "them once, in their order"
        )
    for (layer, (relation, name, own)), weights in zip(places, record, strict=True):
        if len(relation.senders) == len(relation.receivers) == 1:
            ends = (*relation.senders, *relation.receivers)
            yield ArrowWeights(layer, name + own, *ends, *_arrays(weights))
        else:
            yield from _by_ranks(
                layer, cells, relation, weights, own or _reach(relation, relations)
            )


def _reach(relation: Relation, relations: Sequence[Relation]) -> str:
    """What tells these heads from the others of a layer."""
    if relation.hops > 1:
        return f" ({relation.hops} hops)"
    ends = relation.receivers, relation.senders
    beside = [each for each in relations if (each.receivers, each.senders) == ends]
    return WHOLE if relation.dense and len(beside) > 1 else ""


def _by_ranks(
    layer: int, cells: CellComplex, relation: Relation, weights: AttentionWeights, own: str
) -> Iterator[ArrowWeights]:
    sizes = np.array(cells.num_cells)
    receiver_starts = _starts(sizes[list(relation.receivers)])
    sender_starts = _starts(sizes[list(relation.senders)])
    receivers, senders, values = _arrays(weights)
    receiver_place = np.searchsorted(receiver_starts, receivers, side="right") - 1
    sender_place = np.searchsorted(sender_starts, senders, side="right") - 1
    for (place, sender), (at, receiver) in product(
        enumerate(relation.senders), enumerate(relation.receivers)
    ):
        chosen = np.flatnonzero((receiver_place == at) & (sender_place == place))
        if len(chosen):
            yield ArrowWeights(
                layer,
                f"{sender} -> {receiver}{own}",
                sender,
                receiver,
                receivers[chosen] - receiver_starts[at],
                senders[chosen] - sender_starts[place],
                values[chosen],
            )


def _starts(sizes: Int64[np.ndarray, " rank"]) -> Int64[np.ndarray, " rank_plus_1"]:
    return np.concatenate([[0], np.cumsum(sizes)])


def _names(relations: Sequence[Relation]) -> list[str]:
    """Of each relation its ranks, with the neighborhood where several join the same ones."""
    plain = [
        " -> ".join(" ".join(map(str, ranks)) for ranks in (relation.senders, relation.receivers))
        for relation in relations
    ]
    names = []
    for relation, ends in zip(relations, plain, strict=True):
        kinds = [arrow.neighborhood for arrow in relation.arrows]
        called = [kind if isinstance(kind, str) else getattr(kind, "__name__", "own")
                  for kind in kinds]  # fmt: skip
        names.append(f"{ends} ({', '.join(called)})" if plain.count(ends) > 1 else ends)
    return names


def _arrays(
    weights: AttentionWeights,
) -> tuple[
    Int64[np.ndarray, " pair"], Int64[np.ndarray, " pair"], Float64[np.ndarray, "pair head"]
]:
    return (
        weights.receivers.cpu().numpy(),
        weights.senders.cpu().numpy(),
        weights.weights.double().cpu().numpy(),
    )


def choose(found: Sequence[ArrowWeights], layer: int, arrow: str) -> ArrowWeights:
    """That of a layer and an arrow, such as "2->1"; ValueError, with those that are, if none."""
    wanted = arrow.replace(" ", "")
    for attention in found:
        if attention.layer == layer and attention.arrow.replace(" ", "") == wanted:
            return attention
    layers = sorted({attention.layer for attention in found})
    arrows = dict.fromkeys(attention.arrow for attention in found)
    raise ValueError(
        f"this prediction has no attention of layer {layer} along {arrow!r}; it has the layers "
        f"{layers[0]} to {layers[-1]} and the arrows {', '.join(arrows)}"
        if found
        else "this model has no layers, so there is no attention"
    )
