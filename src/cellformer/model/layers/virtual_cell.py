"""One more cell for each complex, from and to which all others send between the layers.

*Not in the paper*.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.segments import segment_sum
from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.layers.layer import FeedForward


class VirtualCell(nn.Module):
    """Reads the mean of all cells of a complex, and is added to each of them.

    The linear map to the cells starts at zero. Source: the virtual node of Gilmer et al., "Neural
    Message Passing for Quantum Chemistry" (2017), for the cells of all ranks.
    """

    def __init__(self, width: int, feedforward: FeedForward):
        super().__init__()
        self.feedforward = feedforward
        self.to_cells = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.to_cells.weight)

    def forward(
        self,
        state: Float[Tensor, "complex width"] | None,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
    ) -> tuple[Float[Tensor, "complex width"], list[Float[Tensor, "_ width"]]]:
        """The state of the virtual cells after they have read, and the cells that have read them.

        Without a state they have read nothing yet.
        """
        offsets = batch.offsets[: len(cells)]
        total = sum(segment_sum(rows, ends) for rows, ends in zip(cells, offsets, strict=True))
        assert isinstance(total, Tensor)
        number = torch.stack([ends.diff() for ends in offsets]).sum(0).clamp(min=1)
        mean = total / number.to(total.dtype).unsqueeze(1)
        read: Tensor = self.feedforward(mean if state is None else state + mean)
        sent = self.to_cells(read)
        return read, [rows + sent[batch.complex_of(rank)] for rank, rows in enumerate(cells)]
