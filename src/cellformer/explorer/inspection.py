"""What the explorer says of one complex: its cells, its prediction, its pictures."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float64
from scipy.special import expit, softmax

from cellformer.basics.parts.listing import own_parts
from cellformer.chemistry.fragments import largest_fragment
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.chemistry.smiles import in_graph_order, parse_smiles
from cellformer.complexes.cell_complex import CellComplex
from cellformer.drawing.molecule import atom_symbols, bond_orders, molecule_positions
from cellformer.drawing.tokens import rank_word
from cellformer.encodings.catalog import ENCODINGS
from cellformer.encodings.encode import encode
from cellformer.explorer.alike import Compared, compare_rows
from cellformer.report.cell_pictures import outputs_for, shares_of
from cellformer.report.outcome import RunOutcome, outcome_of
from cellformer.report.sections import LEVEL
from cellformer.training.answers.conformal import Ends, Residuals
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.answers.trained_run import TrainedRun

MOST_CHARACTERS, MOST_ATOMS, MOST_CELLS = 4000, 300, 30_000
MOST_EXAMPLES = 200
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
OF_COMPLEXES = ("complex", "attention", "contributions")
OF_CELLS = ("predictions", "complex", "attention")
"""The pictures of a run that predicts complexes, and of one that predicts cells."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A complex to look at, encoded as the run's, and how to draw it."""

    name: str
    cells: CellComplex
    positions: Float64[np.ndarray, "vertex space"] | None
    symbols: list[str] | None  # of a molecule's atoms
    truth: Float[np.ndarray, "cell target"] | None  # of a row of the run's data: itself, its cells
    orders: list[float] | None = None  # of a molecule's bonds

    @classmethod
    def molecule(
        cls,
        smiles: str,
        cells: CellComplex,
        scheme: MoleculeScheme,
        truth: Float[np.ndarray, "cell target"] | None = None,
    ) -> "Subject":
        """As chemists draw it."""
        drawn = in_graph_order(smiles, scheme)
        return cls(smiles, cells, molecule_positions(drawn), atom_symbols(drawn), truth,
                   bond_orders(drawn, cells))  # fmt: skip

    def word(self, rank: int, count: int = 2) -> str:
        """What its cells of a rank are called."""
        return rank_word(rank, self.symbols is not None, count)

    @property
    def told(self) -> str:
        """How many cells it has: 3 atoms, 2 bonds."""
        counts = enumerate(self.cells.num_cells)
        return ", ".join(f"{count} {self.word(rank, count)}" for rank, count in counts)


