"""Random signs of encodings, drawn anew for every training step."""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.attention.segments import gather_rows
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.cell_complex import FLIPPING_SIGN, RANK_SIGN, SHARED_SIGN


def with_random_signs(batch: CellBatch) -> tuple[Float[Tensor, "_ encoding"], ...]:
    """The batch's encodings, each column of each complex times a sign where that is ambiguous.

    A column of kind SHARED_SIGN has one sign for all ranks of a complex, one of kind RANK_SIGN
    or FLIPPING_SIGN one for each rank, any other column none. The complexes of a part of a batch
    have the signs that they have in the whole.
    """
    kinds = batch.encoding_signs
    of_rank = (kinds == RANK_SIGN) | (kinds == FLIPPING_SIGN)
    draw = partial(_draw, batch, _generator(batch))
    shared = draw()
    signed = []
    for rank, encodings in enumerate(batch.encodings):
        signs = torch.where(of_rank, draw(), shared)
        signs = signs.where(of_rank | (kinds == SHARED_SIGN), 1)
        signed.append(encodings * gather_rows(signs, batch.complex_of(rank)).to(encodings.dtype))
    return tuple(signed)


def _generator(batch: CellBatch) -> torch.Generator | None:
    """A part has the numbers that the global generator gives for the whole, seeded alike."""
    if batch.part is None:
        return None
    return torch.Generator(batch.device).manual_seed(batch.part.seed)


def _draw(batch: CellBatch, generator: torch.Generator | None) -> Float[Tensor, "complex encoding"]:
    part, columns = batch.part, len(batch.encoding_signs)
    rows = batch.num_complexes if part is None else part.total
    signs = torch.randint(2, (rows, columns), generator=generator, device=batch.device)
    chosen = signs if part is None else signs[part.places.to(batch.device)]
    return 2 * chosen.float() - 1
