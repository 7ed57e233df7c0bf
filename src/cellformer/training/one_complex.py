"""The complexes of any source, to look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.dataset import GraphSequence, GraphSet, SmilesList
from cellformer.data.fragments import keep_fragments
from cellformer.data.readers.mesh_file import MESH_SUFFIXES, read_mesh
from cellformer.data.readers.point_files import POINT_SUFFIXES, read_points
from cellformer.data.sources import FILE_ENDINGS, open_source, source_names
from cellformer.molecules.fragments import largest_fragment
from cellformer.training.build import (
    build_descriptors,
    build_features,
    build_lifting,
    build_neighbors,
)
from cellformer.training.config import DataConfig


@dataclass(frozen=True, eq=False)
class Complexes:
    """The complexes of a source, each made when it is asked for."""

    count: int
    complex: Callable[[int], CellComplex]
    """The complex of a row; raises ValueError, saying why, if the row has none."""
    graphs: GraphSequence | None
    """What they are lifted from; None for a mesh or a point cloud, which is no graph."""
    outputs: int = 1
    """The values to predict for each."""

    def __len__(self) -> int:
        return self.count


def open_complexes(config: DataConfig) -> Complexes:
    """Opens a data set, a mesh file (whose own faces are the 2-cells), a point cloud, or a
    SMILES string."""
    if Path(config.source).suffix.lower() in MESH_SUFFIXES:
        return Complexes(1, lambda _: read_mesh(Path(config.source)), None)
    if Path(config.source).suffix.lower() in POINT_SUFFIXES:
        neighbors = build_neighbors(config)
        return Complexes(1, lambda _: neighbors(read_points(config.source)), None)
    source = _source(config)
    lifting = build_lifting(config)
    return Complexes(
        len(source),
        lambda row: source.described(row, lifting(source.graph(row))),
        source.graphs,
        source.task.outputs if source.task_or_none else 1,
    )


def complex_of_smiles(config: DataConfig, smiles: str) -> CellComplex:
    """The complex of a molecule, made and described as those of a configuration's source.

    Raises ValueError if it is no molecule, or if columns of a table belong to its description.
    """
    if config.descriptors:
        raise ValueError(
            f"a SMILES alone lacks {', '.join(config.descriptors)}, columns that describe the "
            "molecules of this run; give a row of a table"
        )
    source = _molecule(config, smiles)
    return source.described(0, build_lifting(config)(source.graph(0)))


def complexes_of(config: DataConfig) -> Iterator[CellComplex | ValueError]:
    """Each complex of the source, or the reason why a row has none."""
    complexes = open_complexes(config)
    for row in range(len(complexes)):
        try:
            yield complexes.complex(row)
        except ValueError as error:
            if complexes.graphs is None:
                raise
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
    graphs = open_complexes(config).graphs
    return graphs.smiles[index] if isinstance(graphs, SmilesList) else None


def _source(config: DataConfig) -> GraphSet:
    named = config.source in source_names() or Path(config.source).is_dir()
    if not named and not config.source.endswith(FILE_ENDINGS):
        return _molecule(config, config.source)
    opened = open_source(
        config.source,
        target=config.target or None,
        smiles_column=config.smiles_column,
        features=build_features(config),
        neighbors=build_neighbors(config),
        columns=config.descriptors,
        descriptors=build_descriptors(config),
    )
    return keep_fragments(opened, config.fragments)


def _molecule(config: DataConfig, smiles: str) -> GraphSet:
    kept = largest_fragment(smiles) if config.fragments == "largest" else smiles
    graphs = SmilesList((kept,), build_features(config), build_descriptors(config))
    none = np.zeros((1, 0), np.float32)
    return GraphSet(smiles, graphs, none, None, None, graphs.digest())
