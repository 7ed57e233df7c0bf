"""The readout of a model, by its name."""

from collections.abc import Sequence

from torch import nn

from cellformer.basics.parts.catalog import called
from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.catalogs import READOUTS
from cellformer.model.config import ModelConfig
from cellformer.model.readouts.readout import CellReadout, FlippingReadout, Readout


def readout_of(config: ModelConfig) -> nn.Module:
    """What reads out the cells of a model: of one rank, or those of each complex together.

    A readout of your own is called with the ``width`` of the cells, the number of ``outputs`` and
    the arguments in its text. It is a module whose ``forward(cells, batch)`` gives a row for every
    complex; its method ``ranks(batch)``, if it has one, says which ranks it reads, where others
    need not be computed. Raises ValueError where it cannot be made, PartRefusedError for a module
    that was not named by `allow_parts`.
    """
    chosen, data = config.architecture, config.data
    if data.target_rank is not None and data.flips:
        return FlippingReadout(
            chosen.width,
            chosen.signed_width,
            chosen.readout_layers,
            data.outputs,
            rank=data.target_rank,
            dropout=chosen.readout_dropout,
        )
    if data.target_rank is not None:
        return CellReadout(
            chosen.width,
            chosen.readout_layers,
            data.outputs,
            rank=data.target_rank,
            dropout=chosen.readout_dropout,
        )
    settings = {name: getattr(chosen, name) for name in READOUTS.settings}
    found, arguments = READOUTS.find(chosen.readout, **settings)
    what = f"the readout {chosen.readout}"
    given = {"width": chosen.width, "outputs": data.outputs, **arguments}
    readout = called(found, given, what, factory=True)
    if not isinstance(readout, nn.Module):
        raise ValueError(f"{what} gives {type(readout).__name__}, which is no torch.nn.Module")
    return readout


def ranks_read(readout: nn.Module, batch: CellBatch) -> Sequence[int]:
    """The ranks that a readout reads in a batch: all, unless it says which."""
    own = getattr(readout, "ranks", None)
    ranks: Sequence[int] = range(batch.dim + 1) if own is None else own(batch)
    return ranks


def ranks_normed(readout: nn.Module, num_ranks: int) -> range:
    """The ranks that a readout may read, whatever the batch, of those that a model knows."""
    match readout:
        case CellReadout() | FlippingReadout():
            return range(readout.rank, readout.rank + 1)
        case Readout(all_ranks=False):
            return range(1)
        case _:
            return range(num_ranks)
