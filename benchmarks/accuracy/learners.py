"""Who learns a table: each trains on the rows of a file and says its error on the test rows.

Everyone has one thread, the same training and validation rows, and its own defaults. Seconds are
those that the processor spent on the whole command (reading, preparing, training and predicting),
which other work beside it does not change.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import Descriptors
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import root_mean_squared_error

from benchmarks.accuracy.table import Score
from benchmarks.timing import processor_seconds
from cellformer.training.runs.summary import Summary

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


Features: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""From molecules to a row of numbers for each."""
Learner: TypeAlias = Callable[[Path, int, Path], Score]
"""From a file, a seed and a folder of its own to its score."""


PREDICTED = "predicted.csv"
"""Where ours and chemprop keep ``y`` and ``prediction`` of the test rows."""


def ours(extra: Sequence[str] = ()) -> Learner:
    """``cellformer train`` with these further arguments, and ``cellformer predict``."""

    def learn(rows: Path, seed: int, folder: Path) -> Score:
        run = folder / "run"
        began = processor_seconds()
        words = ["train", str(rows), "--target", "y", "-o", str(run), "--resume", "auto"]
        _cellformer(*words, "--data.metric", "rmse", "--training.seed", str(seed), *extra)
        test = _test_rows(rows, folder)
        predicted = folder / PREDICTED
        _cellformer("predict", str(run), str(test), "-o", str(predicted), "--overwrite")
        seconds = processor_seconds() - began
        frame = pd.read_csv(predicted)
        return _of_summary(run, rmse_of(frame["y"], frame["prediction"]), seconds)

    return learn


def baseline(name: str) -> Learner:
    """``cellformer baseline``: a network of PyTorch Geometric in the same loop."""

    def learn(rows: Path, seed: int, folder: Path) -> Score:
        run = folder / "run"
        began = processor_seconds()
        words = ["baseline", name, str(rows), "--target", "y", "-o", str(run)]
        _cellformer(*words, "--data.metric", "rmse", "--training.seed", str(seed))
        seconds = processor_seconds() - began
        return _of_summary(run, Summary.read(run).score("test"), seconds)

    return learn


def chemprop(python: Path) -> Learner:
    """``chemprop train`` of the environment that ``scripts/peers`` makes."""

    def learn(rows: Path, seed: int, folder: Path) -> Score:
        out = folder / "run"
        began = processor_seconds()
        subprocess.run(
            [python.with_name("chemprop"), "train", "-i", rows, "-s", "smiles", "--target-columns",
             "y", "--splits-column", "split", "-t", "regression", "-o", out, "--accelerator", "cpu",
             "--devices", "1", "--pytorch-seed", str(seed)],
            check=True, env=os.environ | ONE_THREAD, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        seconds = processor_seconds() - began
        frame = pd.read_csv(rows)
        predicted = pd.read_csv(out / "model_0" / "test_predictions.csv")
        truth = frame.loc[frame["split"] == "test", "y"]
        assert len(truth) == len(predicted)
        kept = pd.DataFrame({"y": truth.to_numpy(), "prediction": predicted["y"].to_numpy()})
        kept.to_csv(folder / PREDICTED, index=False)
        return Score(rmse_of(truth, predicted["y"]), seconds)

    return learn


def forest(rows: Path, seed: int, _: Path) -> Score:
    """500 trees of scikit-learn on fragment counts and RDKit's descriptors.

    It does not see the validation rows, which choose something for the networks.
    """
    return fitted(rows, described, RandomForestRegressor(500, random_state=seed, n_jobs=1))


def boosting(rows: Path, seed: int, _: Path) -> Score:
    """Gradient boosting by histograms of scikit-learn on the same features."""
    return fitted(rows, described, HistGradientBoostingRegressor(random_state=seed))


def learners(peers: Path, extra: Sequence[str] = ()) -> Mapping[str, Learner]:
    """All by name; ``extra`` goes to ``cellformer train``."""
    return {
        "cellformer": ours(extra),
        "chemprop": chemprop(peers / "bin" / "python"),
        "forest": forest,
        "boosting": boosting,
        "gin": baseline("gin"),
        "gps": baseline("gps"),
    }


def fitted(rows: Path, features: Features, model: Any) -> Score:
    """The score of a model of scikit-learn, which learns the training rows alone."""
    frame = pd.read_csv(rows)
    train, test = (frame["split"] == part for part in ("train", "test"))
    began = processor_seconds()
    known = features(frame["smiles"].tolist())
    model.fit(known[train], frame["y"][train])
    predicted = model.predict(known[test])
    return Score(rmse_of(frame["y"][test], predicted), processor_seconds() - began)


def described(smiles: Sequence[str]) -> NDArray[np.float32]:
    """Morgan counts of radius 2 in 2,048 columns beside RDKit's descriptors, 0 where unknown."""
    rdBase.DisableLog("rdApp.*")
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    found = []
    for text in smiles:
        molecule = Chem.MolFromSmiles(text)
        told = Descriptors.CalcMolDescriptors(molecule)  # type: ignore[no-untyped-call]
        values = np.array(list(told.values()), np.float64)
        values = np.clip(np.nan_to_num(values), -1e6, 1e6)
        found.append(np.r_[generator.GetCountFingerprintAsNumPy(molecule), values])
    return np.asarray(found, np.float32)


def _of_summary(run: Path, rmse: float, seconds: float) -> Score:
    told = Summary.read(run)
    return Score(rmse, seconds, told.score("val"), told.parameters)


def _test_rows(rows: Path, folder: Path) -> Path:
    """The test rows in a file of their own; their targets stay, which nothing reads."""
    frame = pd.read_csv(rows)
    path = folder / "test-rows.csv"
    frame[frame["split"] == "test"].drop(columns="split").to_csv(path, index=False)
    return path


def rmse_of(truth: "pd.Series[float]", predicted: object) -> float:
    """The root mean square error."""
    return float(root_mean_squared_error(truth, predicted))


def _cellformer(*arguments: str) -> None:
    program = "import sys; from cellformer.cli.main import main; sys.exit(main())"
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=True,
        env=os.environ | ONE_THREAD,
        stdout=subprocess.DEVNULL,
    )
