from .attention.dense.memory import DenseMemoryError
from .attention.operator import attend
from .basics.parts.trust import PartRefusedError, allow_parts
from .complexes.batches.batch import CellBatch, collate
from .complexes.batches.device_store import ResidentComplexes
from .complexes.cell_complex import CellComplex
from .complexes.features import Features
from .complexes.graph import Graph
from .complexes.hodge import HodgeDecomposition, harmonic_flows, hodge_decomposition
from .complexes.homology import (
    betti_numbers,
    euler_characteristic,
    is_closed_manifold,
    is_orientable,
)
from .complexes.many.ragged import RaggedComplexes
from .complexes.many.ragged_graphs import RaggedGraphs
from .complexes.many.store import open_ragged, save_ragged
from .complexes.many.union import DisjointUnion
from .complexes.matrices import (
    barycentric_skeleton,
    containment,
    down_adjacency,
    down_laplacian,
    hodge_laplacian,
    incidence,
    up_adjacency,
    up_laplacian,
)
from .complexes.relabel import flip, permute, permute_graph
from .complexes.removal import without_cell
from .data.complex_list import complex_set
from .data.dataset import GraphSet, Task
from .data.flat import in_memory
from .data.interop.networkx_graph import from_networkx, to_networkx
from .data.interop.networkx_sets import from_networkx_list
from .data.interop.pyg_cells import (
    CellData,
    batch_from_pyg,
    complex_from_pyg,
    complex_to_pyg,
)
from .data.interop.pyg_data import from_pyg, to_pyg
from .data.interop.pyg_sets import from_pyg_dataset
from .data.interop.pyg_transform import AddCells
from .data.interop.toponetx_complex import from_toponetx, to_toponetx
from .data.interop.toponetx_sets import from_toponetx_list
from .data.loading.loader import batches
from .data.preparation import Preparation
from .data.preparing.prepare import Prepared, prepare
from .data.readers.mesh_file import read_mesh
from .data.readers.npz import read_npz, write_npz
from .data.readers.point_files import read_points
from .data.sources import open_source
from .data.splitting.cell_split import split_cells
from .data.splitting.molecule_keys import molecule_keys
from .data.splitting.splits import fold_split, random_split, scaffold_split
from .data.tables.molecules import molecules
from .data.tables.table import Table, read_table, write_table
from .drawing.attention import draw_attention, draw_attention_matrix
from .drawing.cochains import draw_cochains
from .drawing.colors import encoding_colors
from .drawing.contributions import draw_contributions
from .drawing.diagram import draw_diagram
from .drawing.draw import draw_complex, save_figure, save_picture
from .drawing.flows import draw_flow
from .drawing.molecule import bond_orders, molecule_positions
from .drawing.predictions import draw_predictions
from .drawing.subdivision import draw_subdivision
from .drawing.theme import DARK, LIGHT, Theme
from .drawing.transitions import draw_transitions
from .encodings.bspe import BSPe
from .encodings.encode import CollectiveEncoding, EncodedRanks, Encoding, encode, encode_many
from .encodings.hodgelap import HodgeLap
from .encodings.named import parse_encodings
from .encodings.rwbspe import RWBSPe
from .encodings.rwpe import RWPe
from .encodings.slepians import Slepians
from .encodings.zeros import Zeros
from .experiments.grid.grid import Grid, jobs_of
from .experiments.grid.reproduce import reproduce
from .experiments.grid.write_tables import write_tables
from .experiments.presets import PRESETS
from .experiments.running.jobs import Job
from .experiments.running.runner import Outcome, Sequential
from .explaining.attention import attention_of
from .explaining.explain import explain
from .explaining.integrated_gradients import integrated_gradients
from .explaining.occlusion import occlusion
from .exporting.export import Exported, export
from .exporting.prepared import PreparedBatch, export_batch
from .lifting.cliques import Cliques
from .lifting.cycle_basis import CycleBasis
from .lifting.hodge_parts import HodgeParts
from .lifting.induced_cycles import InducedCycles
from .lifting.lift import CollectiveLifting, Lifting, LiftingLimitError, lift
from .lifting.mesh import mesh_complex
from .lifting.mesh_features import with_mesh_features
from .lifting.own_cells import OwnCells
from .lifting.point_cloud import PointNeighbors
from .lifting.point_features import with_point_features
from .lifting.ring_features import RingFeatures
from .lifting.rings import Rings
from .lifting.simplices import simplicial_complex
from .lifting.skeleton import Skeleton, attach_cycles
from .model.config import ArchitectureConfig, DataShape, ModelConfig
from .model.described import DescribedTransformer
from .model.device_neighborhoods import resident_for
from .model.embedding.feature_scaling import standardize_features
from .model.layers.layer import LayerOptions
from .model.plans.general import General, general_dense, general_sparse
from .model.plans.named import attention_plan
from .model.plans.pairwise import Pairwise, pairwise_dense, pairwise_mixed, pairwise_sparse
from .model.plans.plan import AttentionPlan
from .model.relations.diagram import Arrow, TensorDiagram, paper_diagram
from .model.relations.relation import Relation
from .model.transformer import CellularTransformer
from .report.write import write_report
from .run import Run, load
from .training.answers.embed import Embeddings, embed
from .training.answers.evaluate import evaluate
from .training.answers.predict import predict
from .training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from .training.estimating.estimate import Estimate, estimate
from .training.estimating.machines import Machines
from .training.estimating.planned import Planned, planned
from .training.estimating.rates import Rates, measured_rates
from .training.loop.preemption import TrainingInterrupted
from .training.runs.summary import EnsembleSummary, Summary
from .training.several import cross_validate, train_ensemble
from .training.sklearn_estimators import CellularClassifier, CellularRegressor
from .training.train import resume, train

