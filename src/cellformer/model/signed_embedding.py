"""Where the columns that flip with the orientation of a cell start from.

*Not in the paper*, whose models read such encodings as they are, so that the orientations matter.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from cellformer.attention.segments import gather_rows
from cellformer.complexes.batches.batch import CellBatch


class SignedEmbedding(nn.Module):
    """From given columns that flip to y, and to x by their sizes.

    A vertex cannot be reversed, so its y learns from its x too. ``columns`` is the number of given
    columns of each rank.
    """

    def __init__(self, columns: Sequence[int], width: int, signed_width: int):
        super().__init__()
        given = [(str(rank), number) for rank, number in enumerate(columns) if number]
        self.flipping = nn.ModuleDict(
            {rank: nn.Linear(number, signed_width, bias=False) for rank, number in given}
        )
        self.sizes = nn.ModuleDict(
            {rank: nn.Linear(number, width, bias=False) for rank, number in given}
        )
        self.vertices = nn.Linear(width, signed_width, bias=False)

    def forward(
        self, cells: Sequence[Float[Tensor, "_ width"]], given: Sequence[Float[Tensor, "_ _"]]
    ) -> list[Float[Tensor, "_ both"]]:
        """[x | y] of every rank, of these x and the given columns."""
        both = []
        for rank, (x, columns) in enumerate(zip(cells, given, strict=True)):
            if str(rank) in self.flipping:
                rows = columns.to(x.dtype)
                x, y = x + self.sizes[str(rank)](rows.abs()), self.flipping[str(rank)](rows)
            else:
                y = x.new_zeros(len(x), self.vertices.out_features)
            both.append(torch.cat([x, y + self.vertices(x) if rank == 0 else y], dim=1))
        return both


def signed_inputs(
    batch: CellBatch,
    encodings: Sequence[Float[Tensor, "_ encoding"]],
    flipping: Int64[Tensor, " flipping"],
) -> list[Float[Tensor, "_ flipping"]]:
    """The given columns of every rank: the encodings that flip.

    They are times the square root of the number of cells of the rank in the complex, so that the
    eigenvectors of a large complex are as large as those of a small one.
    """
    given = []
    for rank, rows in enumerate(encodings):
        root = batch.offsets[rank].diff().to(rows.dtype).sqrt().unsqueeze(1)
        given.append(rows[:, flipping] * gather_rows(root, batch.complex_of(rank)))
    return given
