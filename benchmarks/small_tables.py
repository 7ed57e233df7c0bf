"""What the defaults reach on small tables of molecules, beside a random forest on fingerprints.

    CELLFORMER_DATA=folder python -m benchmarks.small_tables --out results/small-tables/scores.json

Each set is trained by ``cellformer train FILE --target COLUMN``, and the rows of its test part,
written to a file of their own, are predicted by ``cellformer predict``. The root mean square error
is scikit-learn's, of the column that this wrote. The forest has 500 trees, else scikit-learn's
defaults, on Morgan fingerprints of radius 2 in 2,048 bits; it learns the rows that the network
learned (the validation rows chose the network's epoch and the share of its fingerprints; the
forest does not see them). Files are taken from the folder ``extra`` of ``CELLFORMER_DATA``. Runs
and forests that ``--folder`` holds already are not made again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rdkit import Chem
from rdkit import __version__ as rdkit_version
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import root_mean_squared_error

from cellformer.training.config import RunConfig
from cellformer.training.materials.materials import gather
from cellformer.training.runs.summary import Summary


@dataclass(frozen=True)
class SmallTable:
    """A file with molecules and the column to learn."""

    file: str
    target: str


TABLES = {
    "esol": SmallTable(
        "esol_delaney-processed.csv.gz", "measured log solubility in mols per litre"
    ),
    "freesolv": SmallTable("freesolv.csv.gz", "expt"),
    "lipophilicity": SmallTable("lipophilicity.csv.gz", "exp"),
    "CHEMBL2047_EC50": SmallTable("moleculeace_CHEMBL2047_EC50.csv.gz", "y"),
    "CHEMBL264_Ki": SmallTable("moleculeace_CHEMBL264_Ki.csv.gz", "y"),
}


def main() -> None:
    """Makes what is missing, prints the table, and writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--forest-seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/small-tables"))
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("extra", nargs="*", help="further arguments of cellformer train, after --")
    chosen = parser.parse_args()
    results = {}
    for name in chosen.sets:
        ours = [our_score(name, seed, chosen.folder, chosen.extra) for seed in chosen.seeds]
        forests = [forest_score(name, seed, chosen.folder) for seed in chosen.forest_seeds]
        results[name] = row(ours, forests)
        print(line(name, results[name]), flush=True)
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        told = {"rdkit": rdkit_version, "arguments": chosen.extra, "sets": results}
        chosen.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def our_score(name: str, seed: int, folder: Path, extra: Sequence[str] = ()) -> dict[str, Any]:
    """Trains and predicts, unless that is done; the test RMSE and what else is of interest."""
    table = TABLES[name]
    source = Path(os.environ["CELLFORMER_DATA"]) / "extra" / table.file
    run = folder / f"{name}-{seed}"
    if not (run / "summary.json").exists():
        if (run / "config.json").exists():
            cellformer("train", "--resume", str(run))
        else:
            words = ["--target", table.target, "-o", str(run), "--training.seed", str(seed)]
            cellformer("train", str(source), *words, *extra)
    test, rows = run / "test-rows.csv", rows_of(run)
    frame = pd.read_csv(source)
    frame.iloc[rows["test"]].to_csv(test, index=False)
    cellformer("predict", str(run), str(test), "-o", str(run / "predicted.csv"), "--overwrite")
    predicted = pd.read_csv(run / "predicted.csv")
    assert predicted["error"].isna().all()
    summary = Summary.read(run)
    return {
        "seed": seed,
        "rmse": float(root_mean_squared_error(predicted[table.target], predicted["prediction"])),
        "best_epoch": summary.best_epoch,
        "epochs": summary.epochs,
        "seconds": summary.seconds,
        "rows": {part: len(numbers) for part, numbers in rows.items()},
    }


def forest_score(name: str, seed: int, folder: Path) -> dict[str, Any]:
    """The test RMSE of a forest that learned the training rows of the set's first run."""
    kept = folder / f"{name}-forest-{seed}.json"
    if kept.exists():
        stored: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return stored
    table = TABLES[name]
    frame = pd.read_csv(Path(os.environ["CELLFORMER_DATA"]) / "extra" / table.file)
    run = next(path for path in sorted(folder.glob(f"{name}-*")) if path.is_dir())
    rows = rows_of(run)
    values = frame[table.target].to_numpy(float)
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    bits = np.stack(
        [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in frame["smiles"]]
    ).astype(np.float32)
    fragments = sparse.csc_matrix(bits)  # faster than the dense array
    began = time.monotonic()
    forest = RandomForestRegressor(500, random_state=seed)
    forest.fit(fragments[rows["train"]], values[rows["train"]])
    rmse = root_mean_squared_error(values[rows["test"]], forest.predict(bits[rows["test"]]))
    result = {"seed": seed, "rmse": float(rmse), "seconds": round(time.monotonic() - began, 1)}
    kept.write_text(json.dumps(result), encoding="utf-8")
    return result


def rows_of(run: Path) -> dict[str, np.ndarray]:
    """The rows of the source in each part of a run's split."""
    materials = gather(RunConfig.from_json(run / "config.json").data)
    return {part: materials.rows[numbers] for part, numbers in materials.split.items()}


def cellformer(*arguments: str) -> None:
    """The command line, in a process of its own."""
    program = "import sys; from cellformer.cli.main import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", program, *arguments], check=True)


def row(ours: Sequence[dict[str, Any]], forests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The scores of one set, with mean, deviation and ratio."""
    told: dict[str, Any] = {"ours": list(ours), "forest": list(forests)}
    for name, scores in (("ours", ours), ("forest", forests)):
        values = [score["rmse"] for score in scores]
        told[f"{name}_mean"] = float(np.mean(values))
        told[f"{name}_deviation"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    told["ratio"] = told["ours_mean"] / told["forest_mean"]
    return told


def line(name: str, told: dict[str, Any]) -> str:
    """A row of the printed table."""
    spread = [told[f"{who}_deviation"] for who in ("ours", "forest")]
    ours, forest = (f" ± {each:.3f}" if each is not None else "" for each in spread)
    return (
        f"| {name} | {told['ours_mean']:.3f}{ours} | {told['forest_mean']:.3f}{forest} "
        f"| {told['ratio']:.2f} |"
    )


if __name__ == "__main__":
    main()
