"""The cellular transformer."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.descriptors import CountHead, DescriptorValues
from cellformer.model.embedding import CellEmbedding
from cellformer.model.layer import AttentionOptions, FeedForward, GeneralLayer, PairwiseLayer
from cellformer.model.patterns import patterns
from cellformer.model.plan import AttentionPlan, General, Pairwise
from cellformer.model.readout import CellReadout, Readout


class CellularTransformer(nn.Module):
    """Predicts ``outputs`` values for each complex of a batch, or each cell of one rank.

    ``plan`` says who attends to whom (`pairwise_mixed`, `general_sparse`, or your own); the ranks
    of its diagram are the ranks that the model knows and has parameters for. A batch of fewer
    ranks is ordinary input. Source: the paper, section "The Cellular Transformer".

    Raises ValueError if the configuration describes ranks that the plan does not know.
    """

    def __init__(self, config: ModelConfig, plan: AttentionPlan):
        super().__init__()
        architecture, data = config.architecture, config.data
        num_ranks = plan.diagram.num_ranks
        _check_ranks(data.num_ranks, num_ranks, "the configuration describes")
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
        )
        self.layers = nn.ModuleList(_layer(architecture, plan) for _ in range(architecture.layers))
        read = _ranks_read(config, num_ranks)
        self.final_norms = nn.ModuleList(
            nn.LayerNorm(architecture.width)
            if architecture.final_norm and rank in read
            else nn.Identity()
            for rank in range(read[-1] + 1)
        )
        self.readout = _readout(config)
        described = data.descriptors
        self.values = (
            DescriptorValues(described, architecture.width, data.outputs)
            if described is not None and described.mean
            else None
        )
        self.counts = (
            CountHead(
                described,
                0 if self.values is None else self.values.columns,
                architecture.descriptor_width,
                data.outputs,
                architecture.descriptor_dropout,
            )
            if described is not None and described.counts
            else None
        )

    def forward(self, batch: CellBatch) -> Float[Tensor, "row output"]:
        """One row per complex, or per cell where the data have a ``target_rank``.

        Raises ValueError if the batch has ranks or columns that the model does not know, and
        `DenseMemoryError` if its complexes are too large for dense attention by the reference.
        """
        return self.from_embedded(self._embedding_of(batch), batch)

    def from_embedded(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "row output"]:
        """`forward` after the embedding: the prediction for these first hidden vectors."""
        prediction = self._from_cells(cells, batch)
        if self.counts is None:
            return prediction
        return self.counts.joined(prediction, self._from_counts(self.counts, batch))

    def opinions(self, batch: CellBatch) -> list[Float[Tensor, "row output"]]:
        """The prediction from the cells and, where complexes are described by counts, that from
        the counts; `forward` gives a weighted mean of the two.
        """
        from_cells = self._from_cells(self._embedding_of(batch), batch)
        if self.counts is None:
            return [from_cells]
        return [from_cells, self._from_counts(self.counts, batch)]

    def _from_counts(self, head: CountHead, batch: CellBatch) -> Float[Tensor, "row output"]:
        prediction: Tensor = head(batch, None if self.values is None else self.values.known(batch))
        return prediction

    def _from_cells(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "row output"]:
        vertices_only = tuple(self.readout.ranks(batch)) == (0,)
        cells = self._through_layers(cells, batch, vertices_only)
        normed = [norm(rows) for norm, rows in zip(self.final_norms, cells, strict=False)]
        prediction: Tensor = self.readout(normed, batch)
        if self.values is not None:
            prediction = prediction + self.values(self.values.known(batch))
        return prediction

    def embed(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors of all cells after the last layer, one tensor per rank of the batch.

        Raises ValueError as `forward` does.
        """
        return self._through_layers(self._embedding_of(batch), batch)

    def _embedding_of(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        _check_ranks(batch.dim + 1, self.plan.diagram.num_ranks, "the batch has")
        cells: list[Tensor] = self.embedding(batch)
        return cells

    def _through_layers(
        self,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
        vertices_only: bool = False,
    ) -> list[Float[Tensor, "_ width"]]:
        """With ``vertices_only``, other ranks may be left as they were before the last layer."""
        if self.values is not None:
            cells = self.values.shifted(cells, self.values.known(batch), batch)
        binary = self.config.architecture.neighbor_weights == "binary"
        pattern_of_arrow = patterns(batch, self.plan, binary)
        match self.plan:
            case Pairwise():
                for number, layer in enumerate(self.layers, start=1):
                    last = number == len(self.layers)
                    cells = layer(cells, pattern_of_arrow, vertices_only and last)
                return list(cells)
            case General():
                tokens = torch.cat(list(cells))
                for layer in self.layers:
                    tokens = layer(tokens, *pattern_of_arrow, cells)
                return list(torch.split(tokens, [len(rows) for rows in cells]))


def _ranks_read(config: ModelConfig, num_ranks: int) -> range:
    rank = config.data.target_rank
    if rank is not None:
        return range(rank, rank + 1)
    return range(num_ranks if config.architecture.readout_cells == "all" else 1)


def _readout(config: ModelConfig) -> Readout | CellReadout:
    architecture, data = config.architecture, config.data
    if data.target_rank is not None:
        return CellReadout(
            architecture.width,
            architecture.readout_layers,
            data.outputs,
            rank=data.target_rank,
            dropout=architecture.readout_dropout,
        )
    return Readout(
        architecture.width,
        architecture.readout_layers,
        data.outputs,
        all_ranks=architecture.readout_cells == "all",
        mean=architecture.pooling == "mean",
        dropout=architecture.readout_dropout,
    )


def _layer(architecture: ArchitectureConfig, plan: AttentionPlan) -> PairwiseLayer | GeneralLayer:
    options = AttentionOptions(
        architecture.width,
        architecture.heads,
        theta_per_head=architecture.theta_per_head,
        scale_scores=architecture.scale_scores,
        output_projection=architecture.output_projection,
        projection_bias=architecture.projection_bias,
        attention_dropout=architecture.attention_dropout,
        dropout=architecture.dropout,
    )

    def feedforward() -> FeedForward:
        return FeedForward(architecture.width, architecture.inner_width, architecture.dropout)

    match plan:
        case Pairwise(diagram):
            return PairwiseLayer(
                diagram, options, [feedforward() for _ in range(diagram.num_ranks)]
            )
        case General(diagram, dense):
            return GeneralLayer(diagram.num_ranks, dense, options, feedforward())


def _check_ranks(given: int, known: int, what: str) -> None:
    if given > known:
        raise ValueError(
            f"{what} cells of rank {given - 1}, but the model's diagram ends at rank {known - 1}; "
            f"use a plan with max_rank={given - 1}, or lift to a lower dimension"
        )