@dataclass(frozen=True, eq=False)
class Explorer:
    """A run, and its validation and test data where they are still there."""

    run: TrainedRun
    outcome: RunOutcome | None
    missing: str  # why there are no data

    @classmethod
    def open(cls, path: Path, weights: str = "best") -> "Explorer":
        """Reads the run and predicts its held-out data."""
        run = TrainedRun.open(path, weights)
        try:
            return cls(run, outcome_of(run), "")
        except (OSError, ValueError) as error:
            return cls(run, None, str(error))

    @cached_property
    def residuals(self) -> Residuals | None:
        """The errors of a regression that the run keeps, if they are enough for its intervals."""
        if not self.run.folder.residuals.exists():
            return None
        kept = Residuals.read(self.run.folder.residuals)
        try:
            kept.reach(LEVEL)
        except ValueError:  # of too few rows
            return None
        return kept

    @property
    def alone(self) -> Ensemble:
        """The run, as one that answers for tables."""
        return Ensemble(self.run.folder, (self.run,))

    @property
    def interval(self) -> float | None:
        """The level of the intervals of a table's predictions, if the run has them."""
        return None if self.residuals is None else LEVEL

    def ends(self, outputs: Float[np.ndarray, "row output"]) -> Ends | None:
        """Those of the intervals of values, if the run has them."""
        if self.residuals is None:
            return None
        return self.residuals.interval(self.run.recipe.task, outputs, LEVEL)

    @cached_property
    def compared(self) -> Compared:
        """Rows of the run's data with their vectors, made when they are first asked for.

        Raises ValueError where there are no data.
        """
        if self.outcome is None:
            raise ValueError(f"there are no rows to compare with: {self.missing}")
        return compare_rows(self.run, self.outcome)

    def about(self) -> dict[str, Any]:
        """What the page needs to know of the run."""
        task, model = self.run.recipe.task, self.run.recipe.model.architecture
        words = [str(label) for label in task.labels]
        return {
            "name": self.run.folder.path.resolve().name,
            "kinds": list(OF_CELLS if task.rank is not None else OF_COMPLEXES),
            "targets": list(task.targets),
            "start": self._start(),
            "outputs": words if task.kind == "multiclass" else list(task.targets),
            "encodings": " + ".join(type(e).__name__ for e in self.run.preparation.encodings),
            "listed": [*ENCODINGS.names, *own_parts(ENCODINGS.kind)],
            "layers": model.layers,
            "heads": model.heads,
            "examples": self._examples(),
            "missing": self.missing,
            "alike": "rows" if task.rank is None else "cells",
            "limits": {"atoms": MOST_ATOMS, "characters": MOST_CHARACTERS},
        }

    def subject(self, smiles: str | None, row: int | None) -> Subject:
        """The molecule of a SMILES, or a row of the data; ValueError says why there is none."""
        if row is not None:
            return self._of_row(row)
        text = (smiles or "").strip()
        if len(text) > MOST_CHARACTERS:
            raise ValueError(
                f"this SMILES has {len(text)} characters; the explorer takes {MOST_CHARACTERS}"
            )
        preparation = self.run.preparation
        if preparation.fragments == "largest":
            text = largest_fragment(text)
        atoms = parse_smiles(text).GetNumAtoms()
        if atoms > MOST_ATOMS:
            raise ValueError(
                f"this molecule has {atoms} heavy atoms; the explorer takes up to {MOST_ATOMS} "
                "(cellformer predict has no such limit)"
            )
        cells = preparation.one([text])
        return Subject.molecule(text, cells, preparation.features)

    def predict(self, subject: Subject) -> list[dict[str, Any]]:
        """One entry per target: a value with its interval, or a class with all probabilities."""
        task, every = self.run.recipe.task, outputs_for(self.run, subject.cells)
        if task.rank is not None:
            return [
                {"target": target, "value": self._over_cells(every, number, subject)}
                for number, target in enumerate(task.targets)
            ]
        outputs, truth = every[0], None if subject.truth is None else subject.truth[0]
        if task.kind == "multiclass":
            return [self._classes(task.targets[0], softmax(outputs), 0, truth)]
        found, ends = [], self.ends(every)
        for number, target in enumerate(task.targets):
            if task.kind == "binary":
                share = expit(outputs[number])
                found.append(self._classes(target, np.array([1 - share, share]), number, truth))
                continue
            value = float(outputs[number])
            entry: dict[str, Any] = {"target": target, "value": f"{value:.4g}"}
            if ends is not None:
                entry["interval"] = [f"{end[0, number]:.4g}" for end in ends]
                entry["level"] = f"{LEVEL:.0%}"
            if truth is not None and np.isfinite(truth[number]):
                entry["truth"] = f"{truth[number]:.4g}"
            found.append(entry)
        return found

    def _over_cells(
        self, outputs: Float[np.ndarray, "cell output"], target: int, subject: Subject
    ) -> str:
        """Their number, and the range of values or the size of the classes."""
        task = self.run.recipe.task
        assert task.rank is not None
        told = f"{len(outputs)} {subject.word(task.rank, len(outputs))}"
        if not len(outputs):
            return told
        if task.kind == "regression":
            return f"{told}, {outputs[:, target].min():.4g} to {outputs[:, target].max():.4g}"
        best = shares_of(task, outputs, target).argmax(axis=1)
        counts = np.bincount(best, minlength=len(task.labels)).tolist()
        each = (f"{label}: {count}" for label, count in zip(task.labels, counts, strict=True))
        return f"{told}; {', '.join(each)}"

    def _classes(
        self,
        target: str,
        shares: Float64[np.ndarray, " class"],
        number: int,
        truth: Float[np.ndarray, " target"] | None,
    ) -> dict[str, Any]:
        labels = [str(label) for label in self.run.recipe.task.labels]
        entry: dict[str, Any] = {
            "target": target,
            "value": labels[int(shares.argmax())],
            "probabilities": [
                [label, f"{share:.3f}"] for label, share in zip(labels, shares, strict=True)
            ],
        }
        if truth is not None and np.isfinite(truth[number]):
            entry["truth"] = labels[int(truth[number])]
        return entry

    def subject_name(self, row: int) -> str:
        """What the complex in a row of the data is called; ValueError if there is none."""
        return self._data_with(row).smiles(row) or f"graph {row}"

    def _data_with(self, row: int) -> RunOutcome:
        if self.outcome is None:
            raise ValueError(f"the data of this run cannot be read: {self.missing}")
        if row not in self.outcome.rows:
            raise ValueError(f"the data of this run have no complex in row {row}")
        return self.outcome

    def _of_row(self, row: int) -> Subject:
        outcome = self._data_with(row)
        cells = outcome.complex_of(row)
        if sum(cells.num_cells) > MOST_CELLS:
            raise ValueError(
                f"row {row} has {sum(cells.num_cells)} cells; the explorer takes {MOST_CELLS}"
            )
        if outcome.materials.patches is not None:
            cells = encode(cells, self.run.preparation.encodings)
        truth, smiles = outcome.truth_of(row), outcome.smiles(row)
        if smiles is None:
            positions = outcome.graphs.graph(row).positions
            return Subject(self.subject_name(row), cells, positions, None, truth)
        return Subject.molecule(smiles, cells, self.run.preparation.features, truth)

    def _start(self) -> dict[str, Any] | None:
        """What the page shows first: a complex that the run did not learn, or a molecule."""
        if examples := self._examples():
            return {"row": examples[0][0]}
        try:
            self.subject(ASPIRIN, None)
        except ValueError:
            return None
        return {"smiles": ASPIRIN}

    def _examples(self) -> list[list[Any]]:
        """Row and name of held-out complexes."""
        if self.outcome is None:
            return []
        part = self.outcome.parts.get("test", self.outcome.parts.get("val"))
        rows = [] if part is None else np.unique(part.rows)[:MOST_EXAMPLES].tolist()
        return [[row, self.subject_name(row)] for row in rows]
