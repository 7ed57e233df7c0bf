"""Cellular transformers for molecules as scikit-learn estimators.

They follow scikit-learn's rules (`get_params`, `clone`, pipelines, grid searches) with one
exception: the input is one SMILES string per row, not a matrix of numbers.
"""

import io
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from cellformer.basics.checks import at_least
from cellformer.basics.rounding import narrowed
from cellformer.chemistry.fragments import Fragments
from cellformer.data.dataset import (
    DEFAULT_METRIC,
    GraphSet,
    Kind,
    MoleculeDescriptors,
    Task,
)
from cellformer.data.tables.table import ArrowFrame, Table
from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.answer import answer
from cellformer.training.answers.deviations import values_of
from cellformer.training.answers.ensemble import Ensemble, pooled, uncertainty
from cellformer.training.config import (
    DataConfig,
    OptimizerConfig,
    RunConfig,
    TrainingConfig,
)
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.several import train_ensemble
from cellformer.training.train import train


class _CellularEstimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share; every argument is a field of `RunConfig`.

    A random ``validation_fraction`` of the rows chooses the best epoch.

    Args:
        lifting: See `DataConfig.lifting`.
        encodings: See `DataConfig.encodings`.
        molecule_descriptors: See `DataConfig.molecule_descriptors`.
        descriptors: Columns of numbers of a data frame that describe its molecules, beside their
            structure; see `DataConfig.descriptors`.
        attention: See `RunConfig.attention`.
        width: See `ArchitectureConfig.width`.
        layers: See `ArchitectureConfig.layers`.
        heads: See `ArchitectureConfig.heads`.
        dropout: See `ArchitectureConfig.dropout`.
        epochs: See `TrainingConfig.epochs`.
        batch_size: See `TrainingConfig.batch_size`.
        learning_rate: See `OptimizerConfig.peak_rate`.
        weight_decay: See `OptimizerConfig.weight_decay`.
        patience: See `TrainingConfig.patience`.
        loss: See `TrainingConfig.loss`.
        validation_fraction: Part of the rows that validates.
        ensemble: Models that are trained with different seeds and answer together.
        smiles_column: The column of SMILES in a data frame; by default found by its name.
        fragments: Which fragments of a molecule count: "all" of a salt, or the "largest".
        on_error: "fail" raises ValueError at a row without a valid molecule; "nan" leaves such
            rows out of `fit`, with a warning, and predicts NaN, or None instead of a class.
        device: See `TrainingConfig.device`.
        random_state: Seed of weights, order, dropout and the choice of validation rows.
        folder: Where the run folder is kept, for the command line to predict with; by default it
            is deleted after training.
        verbose: Whether training reports its progress.
    """

    def __init__(
        self,
        *,
        lifting: str = "induced-cycles",
        encodings: str = "rwbspe+rwpe",
        molecule_descriptors: MoleculeDescriptors = "fingerprints",
        descriptors: str | Sequence[str] = (),
        attention: str = "general-sparse",
        width: int = 64,
        layers: int = 4,
        heads: int = 8,
        dropout: float = 0.0,
        epochs: int | Literal["auto"] = "auto",
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.01,
        patience: int | None = None,
        loss: str = "auto",
        validation_fraction: float = 0.1,
        ensemble: int = 1,
        smiles_column: str | None = None,
        fragments: Fragments = "all",
        on_error: Literal["fail", "nan"] = "fail",
        device: Literal["auto", "cpu", "gpu"] = "auto",
        random_state: Any = 0,
        folder: str | Path | None = None,
        verbose: bool = False,
    ):
        self.lifting = lifting
        self.encodings = encodings
        self.molecule_descriptors = molecule_descriptors
        self.descriptors = descriptors
        self.attention = attention
        self.width = width
        self.layers = layers
        self.heads = heads
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.patience = patience
        self.loss = loss
        self.validation_fraction = validation_fraction
        self.ensemble = ensemble
        self.smiles_column = smiles_column
        self.fragments = fragments
        self.on_error = on_error
        self.device = device
        self.random_state = random_state
        self.folder = folder
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.allow_nan = True  # a missing SMILES is a row without a prediction
        tags.non_deterministic = False
        return tags

    def _config(self, seed: int) -> RunConfig:
        """Raises ValueError where a parameter is out of range."""
        share = float(self.validation_fraction)
        if not 0 < share < 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, got {share}")
        at_least(1, ensemble=self.ensemble)
        return RunConfig(
            replace(self._data(), fractions=(1.0 - share, share, 0.0), split_seed=seed),
            self.attention,
            ArchitectureConfig(
                width=self.width, layers=self.layers, heads=self.heads, dropout=self.dropout
            ),
            OptimizerConfig(peak_rate=self.learning_rate, weight_decay=self.weight_decay),
            TrainingConfig(
                epochs=self.epochs,
                batch_size=self.batch_size,
                patience=self.patience,
                loss=self.loss,
                seed=seed,
                device=self.device,
            ),
        )

    def _data(self) -> DataConfig:
        return DataConfig(
            source="data given to fit",
            lifting=self.lifting,
            encodings=self.encodings,
            fragments=self.fragments,
            molecule_descriptors=self.molecule_descriptors,
            descriptors=self._columns(),
            on_error="fail" if self.on_error == "fail" else "skip",
        )

    def _learn(self, X: Any, targets: Float[np.ndarray, "row target"], task: Task) -> None:
        rows = self._rows(X)
        if len(rows) != len(targets):
            raise ValueError(f"X has {len(rows)} rows and y has {len(targets)}")
        labeled = replace(rows, targets=targets, task_or_none=task)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        config = self._config(int(seed))
        with tempfile.TemporaryDirectory(prefix="cellformer-") as temporary, self._shown():
            path = Path(temporary) / "run" if self.folder is None else Path(self.folder)
            if self.ensemble > 1:
                train_ensemble(config, path, self.ensemble, data=labeled)
            else:
                train(config, path, data=labeled)
            self.ensemble_ = Ensemble.open(path)
        self.n_features_in_ = 1

    def _answer(self, X: Any) -> Float[np.ndarray, "member row output"]:
        """What each member says; raises ValueError at a row without a molecule, or NaN there."""
        check_is_fitted(self)
        with self._shown():
            answers = answer(self.ensemble_, self._rows(X))
        for row, reason in enumerate(answers.reasons):
            if reason and self.on_error == "fail":
                raise ValueError(f"row {row} of X (counted from 0): {reason}")
        return answers.outputs

    def _rows(self, X: Any) -> GraphSet:
        """The molecules of a list, an array or a series of strings, or of a data frame."""
        columns = self._columns()
        if isinstance(X, ArrowFrame):
            table = Table.of_frame(X, "X")
            column = self.smiles_column or (table.header[0] if len(table.header) == 1 else None)
        else:
            cells = np.asarray(X, dtype=object)
            if cells.ndim == 2 and cells.shape[1] == 1:
                cells = cells[:, 0]
            if cells.ndim != 1:
                raise ValueError(f"X has shape {cells.shape}; expected one SMILES string per row")
            if columns:
                raise ValueError(
                    f"X must be a data frame with the descriptors {', '.join(columns)}, got "
                    f"{type(X).__name__}"
                )
            table, column = Table.of_frame(pd.DataFrame({"smiles": cells}), "X"), None
        return preparation_of(replace(self._data(), smiles_column=column), "").open(table)

    def _columns(self) -> tuple[str, ...]:
        """The descriptors that are columns of the data frame."""
        return (self.descriptors,) if isinstance(self.descriptors, str) else (*self.descriptors,)

    def _shown(self) -> AbstractContextManager[Any]:
        """Whether the bars and lines of progress, which go to standard error, appear."""
        return nullcontext() if self.verbose else redirect_stderr(io.StringIO())


class CellularRegressor(RegressorMixin, _CellularEstimator):  # type: ignore[misc]
    """Predicts one or more numbers of a molecule; `_CellularEstimator` explains the parameters.

    Missing values (NaN) of some of several targets are left out of the loss.
    """

    def fit(self, X: Any, y: Any) -> "CellularRegressor":
        """Learns ``y``, of shape (row,) or (row, target), from one SMILES per row of ``X``.

        ``X`` is a list, an array or a series of strings, or a data frame with a column of SMILES.
        Raises ValueError for data that cannot be trained on.
        """
        names = [str(name) for name in y.columns] if isinstance(y, pd.DataFrame) else None
        values = check_array(y, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan")
        self.single_ = values.ndim == 1
        columns = values[:, None] if self.single_ else values
        names = names or [f"y{number}" for number in range(columns.shape[1])]
        task = Task("regression", tuple(names), "mae")
        self._learn(X, narrowed(columns), task)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The values, in the shape of ``y``, and with ``return_std`` the ensemble's deviations."""
        answers = self._answer(X)
        task = self.ensemble_.task
        apart = uncertainty(task, answers)
        if return_std and apart is None:
            raise ValueError(
                "return_std needs an ensemble of at least 2 models, or one of the losses gaussian "
                "and quantile"
            )
        values = [values_of(task, pooled(task, answers))]
        if return_std and apart is not None:
            values.append(apart)
        shaped = [each[:, 0] if self.single_ else each for each in values]
        return tuple(shaped) if return_std else shaped[0]


