"""What kernels say of the validation complexes, beside the cells that are still learning."""

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.descriptors.kernel_head import KernelHead


class KernelsBeside:
    """Answers of a fitted head, which stay the same from epoch to epoch, batch by batch."""

    def __init__(self, head: KernelHead):
        self.head = head.eval()
        self.answers: dict[int, Float[Tensor, "complex output"]] = {}

    @torch.no_grad()
    def said_of(self, batch: CellBatch, number: int) -> Float[Tensor, "complex output"]:
        """What is said of the validation batch of this number, asked for once."""
        if number not in self.answers:
            self.answers[number] = self.head.to(batch.device)(batch).float()
        return self.answers[number]
