"""Who answers while a model trains, in words."""

from torch import nn

from cellformer.model.described import DescribedTransformer
from cellformer.model.descriptors.kernel_head import KernelHead


def answering(model: nn.Module) -> str:
    """What validates while a model trains, as words after a score; empty where it is all of it.

    The share of what is known of complexes as wholes is chosen when training has ended.
    """
    counts = model.counts if isinstance(model, DescribedTransformer) else None
    if counts is None:
        return ""
    return " of the cells alone" if isinstance(counts, KernelHead) else " of cells and counts alike"