class CellularClassifier(ClassifierMixin, _CellularEstimator):  # type: ignore[misc]
    """Predicts the class of a molecule; `_CellularEstimator` explains the parameters."""

    def fit(self, X: Any, y: Any) -> "CellularClassifier":
        """Learns the labels ``y``, of shape (row,), from one SMILES per row of ``X``.

        ``X`` is a list, an array or a series of strings, or a data frame with a column of SMILES.
        Raises ValueError for data that cannot be trained on.
        """
        check_classification_targets(y)
        self.classes_, numbers = np.unique(column_or_1d(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_[0]!r}; there is nothing to learn")
        labels = self.classes_.tolist()
        written = tuple(label if isinstance(label, int | str) else str(label) for label in labels)
        kind: Kind = "binary" if len(written) == 2 else "multiclass"
        task = Task(kind, ("y",), DEFAULT_METRIC[kind], written)
        self._learn(X, numbers[:, None].astype(np.float32), task)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``."""
        answers = self._answer(X)
        task = self.ensemble_.task
        logits = pooled(task, answers).astype(np.float64)
        if task.kind == "binary":
            positive = expit(logits)
            return np.hstack([1 - positive, positive])
        return np.asarray(softmax(logits, axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; None for a row without a valid molecule."""
        shares = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[np.nan_to_num(shares).argmax(axis=1)]
        failed = np.isnan(shares).any(axis=1)
        if failed.any():
            labels = labels.astype(object)
            labels[failed] = None
        return labels
