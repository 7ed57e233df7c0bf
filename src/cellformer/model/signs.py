"""Random signs of encodings, drawn anew for every training step."""

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.attention.segments import gather_rows
from cellformer.complexes.batch import CellBatch
from cellformer.complexes.cell_complex import RANK_SIGN, SHARED_SIGN


def with_random_signs(batch: CellBatch) -> tuple[Float[Tensor, "_ encoding"], ...]:
    """The batch's encodings, each column of each complex times a sign where that is ambiguous.

    A column of kind SHARED_SIGN has one sign for all ranks of a complex, one of kind RANK_SIGN
    one for each rank, any other column none.
    """
    kinds = batch.encoding_signs
    shape = (batch.num_complexes, len(kinds))
    shared = _draw(shape, batch.device)
    signed = []
    for rank, encodings in enumerate(batch.encodings):
        signs = torch.where(kinds == RANK_SIGN, _draw(shape, batch.device), shared)
        signs = signs.where((kinds == RANK_SIGN) | (kinds == SHARED_SIGN), 1)
        signed.append(encodings * gather_rows(signs, batch.complex_of(rank)).to(encodings.dtype))
    return tuple(signed)


def _draw(shape: tuple[int, int], device: torch.device) -> Float[Tensor, "complex encoding"]:
    return 2 * torch.randint(2, shape, device=device).float() - 1
