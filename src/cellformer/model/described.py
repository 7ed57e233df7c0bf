"""A cellular transformer beside what is known of complexes as wholes.

*Not in the paper*, whose complexes have no descriptors.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from jaxtyping import Float
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import DescriptorShape, ModelConfig
from cellformer.model.descriptors.descriptors import CountHead, DescriptorValues
from cellformer.model.descriptors.kernel_head import KernelHead
from cellformer.model.embedding.embedding import CellEmbedding
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.transformer import CellularTransformer
from cellformer.model.words import model_told

OF_TRANSFORMER = ("embedding", "layers", "final_norms", "readout")
"""What the transformer consists of."""


class DescribedTransformer(nn.Module):
    """Predicts for complexes that have descriptors: from their cells, values and counts.

    Values move the hidden vectors of the cells before the first layer, and the prediction
    (`DescriptorValues`); counts have a prediction of their own (`KernelHead` or `CountHead`).
    Raises ValueError
    if the configuration describes no descriptors, and as `CellularTransformer` does.
    """

    def __init__(self, config: ModelConfig, plan: AttentionPlan):
        super().__init__()
        described, architecture = config.data.descriptors, config.architecture
        if described is None:
            raise ValueError(
                "the configuration describes no descriptors of complexes; make a "
                "CellularTransformer"
            )
        outputs = config.data.outputs
        self.config = config
        self.transformer = CellularTransformer(
            replace(config, data=replace(config.data, descriptors=None)), plan
        )
        self.values = (
            DescriptorValues(described, architecture.width, outputs) if described.mean else None
        )
        self.counts = _count_head(config, described, self.values) if described.counts else None
        self.register_load_state_dict_pre_hook(_within)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return model_told(self, self.config)

    @property
    def plan(self) -> AttentionPlan:
        """Who attends to whom."""
        return self.transformer.plan

    @property
    def embedding(self) -> CellEmbedding:
        """The first layer of the transformer."""
        return self.transformer.embedding

    @property
    def layers(self) -> nn.ModuleList:
        """The layers of the transformer."""
        return self.transformer.layers

    def forward(self, batch: CellBatch) -> Float[Tensor, "complex output"]:
        """One row per complex.

        Raises ValueError if the batch has other descriptors than the model knows, and as
        `CellularTransformer` does.
        """
        return self.from_embedded(self.embedded(batch), batch)

    def embedded(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors of all cells before values move them, one tensor per rank."""
        return self.transformer.embedded(batch)

    def from_embedded(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "complex output"]:
        """`forward` after the embedding: the prediction for these first hidden vectors."""
        return self._with_counts(self._from_cells(cells, batch), batch)

    def told_with_cells(
        self, batch: CellBatch
    ) -> tuple[Float[Tensor, "complex output"], list[Float[Tensor, "_ width"]]]:
        """What `forward` gives, and what `embed` does."""
        transformer = self.transformer
        cells = transformer.through_layers(self._moved(self.embedded(batch), batch), batch)
        told = self._with_values(transformer.read_out(cells, batch), batch)
        return self._with_counts(told, batch), list(transformer.invariant(cells))

    def opinions(self, batch: CellBatch) -> list[Float[Tensor, "complex output"]]:
        """The prediction from the cells and, where complexes are described by counts, that from
        the counts; `forward` gives a weighted mean of the two.
        """
        from_cells = self._from_cells(self.embedded(batch), batch)
        if self.counts is None or not self.counts.answers:
            return [from_cells]
        return [from_cells, self._from_counts(self.counts, batch)]

    def embed(self, batch: CellBatch) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors of all cells after the last layer, one tensor per rank of the batch.

        Raises ValueError as `forward` does.
        """
        moved = self._moved(self.embedded(batch), batch)
        return list(self.transformer.invariant(self.transformer.through_layers(moved, batch)))

    def embed_layers(self, batch: CellBatch) -> list[list[Float[Tensor, "_ width"]]]:
        """What `embed` gives, before the first layer and after each."""
        moved = self._moved(self.embedded(batch), batch)
        every = [moved, *self.transformer.layer_by_layer(moved, batch)]
        return [list(self.transformer.invariant(each)) for each in every]

    def _from_cells(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "complex output"]:
        return self._with_values(
            self.transformer.from_embedded(self._moved(cells, batch), batch), batch
        )

    def _with_counts(
        self, prediction: Float[Tensor, "complex output"], batch: CellBatch
    ) -> Float[Tensor, "complex output"]:
        """The prediction joined with that of the counts, once these answer."""
        if self.counts is None or not self.counts.answers:
            return prediction
        return self.counts.joined(prediction, self._from_counts(self.counts, batch))

    def _with_values(
        self, prediction: Float[Tensor, "complex output"], batch: CellBatch
    ) -> Float[Tensor, "complex output"]:
        if self.values is None:
            return prediction
        added: Tensor = self.values(self.values.known(batch))
        return prediction + added

    def _from_counts(
        self, head: CountHead | KernelHead, batch: CellBatch
    ) -> Float[Tensor, "complex output"]:
        known = None if self.values is None else self.values.known(batch)
        prediction: Tensor = head(batch) if isinstance(head, KernelHead) else head(batch, known)
        return prediction

    def _moved(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Sequence[Float[Tensor, "_ width"]]:
        if self.values is None:
            return cells
        known, transformer = self.values.known(batch), self.transformer
        shifted = self.values.shifted(transformer.invariant(cells), known, batch)
        return transformer.with_invariant(cells, shifted)


def _count_head(
    config: ModelConfig, described: DescriptorShape, values: DescriptorValues | None
) -> CountHead | KernelHead:
    architecture, outputs = config.architecture, config.data.outputs
    if architecture.descriptor_head == "kernel":
        return KernelHead(described, outputs)
    return CountHead(
        described,
        0 if values is None else values.columns,
        architecture.descriptor_width,
        outputs,
        architecture.descriptor_dropout,
    )


def kernels_of(model: nn.Module) -> KernelHead | None:
    """The regression by kernels that answers beside the cells of a model, if one does."""
    counts = model.counts if isinstance(model, DescribedTransformer) else None
    return counts if isinstance(counts, KernelHead) else None


CellModel: TypeAlias = CellularTransformer | DescribedTransformer
"""What a run trains."""


def share_of_cells(model: CellModel) -> float:
    """What part of a prediction comes from the cells; the rest comes from counts beside them."""
    if not isinstance(model, DescribedTransformer) or model.counts is None:
        return 1.0
    return 1 - float(model.counts.get_buffer("share"))


def transformer_of(model: CellModel) -> CellularTransformer:
    """The paper's model, which may stand within another one."""
    return model.transformer if isinstance(model, DescribedTransformer) else model


def cell_model(config: ModelConfig, plan: AttentionPlan) -> CellModel:
    """A model with fresh weights: the paper's, within another one where there are descriptors."""
    if config.data.descriptors is None:
        return CellularTransformer(config, plan)
    return DescribedTransformer(config, plan)


def _within(module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Weights of before name what the transformer consists of as parts of the whole."""
    for name in list(state):
        own = name.removeprefix(prefix)
        if name.startswith(prefix) and own.partition(".")[0] in OF_TRANSFORMER:
            state[f"{prefix}transformer.{own}"] = state.pop(name)
