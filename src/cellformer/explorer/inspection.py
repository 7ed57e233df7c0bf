"""What the explorer says of one complex: its cells, its prediction, its pictures."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy.special import expit, softmax

from cellformer.basics.parts.listing import own_parts
from cellformer.chemistry.fragments import largest_fragment
from cellformer.chemistry.smiles import parse_smiles
from cellformer.complexes.batches.batch import collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.drawing.molecule import atom_symbols, molecule_positions
from cellformer.encodings.catalog import ENCODINGS
from cellformer.explaining.evaluation import evaluating
from cellformer.report.outcome import RunOutcome, outcome_of
from cellformer.report.sections import LEVEL, half_widths
from cellformer.training.answers.trained_run import TrainedRun

MOST_CHARACTERS, MOST_ATOMS, MOST_CELLS = 4000, 300, 2000
MOST_EXAMPLES = 200


@dataclass(frozen=True, eq=False)
class Subject:
    """A complex to look at, encoded as the run's, and how to draw it."""

    name: str
    cells: CellComplex
    positions: Float64[np.ndarray, "vertex space"] | None
    symbols: list[str] | None  # of a molecule's atoms
    truth: Float[np.ndarray, " target"] | None  # of a row of the run's data


@dataclass(frozen=True, eq=False)
class Explorer:
    """A run, and its validation and test data where they are still there."""

    run: TrainedRun
    outcome: RunOutcome | None
    missing: str  # why there are no data

    @classmethod
    def open(cls, path: Path, weights: str = "best") -> "Explorer":
        """Reads the run and predicts its held-out data, from which intervals follow.

        Raises ValueError for a run that predicts cells."""
        run = TrainedRun.open(path, weights)
        if run.recipe.task.rank is not None:
            raise ValueError(
                f"{path} predicts cells of rank {run.recipe.task.rank}; the explorer shows one "
                "prediction per complex"
            )
        run.module.cpu()
        try:
            return cls(run, outcome_of(run), "")
        except (OSError, ValueError) as error:
            return cls(run, None, str(error))

    @cached_property
    def half_widths(self) -> list[float] | None:
        """Of the 90 % interval around each target of a regression, from validation errors."""
        if self.outcome is None or self.run.recipe.task.kind != "regression":
            return None
        part = self.outcome.parts.get("val")
        return None if part is None else half_widths(self.run.recipe.task, part)

    def about(self) -> dict[str, Any]:
        """What the page needs to know of the run."""
        task, model = self.run.recipe.task, self.run.recipe.model.architecture
        words = [str(label) for label in task.labels]
        return {
            "name": self.run.folder.path.resolve().name,
            "outputs": words if task.kind == "multiclass" else list(task.targets),
            "encodings": " + ".join(type(e).__name__ for e in self.run.preparation.encodings),
            "listed": [*ENCODINGS.names, *own_parts(ENCODINGS.kind)],
            "layers": model.layers,
            "heads": model.heads,
            "examples": self._examples(),
            "missing": self.missing,
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
        return Subject(text, cells, molecule_positions(text), atom_symbols(text), None)

    def predict(self, subject: Subject) -> list[dict[str, Any]]:
        """One entry per target: a value with its interval, or a class with all probabilities."""
        module, task = self.run.module, self.run.recipe.task
        with evaluating(module), torch.no_grad():
            outputs = module.predict_step(collate([subject.cells]), 0)[0].double().numpy()
        if task.kind == "multiclass":
            return [self._classes(task.targets[0], softmax(outputs), 0, subject)]
        found = []
        for number, target in enumerate(task.targets):
            if task.kind == "binary":
                share = expit(outputs[number])
                found.append(self._classes(target, np.array([1 - share, share]), number, subject))
                continue
            value = float(outputs[number])
            width = np.inf if self.half_widths is None else self.half_widths[number]
            entry: dict[str, Any] = {"target": target, "value": f"{value:.4g}"}
            if np.isfinite(width):
                entry["interval"] = [f"{value - width:.4g}", f"{value + width:.4g}"]
                entry["level"] = f"{LEVEL:.0%}"
            if subject.truth is not None and np.isfinite(subject.truth[number]):
                entry["truth"] = f"{subject.truth[number]:.4g}"
            found.append(entry)
        return found

    def _classes(
        self, target: str, shares: Float64[np.ndarray, " class"], number: int, subject: Subject
    ) -> dict[str, Any]:
        labels = [str(label) for label in self.run.recipe.task.labels]
        entry: dict[str, Any] = {
            "target": target,
            "value": labels[int(shares.argmax())],
            "probabilities": [
                [label, f"{share:.3f}"] for label, share in zip(labels, shares, strict=True)
            ],
        }
        if subject.truth is not None and np.isfinite(subject.truth[number]):
            entry["truth"] = labels[int(subject.truth[number])]
        return entry

    def _of_row(self, row: int) -> Subject:
        if self.outcome is None:
            raise ValueError(f"the data of this run cannot be read: {self.missing}")
        found = np.flatnonzero(self.outcome.rows == row)
        if not len(found):
            raise ValueError(f"the data of this run have no complex in row {row}")
        cells = self.outcome.materials.complexes[int(found[0])]
        if sum(cells.num_cells) > MOST_CELLS:
            raise ValueError(
                f"row {row} has {sum(cells.num_cells)} cells; the explorer takes {MOST_CELLS}"
            )
        targets = self.outcome.materials.complexes.targets
        truth = None if targets is None else targets[int(found[0])]
        smiles = self.outcome.smiles(row)
        if smiles is None:
            positions = self.outcome.graphs.graph(row).positions
            return Subject(f"graph {row}", cells, positions, None, truth)
        return Subject(smiles, cells, molecule_positions(smiles), atom_symbols(smiles), truth)

    def _examples(self) -> list[list[Any]]:
        """Row and name of held-out complexes."""
        if self.outcome is None:
            return []
        part = self.outcome.parts.get("test", self.outcome.parts.get("val"))
        rows = [] if part is None else part.rows[:MOST_EXAMPLES].tolist()
        return [[row, self.outcome.smiles(row) or f"graph {row}"] for row in rows]
