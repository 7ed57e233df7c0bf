"""A transform that adds the cells of a lifting, and their encodings, to PyG data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cellformer.data.interop.pyg_data import from_pyg
from cellformer.encodings.encode import Encoding, encode
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import Lifting, lift

if TYPE_CHECKING:
    import torch_geometric.data

    from cellformer.data.interop.pyg_cells import CellData


@dataclass(frozen=True)
class AddCells:
    """A ``transform`` or ``pre_transform`` for any data set of PyG, alone or in a ``Compose``.

    What the data hold stays as it is; `complex_to_pyg` says what is added. `batch_from_pyg` turns
    batches of PyG's loader into those of `CellularTransformer`.
    """

    encodings: Sequence[Encoding] = ()
    """Encodings of the cells of every rank, side by side."""
    lifting: Lifting = InducedCycles()  # noqa: RUF009 - frozen
    """How a graph becomes a complex."""
    max_rank: int = 2
    """Ranks that every item gets, possibly without cells, so that items can be batched."""

    def __call__(self, data: "torch_geometric.data.Data") -> "CellData":
        """Raises what `from_pyg`, the lifting and the encodings raise, and for too high a rank."""
        from cellformer.data.interop.pyg_cells import complex_to_pyg

        cells = encode(lift(from_pyg(data), self.lifting), list(self.encodings))
        return complex_to_pyg(cells, data, self.max_rank)
