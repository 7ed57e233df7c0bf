"""Choices about a model that its data or its attention have no use for."""

from collections.abc import Iterator

from cellformer.basics.parts.reference import Reference
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.plans.reaching import reaching


def refuse_unused(config: ModelConfig, plan: AttentionPlan) -> None:
    """Raises ValueError, naming it, for a choice other than the default that changes nothing.

    Called before a training only, as models that were trained with such a choice are still read.
    """
    chosen = config.architecture
    for name, use in _unused(config, plan):
        default = getattr(ArchitectureConfig, name)
        if getattr(chosen, name) != default:
            raise ValueError(f"model.{name} is of use {use} only; leave it at {default}")


def _unused(config: ModelConfig, plan: AttentionPlan) -> Iterator[tuple[str, str]]:
    """Fields that change nothing here, and where they do."""
    chosen, data = config.architecture, config.data
    if data.target_rank is not None:
        yield "readout_cells", "where complexes are predicted, and here their cells are,"
        yield "pooling", "where complexes are predicted, and here their cells are,"
    if Reference.parse(chosen.readout).arguments.get("hidden_layers", chosen.readout_layers) == 0:
        yield "readout_dropout", "with readout_layers"
    if not data.encoding:
        yield "position", "with positional encodings"
    relations = reaching(plan, chosen).relations(plan.diagram.max_rank)
    flipping = data.flipping and not chosen.signed_width
    if not (data.shared_signs or data.rank_signs or flipping):
        yield "sign_invariant", "with encodings whose signs are ambiguous, such as bspe,"
    elif chosen.sign_invariant and not chosen.signed_width:
        yield "random_signs", "without model.sign_invariant"
    if not any(relation.dense for relation in relations):
        yield "theta_per_head", "with dense attention"
    if chosen.layers == 0:
        for name in ("degree_scaling", "gate", "reach", "layer_dropout", "signed_width"):
            yield name, "with layers"
        if not chosen.final_norm:
            yield "norm", "with layers"
    if chosen.layers < 2:
        yield "virtual_cell", "between layers"
        yield "pair_updates", "between layers"
    if data.descriptors is None or not data.descriptors.counts:
        for name in ("descriptor_width", "descriptor_dropout", "descriptor_head"):
            yield name, "to complexes that counts describe (data.molecule_descriptors)"
