"""Write the models of a run as a program that runs without this package."""

import hashlib
import io
import json
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.fx.experimental import _config as symbolic

import cellformer
from cellformer.basics.archives import one_line
from cellformer.basics.causes import raise_of_process
from cellformer.basics.files import check_folder, replace_atomically
from cellformer.complexes.batches.runs import exporting
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.preparation import Source
from cellformer.exporting.checking import Answering, Deviation, deviation_of_program
from cellformer.exporting.inputs import Tensors
from cellformer.exporting.program import Program
from cellformer.model.described import kernels_of
from cellformer.training.answers.answer import open_input, prepared_rows
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.materials.materials import gather

logger = logging.getLogger(__name__)

FORMAT = 1
DESCRIPTION = "cellformer.json"
"""The file within a .pt2, and the entry of an .onnx, that describe a program."""
ENDINGS = (".pt2", ".onnx")
MOST_CHECKED = 1000
"""Rows on which a file is compared with its run."""
FARTHEST = 1e-5
"""That answers may lie apart: of the deviation of a target, or of probabilities."""
OF_ONNX = ("onnx", "onnxscript", "onnxruntime")


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how far its answers lie from those of the run at most.

    Args:
        path: The file.
        rows: How many rows were compared.
        deviation: The largest difference of a predicted value, in units of the deviation of its
            target, or of a probability.
    """

    path: Path
    rows: int
    deviation: float


def export(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    check: Source | None = None,
    weights: str = "best",
    smiles_column: str | None = None,
) -> Exported:
    """Writes what predicts as a run does, to be run by PyTorch or ONNX Runtime alone.

    ``path`` ends in ``.pt2``, for ``torch.export.load``, or in ``.onnx``; by default it is the
    folder's with ``.pt2``. All that answers is in the file: the cells, what stands beside them, and
    every member of an ensemble. Its input are the tensors of a batch (see `export_batch`), its
    output are ``prediction`` and, where `predict` tells one, ``uncertainty``.

    The file is compared with the run on up to 1,000 rows of ``check``, by default of the run's own
    data, and appears if it agrees to 1e-5 of the deviation of each target, or of a probability.
    Raises FileNotFoundError for a missing run or source, ImportError where ONNX is not installed,
    ValueError for what cannot be exported and where the two do not agree.
    """
    return export_with(Ensemble.open(Path(run), weights), path, check, smiles_column)


def export_with(
    ensemble: Ensemble,
    path: str | os.PathLike[str] | None = None,
    check: Source | None = None,
    smiles_column: str | None = None,
) -> Exported:
    """Does what `export` does with models that are open already."""
    folder = ensemble.folder.path
    path = folder.absolute().with_name(f"{folder.absolute().name}.pt2") if path is None else path
    path = Path(path)
    check_ending(path)
    check_folder(path)
    ensemble = ensemble.by("cpu")
    complexes = _rows_to_check(ensemble, check, smiles_column)
    for run in ensemble.runs:
        run.predictor.cpu().eval()
    program = Program.of(ensemble.runs)
    described = description_of(ensemble, program)
    write = _as_onnx if path.suffix == ".onnx" else _as_torch
    with _without_gradients(program):
        content, answering = write(traced_of(program, folder), program, described, folder)
    found = deviation_of_program(ensemble, program, answering, complexes)
    _refuse_deviating(found, path)
    with replace_atomically(path) as unfinished:
        unfinished.write_bytes(content)
    return Exported(path, found.rows, found.largest)


def check_ending(path: Path) -> None:
    """Raises ValueError unless a file's name says which form it has, ImportError without ONNX."""
    if path.suffix not in ENDINGS:
        raise ValueError(f"{path} does not end in .pt2 (for PyTorch) or .onnx")
    missing = [name for name in OF_ONNX if find_spec(name) is None]
    if path.suffix == ".onnx" and missing:
        raise ImportError(f"ONNX needs {', '.join(missing)}: pip install 'cellformer[onnx]'")


def traced_of(program: Program, folder: Path) -> ExportedProgram:
    """The operators of a program, in the order in which they run, for any sizes.

    Raises ValueError, naming the run, for parts that cannot be traced, or that need operators which
    PyTorch alone does not have.
    """
    if not hasattr(symbolic, "backed_size_oblivious"):
        raise ValueError(
            f"to export a run, PyTorch {torch.__version__} is too old; 2.13 is known to do"
        )
    kinds = program.inputs.kinds()
    dynamic = {
        name: {
            place: torch.export.Dim.DYNAMIC
            for place, size in enumerate(kind.shape)
            if isinstance(size, str)
        }
        for name, kind in kinds.items()
    }
    for run in program.members:
        if (kernels := kernels_of(run)) is not None:
            kernels.pack()
    try:
        # Otherwise what is traced holds for sizes of two and more alone.
        with exporting(), torch.no_grad(), symbolic.patch(backed_size_oblivious=True):
            traced = torch.export.export(
                program, (program.inputs.example(),), dynamic_shapes=(dynamic,), strict=True
            )
    except Exception as error:  # parts of the user's own can raise anything
        raise_of_process(error)
        raise ValueError(
            f"{folder} cannot be exported, as PyTorch cannot trace it: "
            f"{' '.join(str(error).split())[:400]}"
        ) from error
    _refuse_foreign(traced, folder)
    traced.example_inputs = None  # which would be kept in the file
    for node in traced.graph.nodes:  # where in which files it was traced
        for told in ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn"):
            node.meta.pop(told, None)
    return traced


