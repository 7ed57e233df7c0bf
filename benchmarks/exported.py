"""Whether what `cellformer export` writes predicts what the run predicts, where nothing else is.

    CELLFORMER_DATA=folder python -m benchmarks.exported --torch ENV/python --onnx OTHER/python

trains small models of every kind on real data, exports each for PyTorch and for ONNX Runtime, and
prepares 1,000 rows, which a process predicts that has PyTorch or ONNX Runtime alone: the first
Python has torch and numpy, the second onnxruntime and numpy, neither this package. What they say is
compared with `cellformer predict`, for which rows are prepared anew from the same SMILES: in units
of the deviation of the target as training saw it, or as a probability. What `--folder` holds is not
made again, so delete it after a change.
"""

import argparse
import contextlib
import io
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import cellformer as cf
from benchmarks.mesh_set import write_set
from benchmarks.timing import data_folder, machine, versions, write_json
from cellformer.cli.main import main as cellformer
from cellformer.training.answers.ensemble import Ensemble

ALONE = Path(__file__).with_name("exported_alone.py")
ROWS = 1000
FARTHEST = 1e-5
SMALL = ("--epochs", "3", "--model.width", "32", "--model.layers", "2", "--model.heads", "4")
CELLS = ("--data.molecule_descriptors", "none")
SOLUBILITY = ("esol.csv", "--target", "y")


@dataclass(frozen=True)
class Case:
    """A run and what it is asked.

    Args:
        words: Of ``cellformer train``.
        asked: The rows to predict; by default molecules that no training saw.
        before: Of the command whose run it begins with, if it does.
    """

    words: tuple[str, ...]
    asked: str = "asked.csv"
    before: tuple[str, ...] = ()


CASES: Mapping[str, Case] = {
    "cells alone": Case((*SOLUBILITY, *CELLS)),
    "kernels": Case(SOLUBILITY),
    "kernels, two targets, a column of one's own": Case(
        (*SOLUBILITY, "--target", "rings", "--data.descriptors", "weight"), asked="esol.csv"
    ),
    "kernels that tell deviations": Case((*SOLUBILITY, "--training.loss", "gaussian")),
    "cells that tell deviations": Case((*SOLUBILITY, *CELLS, "--training.loss", "gaussian")),
    "network on counts": Case((*SOLUBILITY, "--model.descriptor_head", "network")),
    "two classes, kernels": Case(("screened.csv", "--target", "active", "--data.kind", "binary")),
    "three classes": Case(("esol.csv", "--target", "class", "--data.kind", "multiclass", *CELLS)),
    "ensemble of three": Case((*SOLUBILITY, "--ensemble", "3", *CELLS)),
    "pretrained": Case(
        ("freesolv.csv", "--target", "expt", "--from", "base", *CELLS),
        before=("pretrain", "many.csv", "-o", "base", *SMALL),
    ),
    "pretrained, with kernels": Case(("freesolv.csv", "--target", "expt", "--from", "base")),
    "described pairs": Case((*SOLUBILITY, *CELLS, "--model.pair_width", "8")),
    "pairwise, batch norm, a virtual cell": Case(
        (*SOLUBILITY, *CELLS, "--attention", "pairwise-mixed", "--model.norm", "batch",
         "--model.virtual_cell", "true", "--data.encodings", "rwbspe:8")
    ),
    "dense": Case((*SOLUBILITY, *CELLS, "--attention", "general-dense")),
    "graphs": Case(("proteins",), asked="proteins"),
    "meshes": Case(("meshes", "--epochs", "3"), asked="meshes"),
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What came of one file: the largest difference on so many rows, or why there is none."""

    case: str
    file: str
    rows: int
    largest: float | None
    unit: str
    refused: str = ""


def main() -> int:
    """Prints the table and writes the figures; 1 where something differs by more."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--torch", type=Path, required=True, help="a Python with torch alone")
    options.add_argument("--onnx", type=Path, required=True, help="one with onnxruntime alone")
    options.add_argument("--folder", type=Path, default=Path("runs/exported"))
    options.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options.add_argument("--out", type=Path, default=None)
    chosen = options.parse_args()
    pythons = {".pt2": chosen.torch.absolute(), ".onnx": chosen.onnx.absolute()}
    out = None if chosen.out is None else chosen.out.absolute()
    write_tables(chosen.folder)
    found: list[Found] = []
    with contextlib.chdir(chosen.folder):
        for name in chosen.cases:
            for each in compared(name, CASES[name], pythons):
                found.append(each)
                print(line_of(each), flush=True)
    if out is not None:
        told = {"machine": machine(), "versions": versions(), "rows": [asdict(f) for f in found]}
        write_json(out, told)
    return int(any(f.largest is not None and not f.largest <= FARTHEST for f in found))


