"""From the configuration to the objects that it names."""

from collections.abc import Callable
from dataclasses import replace

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.data.dataset import MoleculeDescriptors
from cellformer.data.sources import molecule_scheme
from cellformer.data.tables.table import is_table
from cellformer.encodings.encode import Encoding
from cellformer.encodings.named import parse_encodings
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.cycle_basis import CycleBasis
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import OverLimit
from cellformer.lifting.own_cells import OwnCells
from cellformer.lifting.point_cloud import PointNeighbors
from cellformer.lifting.ring_features import RingFeatures
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton
from cellformer.molecules.scheme import MoleculeScheme
from cellformer.training.config import DataConfig


def build_lifting(config: DataConfig) -> Callable[[Graph], CellComplex]:
    """The lifting that the configuration names."""
    lifting = _lifting(config)
    return RingFeatures(lifting) if config.ring_features else lifting


def _lifting(config: DataConfig) -> Callable[[Graph], CellComplex]:
    over_limit: OverLimit = "truncate" if config.over_limit == "truncate" else "fail"
    match config.lifting:
        case "auto":
            length = config.max_length or 8
            return OwnCells(InducedCycles(max_length=length, over_limit=over_limit))
        case "skeleton":
            return Skeleton()
        case "cycle-basis":
            return CycleBasis()
        case "induced-cycles":
            return InducedCycles(max_length=config.max_length or 8, over_limit=over_limit)
        case "rings":
            return Rings(max_size=config.max_length, over_limit=over_limit)
        case "cliques":
            return Cliques(max_dim=config.max_dim, over_limit=over_limit)


def build_encodings(config: DataConfig) -> tuple[Encoding, ...]:
    """The encodings that the configuration names."""
    return parse_encodings(config.encodings, config.encoding_size)


def settled(config: DataConfig) -> DataConfig:
    """The same, for molecules of another source: what auto stands for does not change with it."""
    return replace(
        config,
        features=build_features(config),
        molecule_descriptors=build_descriptors(config),
    )


def build_descriptors(config: DataConfig) -> MoleculeDescriptors:
    """What is computed of molecules that are given as SMILES."""
    if config.molecule_descriptors == "auto":
        return "morgan" if is_table(config.source) else "none"
    return config.molecule_descriptors


def build_features(config: DataConfig) -> MoleculeScheme:
    """The features of molecules that are given as SMILES."""
    return molecule_scheme(config.source) if config.features == "auto" else config.features


def build_neighbors(config: DataConfig) -> PointNeighbors:
    """How the points of a cloud are joined; rank 2 is made in any case, for their features."""
    return PointNeighbors(config.neighbors, config.radius, max(config.max_dim, 2))
