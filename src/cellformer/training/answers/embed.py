"""What a trained model knows of a complex, or of each of its cells, as a vector."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor, nn

from cellformer.basics.progress import progress
from cellformer.basics.suggestions import unknown_choice
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.loading.loader import batches
from cellformer.data.preparation import Source
from cellformer.data.tables.table import Table
from cellformer.model.described import CellModel, transformer_of
from cellformer.model.readouts.named import ranks_read
from cellformer.model.readouts.readout import pooled_cells
from cellformer.training.answers.answer import open_input, prepared_rows
from cellformer.training.answers.cell_predictions import cell_rows
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.answers.predictor import answering_on
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.loop.devices import device_of

Pool: TypeAlias = Literal["mean", "sum", "both"]
LayerChoice: TypeAlias = Literal["last", "all"]


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A vector for each row of a source, or for each cell of a rank; NaN, and why, where none is.

    Given to numpy, as in ``np.asarray(embeddings)``, it is the vectors.

    Args:
        vectors: A row for each of the others' entries.
        row: The number of the row in its source.
        reasons: Why there is no vector; empty where there is one.
        cell: Of vectors of cells, the number of the cell in its complex.
    """

    vectors: Float32[np.ndarray, "row width"]
    row: Int64[np.ndarray, " row"]
    reasons: tuple[str, ...]
    cell: "pd.Series[int] | None" = None

    def __len__(self) -> int:
        return len(self.vectors)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.vectors, dtype, copy=copy)  # type: ignore[call-overload, no-any-return]

    def columns(self) -> dict[str, Float32[np.ndarray, " row"]]:
        """The columns of the vectors, ``vector_0`` and so on."""
        return {f"vector_{place}": column for place, column in enumerate(self.vectors.T)}

    def frame(self) -> pd.DataFrame:
        """A table: row, cell if there is one, the columns of the vectors, error."""
        numbers = {"row": self.row} | ({} if self.cell is None else {"cell": self.cell})
        return pd.DataFrame({**numbers, **self.columns(), "error": list(self.reasons)})


def embed(
    run: str | os.PathLike[str],
    source: Source,
    rank: int | None = None,
    pool: Pool = "mean",
    weights: str = "best",
    smiles_column: str | None = None,
    layers: LayerChoice = "last",
) -> Embeddings:
    """The hidden vectors of a trained model after its last layer, for any source that it predicts.

    They are what its readout reads: of a complex the mean, the sum, or both side by side, over the
    cells that are read out, by default its vertices; with ``rank`` those of the cells of this rank,
    whether it is read out or not. With ``layers`` "all", those before the first layer and after
    each stand side by side: a linear model learns more of small parts of a molecule from them. What
    stands beside the cells of molecules, such as fingerprints, is not in them. Raises
    FileNotFoundError for a missing run or source, ValueError for one that cannot be read, for an
    ensemble, whose models have different vectors, and for a rank that the model does not know.
    """
    ensemble = Ensemble.open(Path(run), weights)
    return embed_with(ensemble, source, rank, pool, smiles_column, layers)[0]


def embed_with(
    ensemble: Ensemble,
    source: Source,
    rank: int | None = None,
    pool: Pool = "mean",
    smiles_column: str | None = None,
    layers: LayerChoice = "last",
) -> tuple[Embeddings, Table | None]:
    """Does what `embed` does with a model that is open already; and the table, if there is one."""
    trained = ensemble.single("space of vectors")
    known = trained.recipe.plan.diagram.num_ranks
    if rank is not None and not 0 <= rank < known:
        raise ValueError(
            f"{trained.folder.path} knows cells of rank 0 to {known - 1}, so there are no vectors "
            f"of rank {rank}"
        )
    for name, given, choices in (("pool", pool, Pool), ("layers", layers, LayerChoice)):
        if given not in get_args(choices):
            raise unknown_choice(name, given, get_args(choices))
    rows, table = open_input(ensemble, source, labeled=False, smiles_column=smiles_column)
    if rank is None and trained.preparation.patches is not None:
        raise ValueError(
            f"{trained.folder.path} sees complexes in patches, so there is no vector of a whole "
            "one; say the rank of the cells to embed"
        )
    prepared, reasons = prepared_rows(trained, rows)
    number = np.arange(len(rows))
    places, cell = np.full(len(rows), -1), None
    if rank is not None:
        frame = cell_rows(prepared, rank, len(rows))
        number, places, cell = frame["row"].to_numpy(), frame["place"].to_numpy(), frame["cell"]
    elif prepared is not None:
        places[prepared.rows] = np.arange(len(prepared.rows))
    architecture = trained.recipe.model.architecture
    width = architecture.width * (1 if layers == "last" else architecture.layers + 1)
    width *= 2 if pool == "both" and rank is None else 1
    vectors = np.full((len(places), width), np.nan, np.float32)
    if prepared is not None:
        wanted, end = np.flatnonzero(places >= 0), 0
        wanted = wanted[np.argsort(places[wanted])]  # as the model gives them
        every = np.arange(len(prepared.rows))
        for part in vectors_of(trained, prepared.complexes, every, rank, pool, layers):
            own = wanted[slice(*np.searchsorted(places[wanted], [end, end + len(part)]))]
            vectors[own] = part[places[own] - end]
            end += len(part)
    return Embeddings(vectors, number, tuple(reasons[number].tolist()), cell), table


def vectors_of(
    trained: TrainedRun,
    complexes: RaggedComplexes,
    chosen: Int64[np.ndarray, " chosen"],
    rank: int | None = None,
    pool: Pool = "mean",
    layers: LayerChoice = "last",
) -> Iterator[Float32[np.ndarray, "row width"]]:
    """Those of the chosen complexes in their order, or of all their cells of a rank, in batches."""
    config = trained.config.training
    device, model = torch.device(device_of(config)), trained.model
    loader = batches(
        complexes, chosen, config.batch_size, shuffle=False, batch_cells=config.batch_cells
    )
    shown = progress("Embedding", len(chosen), shown=len(loader) > 1)
    with answering_on(device, model), shown as done:
        for batch in loader:
            found = vectors_in(model, batch.to(device), rank, pool, layers)
            yield found.float().cpu().numpy()
            done(batch.num_complexes)


@torch.no_grad()
def vectors_in(
    model: CellModel,
    batch: CellBatch,
    rank: int | None = None,
    pool: Pool = "mean",
    layers: LayerChoice = "last",
) -> Float[Tensor, "row width"]:
    """The vectors of the complexes of a batch, or of all their cells of a rank."""
    transformer = transformer_of(model)
    earlier: list[list[Tensor]] = []
    if layers == "all":
        *earlier, cells = model.embed_layers(batch)
    else:
        cells = model.embed(batch)
    norms = [*transformer.final_norms, *[nn.Identity()] * len(cells)]  # of what is read alone
    last: list[Tensor] = [norm(rows) for norm, rows in zip(norms, cells, strict=False)]
    every = [torch.cat(rows, dim=1) for rows in zip(*earlier, last, strict=True)]
    if rank is not None:
        return every[rank] if rank < len(every) else every[0][:0]
    ranks = ranks_read(transformer.readout, batch)
    ways = {"mean": (True,), "sum": (False,), "both": (True, False)}[pool]
    if not ranks:  # cells of a rank that no complex of the batch has
        return every[0].new_zeros(batch.num_complexes, len(ways) * every[0].shape[1])
    read = {each: every[each] for each in ranks}
    return torch.cat([pooled_cells(read, batch, mean) for mean in ways], dim=1)