__version__: str

__all__ = [
    "DARK",
    "LIGHT",
    "PRESETS",
    "AddCells",
    "ArchitectureConfig",
    "Arrow",
    "AttentionPlan",
    "BSPe",
    "CellBatch",
    "CellComplex",
    "CellData",
    "CellularClassifier",
    "CellularRegressor",
    "CellularTransformer",
    "Cliques",
    "CollectiveEncoding",
    "CollectiveLifting",
    "CycleBasis",
    "DataConfig",
    "DataShape",
    "DenseMemoryError",
    "DescribedTransformer",
    "DisjointUnion",
    "Embeddings",
    "EncodedRanks",
    "Encoding",
    "EnsembleSummary",
    "Estimate",
    "Exported",
    "Features",
    "General",
    "Graph",
    "GraphSet",
    "Grid",
    "HodgeDecomposition",
    "HodgeLap",
    "HodgeParts",
    "InducedCycles",
    "Job",
    "LayerOptions",
    "Lifting",
    "LiftingLimitError",
    "Machines",
    "ModelConfig",
    "OptimizerConfig",
    "Outcome",
    "OwnCells",
    "Pairwise",
    "PartRefusedError",
    "Planned",
    "PointNeighbors",
    "Preparation",
    "Prepared",
    "PreparedBatch",
    "RWBSPe",
    "RWPe",
    "RaggedComplexes",
    "RaggedGraphs",
    "Rates",
    "Relation",
    "ResidentComplexes",
    "RingFeatures",
    "Rings",
    "Run",
    "RunConfig",
    "Sequential",
    "Skeleton",
    "Slepians",
    "Summary",
    "Table",
    "Task",
    "TensorDiagram",
    "Theme",
    "TrainingConfig",
    "TrainingInterrupted",
    "Zeros",
    "allow_parts",
    "attach_cycles",
    "attend",
    "attention_of",
    "attention_plan",
    "barycentric_skeleton",
    "batch_from_pyg",
    "batches",
    "betti_numbers",
    "bond_orders",
    "collate",
    "complex_from_pyg",
    "complex_set",
    "complex_to_pyg",
    "containment",
    "cross_validate",
    "down_adjacency",
    "down_laplacian",
    "draw_attention",
    "draw_attention_matrix",
    "draw_cochains",
    "draw_complex",
    "draw_contributions",
    "draw_diagram",
    "draw_flow",
    "draw_predictions",
    "draw_subdivision",
    "draw_transitions",
    "embed",
    "encode",
    "encode_many",
    "encoding_colors",
    "estimate",
    "euler_characteristic",
    "evaluate",
    "explain",
    "export",
    "export_batch",
    "flip",
    "fold_split",
    "from_networkx",
    "from_networkx_list",
    "from_pyg",
    "from_pyg_dataset",
    "from_toponetx",
    "from_toponetx_list",
    "general_dense",
    "general_sparse",
    "harmonic_flows",
    "hodge_decomposition",
    "hodge_laplacian",
    "in_memory",
    "incidence",
    "integrated_gradients",
    "is_closed_manifold",
    "is_orientable",
    "jobs_of",
    "lift",
    "load",
    "measured_rates",
    "mesh_complex",
    "molecule_keys",
    "molecule_positions",
    "molecules",
    "occlusion",
    "open_ragged",
    "open_source",
    "pairwise_dense",
    "pairwise_mixed",
    "pairwise_sparse",
    "paper_diagram",
    "parse_encodings",
    "permute",
    "permute_graph",
    "planned",
    "predict",
    "prepare",
    "random_split",
    "read_mesh",
    "read_npz",
    "read_points",
    "read_table",
    "reproduce",
    "resident_for",
    "resume",
    "save_figure",
    "save_picture",
    "save_ragged",
    "scaffold_split",
    "simplicial_complex",
    "split_cells",
    "standardize_features",
    "to_networkx",
    "to_pyg",
    "to_toponetx",
    "train",
    "train_ensemble",
    "up_adjacency",
    "up_laplacian",
    "with_mesh_features",
    "with_point_features",
    "without_cell",
    "write_npz",
    "write_report",
    "write_table",
    "write_tables",
]
