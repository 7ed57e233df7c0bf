"""How far around its own cells a patch has to reach."""

import logging
from dataclasses import replace

from cellformer.encodings.encode import reach_of
from cellformer.model.plans.named import attention_plan
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.plans.reach import steps_seen
from cellformer.training.config import RunConfig
from cellformer.training.materials.preparation import preparation_of

logger = logging.getLogger(__name__)


def with_halo(config: RunConfig, plan: AttentionPlan | None = None) -> RunConfig:
    """The configuration, with the halo of patches where they are asked for without one.

    It is as far as the model and the encodings make a cell see, so that a patch gives its own cells
    what the whole complex would. Raises ValueError where that is the whole complex.
    """
    data = config.data
    if data.patch_cells is None or data.patch_halo is not None:
        return config
    chosen = plan or attention_plan(config.attention)
    whole = replace(data, patch_cells=None)
    encodings = preparation_of(whole, whole.source).encodings
    try:
        halo = steps_seen(chosen, config.model, chosen.diagram.num_ranks - 1) + reach_of(encodings)
    except ValueError as error:
        raise ValueError(
            f"data.patch_cells: {error}, so that patches would change the predictions; where they "
            "may, say data.patch_halo"
        ) from error
    logger.info("patches of about %d cells reach %d steps around these", data.patch_cells, halo)
    return replace(config, data=replace(data, patch_halo=halo))
