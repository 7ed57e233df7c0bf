from .complexes.batch import CellBatch, collate
from .complexes.cell_complex import CellComplex
from .complexes.features import Features
from .complexes.graph import Graph
from .complexes.ragged import RaggedComplexes

__version__: str

__all__ = [
    "CellBatch",
    "CellComplex",
    "Features",
    "Graph",
    "RaggedComplexes",
    "collate",
]