@contextmanager
def _without_gradients(program: Program) -> Iterator[None]:
    """What is written meanwhile predicts, and does not learn."""
    learning = [each for each in program.parameters() if each.requires_grad]
    program.requires_grad_(False)
    try:
        yield
    finally:
        for each in learning:
            each.requires_grad_(True)


def _refuse_foreign(traced: ExportedProgram, folder: Path) -> None:
    for node in traced.graph.nodes:
        space = getattr(node.target, "namespace", "aten")
        if node.op == "call_function" and space not in ("aten", "prim", "prims"):
            raise ValueError(
                f"{folder} cannot be exported: it needs the operator {node.target}, which PyTorch "
                "alone does not have"
            )


def description_of(ensemble: Ensemble, program: Program) -> dict[str, Any]:
    """What a file says of itself, as JSON holds it."""
    task = ensemble.task
    digest = hashlib.sha256()
    for name, tensor in sorted(program.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return {
        "format": FORMAT,
        "cellformer": cellformer.__version__,
        "task": asdict(task),
        "members": len(ensemble.runs),
        "inputs": {
            name: {"dtype": str(kind.dtype).removeprefix("torch."), "shape": list(kind.shape)}
            for name, kind in program.inputs.kinds().items()
        },
        "outputs": list(program.outputs),
        "preparation": ensemble.runs[0].preparation.to_dict(),
        "weights": digest.hexdigest(),
    }


def _rows_to_check(
    ensemble: Ensemble, check: Source | None, smiles_column: str | None
) -> RaggedComplexes:
    """Up to `MOST_CHECKED` complexes, spread evenly."""
    run = ensemble.runs[0]
    if check is None:
        try:
            complexes = gather(run.config.data, preparation=run.preparation).complexes
        except (OSError, ValueError) as error:
            raise type(error)(
                f"the data of {run.folder.path}, to compare the file with the run on, cannot be "
                f"read ({one_line(error)}); give other rows (--check)"
            ) from error
    else:
        rows, _ = open_input(ensemble, check, labeled=False, smiles_column=smiles_column)
        prepared, reasons = prepared_rows(run, rows)
        if prepared is None:
            raise ValueError(f"{rows.name}: no row to compare the file on ({reasons[0]})")
        complexes = prepared.complexes
    count = min(len(complexes), MOST_CHECKED)
    return complexes.take(np.linspace(0, len(complexes) - 1, count).astype(np.int64))


def _refuse_deviating(found: Deviation, path: Path) -> None:
    if not found.largest <= FARTHEST:  # NaN too
        raise ValueError(
            f"{path} is not written: on {found.rows} rows it would differ from the run by up to "
            f"{found.largest:.2g}, {found.unit}; at most {FARTHEST:g} is allowed"
        )


def _as_torch(
    traced: ExportedProgram, program: Program, described: dict[str, Any], folder: Path
) -> tuple[bytes, Answering]:
    """The content of a .pt2, and how it answers."""
    file = io.BytesIO()
    torch.export.save(traced, file, extra_files={DESCRIPTION: json.dumps(described)})
    file.seek(0)
    read = torch.export.load(file).module()

    def answer(batch: Tensors) -> Tensors:
        with torch.no_grad():
            return dict(read(batch))

    return file.getvalue(), answer


def _as_onnx(
    traced: ExportedProgram, program: Program, described: dict[str, Any], folder: Path
) -> tuple[bytes, Answering]:
    """The content of an .onnx, and how it answers."""
    import onnxruntime

    names, outputs = list(program.inputs.kinds()), list(program.outputs)
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # of operators of other libraries that are not there
    try:
        with warnings.catch_warnings():  # of PyTorch about itself
            warnings.simplefilter("ignore", FutureWarning)
            made = torch.onnx.export(
                traced, dynamo=True, verbose=False, input_names=names, output_names=outputs
            )
    except Exception as error:  # of many kinds, one for each step
        raise_of_process(error)
        raise ValueError(
            f"{folder} has no form in ONNX, so write a .pt2 instead: {_missing(error)}"
        ) from error
    finally:
        logging.disable(before)
    assert made is not None
    model = made.model_proto
    entry = model.metadata_props.add()
    entry.key, entry.value = DESCRIPTION, json.dumps(described)
    content: bytes = model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options)

    def answer(batch: Tensors) -> Tensors:
        given = {name: tensor.numpy() for name, tensor in batch.items()}
        told = session.run(outputs, given)
        return {name: torch.from_numpy(array) for name, array in zip(outputs, told, strict=True)}

    return content, answer


def _missing(error: BaseException) -> str:
    """What ONNX lacks: the innermost cause, which names the operator."""
    while error.__cause__ is not None:
        error = error.__cause__
    return one_line(error)[:300] if isinstance(error, Exception) else str(error)
