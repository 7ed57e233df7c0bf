"""The complexes of any source, to look at."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.dataset import GraphSequence, SmilesList
from cellformer.data.sources import FILE_ENDINGS, open_source, source_names
from cellformer.lifting.mesh import MESH_SUFFIXES, read_mesh
from cellformer.training.build import build_features, build_lifting
from cellformer.training.config import DataConfig


def complexes_of(config: DataConfig) -> Iterator[CellComplex | ValueError]:
    """Each complex of the source, or the reason why a row has none.

    The source is a data set, a mesh file (whose own faces are the 2-cells), or a SMILES string.
    """
    if Path(config.source).suffix.lower() in MESH_SUFFIXES:
        yield read_mesh(Path(config.source))
        return
    graphs, lifting = _graphs(config), build_lifting(config)
    for row in range(len(graphs)):
        try:
            yield lifting(graphs.graph(row))
        except ValueError as error:
            yield error


def one_complex(config: DataConfig, index: int) -> CellComplex:
    """The complex number ``index`` of the source; raises ValueError where there is none."""
    found = next(islice(complexes_of(config), index, None), None) if index >= 0 else None
    if found is None:
        raise ValueError(f"{config.source} has no row {index}")
    if isinstance(found, ValueError):
        raise found
    return found


def smiles_of(config: DataConfig, index: int) -> str | None:
    """The SMILES of a row, where the source consists of molecules."""
    if Path(config.source).suffix.lower() in MESH_SUFFIXES:
        return None
    graphs = _graphs(config)
    return graphs.smiles[index] if isinstance(graphs, SmilesList) else None


def _graphs(config: DataConfig) -> GraphSequence:
    named = config.source in source_names() or Path(config.source).is_dir()
    if not named and not config.source.endswith(FILE_ENDINGS):
        return SmilesList((config.source,), build_features(config))
    return open_source(
        config.source,
        target=config.target or None,
        smiles_column=config.smiles_column,
        features=build_features(config),
    ).graphs