def line_of(found: Found) -> str:
    """As a row of a table."""
    if found.largest is None:
        return f"| {found.case} | {found.file} | refused: {found.refused} | |"
    return f"| {found.case} | {found.file} | {found.largest:.1e} {found.unit} | {found.rows} |"


def write_tables(folder: Path) -> None:
    """Those that are learned and asked, of the data sets; made once."""
    if (folder / "meshes").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    data = data_folder()
    esol = pd.read_csv(data / "extra/esol_delaney-processed.csv.gz")
    y = esol["measured log solubility in mols per litre"]
    columns = {"smiles": esol["smiles"], "y": y, "rings": esol["Number of Rings"],
               "weight": esol["Molecular Weight"],
               "class": pd.qcut(y, 3, labels=["low", "middle", "high"])}  # fmt: skip
    pd.DataFrame(columns).to_csv(folder / "esol.csv", index=False)
    pd.read_csv(data / "extra/freesolv.csv.gz").to_csv(folder / "freesolv.csv", index=False)
    screened = pd.read_csv(data / "molhiv/molhiv.csv.gz").rename(columns={"HIV_active": "active"})
    ones = screened[screened["active"] == 1].head(300)
    zeros = screened[screened["active"] == 0].head(700)
    both = pd.concat([ones, zeros]).drop(columns="split")
    both.to_csv(folder / "screened.csv", index=False)
    zinc = pd.read_csv(data / "zinc/zinc12k.csv.gz")
    zinc[zinc["split"] == "train"][["smiles"]].head(2000).to_csv(folder / "many.csv", index=False)
    zinc[zinc["split"] == "test"][["smiles"]].head(ROWS).to_csv(folder / "asked.csv", index=False)
    write_set(folder / "meshes", 0)


def compared(name: str, case: Case, pythons: Mapping[str, Path]) -> list[Found]:
    """A row for each form of file."""
    run = Path(name.replace(",", "").replace("'", "").replace(" ", "-"))
    if case.before and not Path("base/summary.json").exists():
        called(*case.before)
    if not (run / "summary.json").exists():
        called("train", *case.words, "-o", str(run), "--resume", "auto", *_small(case))
    asked = run.with_name(f"{run.name}-asked.npz")
    if not asked.exists():
        called("export", str(run), "--batch", case.asked, "-o", str(asked))
    found = []
    for ending, python in pythons.items():
        file = run.with_name(f"{run.name}{ending}")
        out = file.with_name(f"{file.name}-told.npz")
        if not file.exists():
            refused = called("export", str(run), "-o", str(file), may_fail=True)
            if refused:
                found.append(Found(name, ending, 0, None, "", refused))
                continue
        if not out.exists():
            environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            words = map(str, (python, "-I", ALONE, file, asked, out))
            subprocess.run([*words], check=True, env=environment)
        told = dict(np.load(out))
        rows, largest, unit = farthest(run, case.asked, told)
        found.append(Found(name, ending, rows, largest, unit))
    return found


def _small(case: Case) -> tuple[str, ...]:
    return () if "--from" in case.words else tuple(w for w in SMALL if w not in case.words)


def farthest(
    run: Path, asked: str, told: Mapping[str, NDArray[np.generic]]
) -> tuple[int, float, str]:
    """Between what a program told and what `predict` says of the same source."""
    expected = cf.predict(run, asked)
    ensemble = Ensemble.open(run)
    kind = "prediction" if ensemble.task.kind == "regression" else "probability"
    scale, unit = np.ones(1), "of a probability"
    if kind == "prediction":
        scale = np.array(ensemble.runs[0].recipe.scaling.deviation)
        unit = "of a deviation of the target"
    row = told["row"]
    largest = 0.0
    for output, start in (("prediction", kind), ("uncertainty", "uncertainty")):
        columns = [name for name in expected if name.startswith(start)]
        if not columns and output not in told:
            continue
        right = expected[columns].to_numpy(float)[row]
        values = np.asarray(told[output], np.float64)
        assert right.shape == values.shape, (output, columns, right.shape, values.shape)
        assert np.isfinite(right).all()
        largest = max(largest, float((np.abs(right - values) / scale).max()))
    return len(row), largest, unit


def called(*words: str, may_fail: bool = False) -> str:
    """Runs ``cellformer``; what it said where it failed, which is allowed or not."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = cellformer(list(words))
        except SystemExit:  # of words that are none of its options
            code, may_fail = 2, False
    if code and not may_fail:
        raise SystemExit(f"cellformer {' '.join(words)}: {said.getvalue()}")
    return said.getvalue().strip() if code else ""


if __name__ == "__main__":
    raise SystemExit(main())
