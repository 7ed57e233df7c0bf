"""The cellular transformer."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.encodings.pairs import pair_columns
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.embedding.embedding import CellEmbedding
from cellformer.model.layers.layer import LayerOptions
from cellformer.model.layers.layer_dropout import with_layer_left_out
from cellformer.model.layers.norms import norm_of
from cellformer.model.layers.pair_update import PairUpdate
from cellformer.model.layers.virtual_cell import VirtualCell
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.plans.reaching import reaching
from cellformer.model.readouts.named import ranks_normed, ranks_read, readout_of
from cellformer.model.relations.pair_encoder import PairEncoder
from cellformer.model.relations.pair_terms import Attended, Paired
from cellformer.model.relations.patterns import described_patterns, patterns, signed_patterns
from cellformer.model.words import model_told


class CellularTransformer(nn.Module):
    """Predicts ``outputs`` values for each complex of a batch, or each cell of one rank.

    ``plan`` says who attends to whom (`pairwise_mixed`, `general_sparse`, or your own); the ranks
    of its diagram are the ranks that the model knows and has parameters for. A batch of fewer
    ranks is ordinary input. Source: the paper, section "The Cellular Transformer".

    Where the configuration has a ``signed_width``, hidden vectors are [x | y] within the model, of
    which y changes its sign with the orientation of the cell; predictions depend on none.

    Raises ValueError if the configuration describes ranks that the plan does not know, or pairs or
    columns that flip or a reach where its layers do not read them, or descriptors, which
    `DescribedTransformer` reads.
    """

    def __init__(self, config: ModelConfig, plan: AttentionPlan):
        super().__init__()
        architecture, data = config.architecture, config.data
        if data.descriptors is not None:
            raise ValueError(
                "the configuration describes descriptors of complexes, which this model does not "
                "read; make a DescribedTransformer"
            )
        plan = reaching(plan, architecture)
        num_ranks = plan.diagram.num_ranks
        check_ranks(data.num_ranks, num_ranks, "the configuration describes")
        absent = num_ranks - data.num_ranks
        self.config = config
        self.plan = plan
        self.embedding = CellEmbedding(
            data.categories + ((),) * absent,
            data.continuous + (0,) * absent,
            data.encoding,
            architecture.width,
            concat_position=architecture.position == "concat",
            concat_edges=architecture.edge_signal == "concat",
            random_signs=architecture.random_signs,
            dropout=architecture.embedding_dropout,
            flipping=data.flipping,
            signed=data.signed,
            signed_width=architecture.signed_width,
            either_sign=_either_sign(config),
        )
        if architecture.signed_width and not getattr(plan, "reads_signs", False):
            raise ValueError(
                f"the layers of {type(plan).__name__} have no columns that flip with orientation; "
                "leave signed_width out, or give the plan an attribute reads_signs (see "
                "AttentionPlan)"
            )
        self.pair_encoders = nn.ModuleList(_pair_encoders(architecture, plan))
        options = _layer_options(architecture)
        self.layers = nn.ModuleList(plan.layer(options) for _ in range(architecture.layers))
        self.virtual_cells = nn.ModuleList(
            VirtualCell(architecture.width, options.feedforward())
            for _ in range(architecture.layers - 1 if architecture.virtual_cell else 0)
        )
        readout = readout_of(config)
        normed = ranks_normed(readout, num_ranks)
        self.final_norms = nn.ModuleList(
            norm_of(architecture.norm, architecture.width)
            if architecture.final_norm and rank in normed
            else nn.Identity()
            for rank in range(normed[-1] + 1)
        )
        self.readout = readout
        # Drawn last, so that all other weights start as they do without.
        self.pair_updates = nn.ModuleList(
            nn.ModuleList(_pair_updates(architecture, plan))
            for _ in range(architecture.layers - 1 if architecture.pair_updates else 0)
        )

    def __repr__(self) -> str:
        return model_told(self, self.config)

    def forward(self, batch: CellBatch) -> Float[Tensor, "row output"]:
        """One row per complex, or per cell where the data have a ``target_rank``.

        Raises ValueError if the batch has ranks or columns that the model does not know, and
        `DenseMemoryError` if its complexes are too large for dense attention by the reference.
        """
        return self.from_embedded(self.embedded(batch), batch)

    def embedded(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors of all cells before the first layer, one tensor per rank."""
        check_ranks(batch.dim + 1, self.plan.diagram.num_ranks, "the batch has")
        cells: list[Tensor] = self.embedding(batch)
        return cells

    def from_embedded(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "row output"]:
        """`forward` after the embedding: the prediction for these first hidden vectors."""
        vertices_only = tuple(ranks_read(self.readout, batch)) == (0,)
        return self.read_out(self.through_layers(cells, batch, vertices_only), batch)

    def read_out(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "row output"]:
        """The prediction from the hidden vectors after the last layer."""
        known = self.invariant(cells)
        normed = [norm(rows) for norm, rows in zip(self.final_norms, known, strict=False)]
        if self.config.data.flips:
            normed = self.with_invariant(cells, normed)
        prediction: Tensor = self.readout(normed, batch)
        return self._checked(prediction, batch)

    def invariant(
        self, cells: Sequence[Float[Tensor, "_ _"]]
    ) -> Sequence[Float[Tensor, "_ width"]]:
        """The columns of hidden vectors that do not depend on the orientation of their cell."""
        chosen = self.config.architecture
        return [rows[:, : chosen.width] for rows in cells] if chosen.signed_width else cells

    def with_invariant(
        self, cells: Sequence[Float[Tensor, "_ _"]], others: Sequence[Float[Tensor, "_ width"]]
    ) -> list[Float[Tensor, "_ _"]]:
        """The hidden vectors with others of these columns, as many ranks as there are of these."""
        chosen = self.config.architecture
        if not chosen.signed_width:
            return list(others)
        pairs = zip(others, cells, strict=False)
        return [torch.cat([own, rows[:, chosen.width :]], dim=1) for own, rows in pairs]

    def told_with_cells(
        self, batch: CellBatch
    ) -> tuple[Float[Tensor, "row output"], list[Float[Tensor, "_ width"]]]:
        """What `forward` gives, and what `embed` does."""
        cells = self.through_layers(self.embedded(batch), batch)
        return self.read_out(cells, batch), list(self.invariant(cells))

    def embed(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors of all cells after the last layer, one tensor per rank of the batch.

        They do not depend on orientations; `through_layers` gives the columns that do too. Raises
        ValueError as `forward` does.
        """
        return list(self.invariant(self.through_layers(self.embedded(batch), batch)))

    def embed_layers(self, batch: CellBatch) -> list[list[Float[Tensor, "_ width"]]]:
        """What `embed` gives, before the first layer and after each."""
        cells = self.embedded(batch)
        every = [cells, *self.layer_by_layer(cells, batch)]
        return [list(self.invariant(each)) for each in every]

    def through_layers(
        self,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
        vertices_only: bool = False,
    ) -> list[Float[Tensor, "_ width"]]:
        """`embed` for these first hidden vectors.

        With ``vertices_only``, other ranks may be left as they were before the last layer.
        """
        chosen = self.config.architecture
        between = self.virtual_cells or self.pair_updates
        if not between and not (chosen.layer_dropout and self.training):
            attended = self._attended(cells, batch)
            return self.plan.through(self.layers, cells, attended, vertices_only)
        found = list(cells)
        for after in self.layer_by_layer(cells, batch, vertices_only):
            found = after
        return found

    def layer_by_layer(
        self,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
        vertices_only: bool = False,
    ) -> Iterator[list[Float[Tensor, "_ width"]]]:
        """The hidden vectors after each layer, the last ones those of `through_layers`."""
        attended = self._attended(cells, batch)
        chosen = self.config.architecture
        found, virtual = list(cells), None
        for number in range(chosen.layers):
            layer, last = self.layers[number : number + 1], number + 1 == chosen.layers
            after = self.plan.through(layer, found, attended, vertices_only and last)
            if chosen.layer_dropout and self.training:
                part = chosen.layer_dropout * (number + 1) / chosen.layers
                after = with_layer_left_out(found, after, batch, part)
            found = after
            if self.virtual_cells and not last:
                known = self.invariant(found)
                virtual, told = self.virtual_cells[number](virtual, known, batch)
                found = self.with_invariant(found, told)
            if self.pair_updates and not last:
                attended = self._updated(number, attended, found)
            yield found

    def _updated(
        self,
        number: int,
        attended: Sequence[Attended | None],
        cells: Sequence[Float[Tensor, "_ width"]],
    ) -> list[Attended | None]:
        """What the layer after this one is told of pairs, by the cells that this one has made."""
        updates = self.pair_updates[number]
        assert isinstance(updates, nn.ModuleList)
        return [
            update(each, cells) if isinstance(each, Paired) else each
            for update, each in zip(updates, attended, strict=True)
        ]

    def _attended(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Sequence[Attended | None]:
        """Who attends to whom, with a vector for each pair where pairs are described."""
        architecture, relations = self.config.architecture, self.plan.relations(batch.dim)
        binary = architecture.neighbor_weights == "binary"
        if architecture.signed_width:
            return signed_patterns(batch, relations, binary)
        if not architecture.pair_width:
            return patterns(batch, relations, binary)
        found = described_patterns(batch, relations, binary, architecture.pair_steps)
        return [
            None if neighborhood is None else encoder(neighborhood, cells, batch)
            for encoder, neighborhood in zip(self.pair_encoders, found, strict=True)
        ]

    def _checked(self, prediction: Tensor, batch: CellBatch) -> Tensor:
        """The prediction, if it has the shape that a readout of the user's own must give it."""
        data = self.config.data
        expected = (batch.num_complexes, data.outputs)
        if data.target_rank is None and prediction.shape != expected:
            raise ValueError(
                f"the readout {self.config.architecture.readout} gave a tensor of shape "
                f"{tuple(prediction.shape)}; expected {expected}, complexes and outputs"
            )
        return prediction


def _either_sign(config: ModelConfig) -> tuple[Sequence[int], Sequence[int]]:
    """The columns that `SignNetwork` reads: of one sign for all ranks, and others."""
    chosen, data = config.architecture, config.data
    if not chosen.sign_invariant:
        return (), ()
    return data.shared_signs, data.rank_signs + (() if chosen.signed_width else data.flipping)


def _layer_options(architecture: ArchitectureConfig) -> LayerOptions:
    return LayerOptions(
        architecture.width,
        architecture.heads,
        architecture.inner_width,
        theta_per_head=architecture.theta_per_head,
        scale_scores=architecture.scale_scores,
        output_projection=architecture.output_projection,
        projection_bias=architecture.projection_bias,
        attention_dropout=architecture.attention_dropout,
        dropout=architecture.dropout,
        pair_width=architecture.pair_width,
        pair_values=architecture.pair_values,
        norm=architecture.norm,
        degree_scaling=architecture.degree_scaling,
        gate=architecture.gate,
        signed_width=architecture.signed_width,
    )


def _pair_encoders(architecture: ArchitectureConfig, plan: AttentionPlan) -> list[PairEncoder]:
    """One for each relation; none where pairs are not described."""
    if not architecture.pair_width:
        return []
    if not getattr(plan, "reads_pairs", False):
        raise ValueError(
            f"the layers of {type(plan).__name__} do not read vectors of pairs; leave pair_width "
            "out, or give the plan an attribute reads_pairs (see AttentionPlan)"
        )
    columns = pair_columns(architecture.pair_steps)
    return [
        PairEncoder(relation, columns, architecture.width, architecture.pair_width)
        for relation in plan.relations(plan.diagram.max_rank)
    ]


def _pair_updates(architecture: ArchitectureConfig, plan: AttentionPlan) -> list[PairUpdate]:
    """One for each relation, of the pairs between two layers."""
    return [
        PairUpdate(relation, architecture.width, architecture.pair_width, architecture.norm)
        for relation in plan.relations(plan.diagram.max_rank)
    ]


def check_ranks(given: int, known: int, what: str) -> None:
    """Raises ValueError, about what was given, for more ranks than a model knows."""
    if given > known:
        raise ValueError(
            f"{what} cells of rank {given - 1}, but the model's diagram ends at rank {known - 1}; "
            f"use a plan with max_rank={given - 1}, or lift to a lower dimension"
        )
