from .attention.operator import attend
from .complexes.batch import CellBatch, collate
from .complexes.cell_complex import CellComplex
from .complexes.features import Features
from .complexes.graph import Graph
from .complexes.interop.networkx_graph import from_networkx, to_networkx
from .complexes.interop.pyg_cells import (
    CellData,
    batch_from_pyg,
    complex_from_pyg,
    complex_to_pyg,
)
from .complexes.interop.pyg_data import from_pyg, to_pyg
from .complexes.interop.toponetx_complex import from_toponetx, to_toponetx
from .complexes.neighborhoods import (
    barycentric_skeleton,
    containment,
    down_adjacency,
    down_laplacian,
    hodge_laplacian,
    incidence,
    up_adjacency,
    up_laplacian,
)
from .complexes.ragged import RaggedComplexes
from .complexes.relabel import flip, permute, permute_graph
from .complexes.store import open_ragged, save_ragged
from .data.cell_split import split_cells
from .data.complex_list import complex_set
from .data.dataset import GraphSet, Task
from .data.flat import in_memory
from .data.loader import batches
from .data.npz import read_npz, write_npz
from .data.prepare import Prepared, prepare
from .data.pyg_sets import from_pyg_dataset
from .data.pyg_transform import AddCells
from .data.sources import open_source
from .data.splits import random_split, scaffold_split
from .drawing.colors import encoding_colors
from .drawing.draw import draw_complex, save_picture
from .drawing.molecule import molecule_positions
from .encodings.bspe import BSPe
from .encodings.encode import EncodedRanks, Encoding, encode
from .encodings.hodgelap import HodgeLap
from .encodings.named import parse_encodings
from .encodings.rwbspe import RWBSPe
from .encodings.rwpe import RWPe
from .encodings.slepians import Slepians
from .encodings.zeros import Zeros
from .experiments.presets import PRESETS
from .lifting.cliques import Cliques
from .lifting.cycle_basis import CycleBasis
from .lifting.induced_cycles import InducedCycles
from .lifting.lift import Lifting, LiftingLimitError, lift
from .lifting.mesh import mesh_complex, read_mesh
from .lifting.mesh_features import with_mesh_features
from .lifting.own_cells import OwnCells
from .lifting.ring_features import RingFeatures
from .lifting.rings import Rings
from .lifting.skeleton import Skeleton, attach_cycles
from .model.config import ArchitectureConfig, DataShape, ModelConfig
from .model.diagram import Arrow, TensorDiagram, paper_diagram
from .model.plan import (
    General,
    Pairwise,
    attention_plan,
    general_dense,
    general_sparse,
    pairwise_dense,
    pairwise_mixed,
    pairwise_sparse,
)
from .model.transformer import CellularTransformer
from .training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from .training.evaluate import evaluate
from .training.fit import TrainingInterrupted, resume, train
from .training.predict import predict

__version__: str

__all__ = [
    "PRESETS",
    "AddCells",
    "ArchitectureConfig",
    "Arrow",
    "BSPe",
    "CellBatch",
    "CellComplex",
    "CellData",
    "CellularTransformer",
    "Cliques",
    "CycleBasis",
    "DataConfig",
    "DataShape",
    "EncodedRanks",
    "Encoding",
    "Features",
    "General",
    "Graph",
    "GraphSet",
    "HodgeLap",
    "InducedCycles",
    "Lifting",
    "LiftingLimitError",
    "ModelConfig",
    "OptimizerConfig",
    "OwnCells",
    "Pairwise",
    "Prepared",
    "RWBSPe",
    "RWPe",
    "RaggedComplexes",
    "RingFeatures",
    "Rings",
    "RunConfig",
    "Skeleton",
    "Slepians",
    "Task",
    "TensorDiagram",
    "TrainingConfig",
    "TrainingInterrupted",
    "Zeros",
    "attach_cycles",
    "attend",
    "attention_plan",
    "barycentric_skeleton",
    "batch_from_pyg",
    "batches",
    "collate",
    "complex_from_pyg",
    "complex_set",
    "complex_to_pyg",
    "containment",
    "down_adjacency",
    "down_laplacian",
    "draw_complex",
    "encode",
    "encoding_colors",
    "evaluate",
    "flip",
    "from_networkx",
    "from_pyg",
    "from_pyg_dataset",
    "from_toponetx",
    "general_dense",
    "general_sparse",
    "hodge_laplacian",
    "in_memory",
    "incidence",
    "lift",
    "mesh_complex",
    "molecule_positions",
    "open_ragged",
    "open_source",
    "pairwise_dense",
    "pairwise_mixed",
    "pairwise_sparse",
    "paper_diagram",
    "parse_encodings",
    "permute",
    "permute_graph",
    "predict",
    "prepare",
    "random_split",
    "read_mesh",
    "read_npz",
    "resume",
    "save_picture",
    "save_ragged",
    "scaffold_split",
    "split_cells",
    "to_networkx",
    "to_pyg",
    "to_toponetx",
    "train",
    "up_adjacency",
    "up_laplacian",
    "with_mesh_features",
    "write_npz",
]
