"""The liftings by their names. A new one is one file and one line here."""

from cellformer.basics.parts.catalog import Catalog, Listed

_CYCLES = {"max_length": "max_length", "over_limit": "over_limit"}

LIFTINGS = Catalog(
    "lifting",
    {
        "auto": Listed("cellformer.lifting.own_cells:own_cells_or_cycles", _CYCLES, factory=True),
        "skeleton": Listed("cellformer.lifting.skeleton:Skeleton"),
        "cycle-basis": Listed("cellformer.lifting.cycle_basis:CycleBasis"),
        "induced-cycles": Listed("cellformer.lifting.induced_cycles:InducedCycles", _CYCLES),
        "rings": Listed(
            "cellformer.lifting.rings:Rings",
            {"max_length": "max_size", "over_limit": "over_limit"},
        ),
        "cliques": Listed(
            "cellformer.lifting.cliques:Cliques",
            {"max_dim": "max_dim", "over_limit": "over_limit"},
        ),
    },
)
