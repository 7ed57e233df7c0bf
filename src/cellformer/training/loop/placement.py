"""Whether the complexes stay in their store or move to the device of the model."""

import logging

import torch

from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.model.described import CellModel
from cellformer.model.device_neighborhoods import resident_for
from cellformer.training.config import TrainingConfig
from cellformer.training.loop.devices import device_of

logger = logging.getLogger(__name__)

SHARE = 0.25  # of the free memory of a GPU


def placed(
    complexes: RaggedComplexes, model: CellModel, config: TrainingConfig
) -> RaggedComplexes | ResidentComplexes:
    """The complexes where ``config.resident`` wants them."""
    device = device_of(config)
    if config.resident is True:
        return _placed(complexes, model, device, limit=None)
    if config.resident is False or device == "cpu" or config.loader_workers:
        return complexes
    return _placed(complexes, model, device, limit=int(SHARE * torch.cuda.mem_get_info()[0]))


def _placed(
    complexes: RaggedComplexes, model: CellModel, device: str, limit: int | None
) -> RaggedComplexes | ResidentComplexes:
    """On the device, unless they take up more bytes than the limit."""
    if limit is not None and _stored_bytes(complexes) > limit:  # the neighborhoods come on top
        return complexes
    resident = resident_for(model, complexes)
    if limit is not None and resident.nbytes > limit:
        return complexes
    megabytes = resident.nbytes / 1e6
    logger.info("%d complexes take up %.0f MB on %s", len(complexes), megabytes, device)
    return resident.to(device)


def _stored_bytes(complexes: RaggedComplexes) -> int:
    return sum(rank.lying(name).nbytes for rank in complexes.ranks for name in RaggedRank.ARRAYS)
