"""From the configuration to the objects that it names."""

from collections.abc import Callable

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.encodings.encode import Encoding
from cellformer.encodings.named import parse_encodings
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.cycle_basis import CycleBasis
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import OverLimit
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton
from cellformer.training.config import DataConfig


def build_lifting(config: DataConfig) -> Callable[[Graph], CellComplex]:
    """The lifting that the configuration names."""
    over_limit: OverLimit = "truncate" if config.over_limit == "truncate" else "fail"
    match config.lifting:
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
