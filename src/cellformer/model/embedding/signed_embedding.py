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

    A vertex cannot be reversed, so its y learns from its x too. ``fields`` is the number of
    features of each rank that flip, ``encodings`` that of columns of the encodings. Features are
    divided by their ``scale``, which is 1 until `standardize_features` sets it.
    """

    def __init__(self, fields: Sequence[int], encodings: int, width: int, signed_width: int):
        super().__init__()
        given = [(str(rank), number + encodings) for rank, number in enumerate(fields)]
        given = [(rank, number) for rank, number in given if number]
        self.flipping = nn.ModuleDict(
            {rank: nn.Linear(number, signed_width, bias=False) for rank, number in given}
        )
        self.sizes = nn.ModuleDict(
            {rank: nn.Linear(number, width, bias=False) for rank, number in given}
        )
        self.vertices = nn.Linear(width, signed_width, bias=False)
        for rank, number in enumerate(fields):
            self.register_buffer(f"scale_{rank}", torch.ones(number))

    def forward(
        self,
        cells: Sequence[Float[Tensor, "_ width"]],
        fields: Sequence[Float[Tensor, "_ _"]],
        encodings: Sequence[Float[Tensor, "_ flipping"]],
    ) -> list[Float[Tensor, "_ both"]]:
        """[x | y] of every rank, of these x and the given columns."""
        both = []
        for rank, (x, own, told) in enumerate(zip(cells, fields, encodings, strict=True)):
            if str(rank) in self.flipping:
                scaled = own / self.get_buffer(f"scale_{rank}")
                rows = torch.cat([scaled.to(x.dtype), told.to(x.dtype)], dim=1)
                x, y = x + self.sizes[str(rank)](rows.abs()), self.flipping[str(rank)](rows)
            else:
                y = x.new_zeros(len(x), self.vertices.out_features)
            both.append(torch.cat([x, y + self.vertices(x) if rank == 0 else y], dim=1))
        return both


def sized(
    batch: CellBatch,
    encodings: Sequence[Float[Tensor, "_ encoding"]],
    flipping: Int64[Tensor, " flipping"],
) -> list[Float[Tensor, "_ flipping"]]:
    """The columns of the encodings that flip, of every rank, in a size that all complexes share.

    They are times the square root of the number of cells of the rank in the complex, so that the
    eigenvectors of a large complex are as large as those of a small one.
    """
    given = []
    for rank, rows in enumerate(encodings):
        root = batch.offsets[rank].diff().to(rows.dtype).sqrt().unsqueeze(1)
        given.append(rows[:, flipping] * gather_rows(root, batch.complex_of(rank)))
    return given
