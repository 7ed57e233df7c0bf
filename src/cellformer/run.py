"""A finished run in the hands of a program: it predicts, is scored, and explains."""

import html
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from cellformer.data.dataset import Task
from cellformer.data.preparation import Preparation, Source
from cellformer.explaining.contributions import Contributions
from cellformer.explaining.explain import Method, explain
from cellformer.exporting.export import Exported, export_with
from cellformer.exporting.prepared import PreparedBatch, export_batch_with
from cellformer.model.described import CellModel
from cellformer.training.answers.embed import Embeddings, LayerChoice, Pool, embed_with
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.answers.evaluate import evaluate_with
from cellformer.training.answers.predict import OnError, predict_with
from cellformer.training.answers.summary import shown
from cellformer.training.config import RunConfig
from cellformer.training.runs.summary import EnsembleSummary, Summary


@dataclass(frozen=True, eq=False)
class Run:
    """A run that `load` has opened, or the runs of an ensemble or cross-validation together.

    Its weights are read once, however often it is asked. It goes wherever the path of a run folder
    does, as in ``cf.write_report(run)``.
    """

    ensemble: Ensemble
    weights: str
    """Those of the "best" or of the "last" epoch."""

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {self._told()})"

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(str(self.path))}</b>: {html.escape(self._told())}"
        if not self.ensemble.folder.summary.exists():
            return title
        summary = self.summary
        told = summary.reported if isinstance(summary, Summary) else summary.mean
        metrics = list(next(iter(told.values())))
        head = "".join(f"<th>{html.escape(metric)}</th>" for metric in metrics)
        rows = "".join(
            f"<tr><th>{part}</th>{''.join(f'<td>{shown(its[name])}</td>' for name in metrics)}</tr>"
            for part, its in told.items()
        )
        return f"{title}<table><tr><th></th>{head}</tr>{rows}</table>"

    def _told(self) -> str:
        """What it predicts, by how many models, and how well."""
        task, count = self.task, len(self.models)
        told = f"{task.kind} of {', '.join(task.targets)}"
        if count > 1:
            told += f" by {count} models"
        if not self.ensemble.folder.summary.exists():
            return f"{told}, unfinished"
        summary = self.summary
        scores = summary.reported if isinstance(summary, Summary) else summary.mean
        part = "test" if "test" in scores else "val"
        return f"{told}, {part} {summary.metric} {shown(scores[part][summary.metric])}"

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.ensemble.folder.path

    @property
    def task(self) -> Task:
        """What it predicts."""
        return self.ensemble.task

    @property
    def preparation(self) -> Preparation:
        """How rows become complexes, those of training and new ones alike."""
        return self.ensemble.runs[0].preparation

    @property
    def config(self) -> RunConfig:
        """How it was trained; of several runs, the first one's."""
        return self.ensemble.runs[0].config

    @property
    def models(self) -> tuple[CellModel, ...]:
        """The model of each run, a plain module of PyTorch; of a single run there is one."""
        return tuple(run.model for run in self.ensemble.runs)

    @property
    def model(self) -> CellModel:
        """The model; raises ValueError where several runs answer together."""
        return self.ensemble.single("model").model

    @cached_property
    def summary(self) -> Summary | EnsembleSummary:
        """The result, as summary.json holds it; raises FileNotFoundError for an unfinished run."""
        kind = EnsembleSummary if self.ensemble.folder.members.exists() else Summary
        return kind.read(self.path)

    def predict(
        self,
        source: Source,
        on_error: OnError = "null",
        interval: float | None = None,
        calibrate: Source | None = None,
        smiles_column: str | None = None,
    ) -> Any:
        """A row for each of a list, series or array of SMILES or graphs, of a data frame or a file.

        The same as the function `predict`, which describes the columns, gives for the folder.
        """
        told = predict_with(self.ensemble, source, on_error, interval, calibrate, smiles_column)
        return told.frame

    def evaluate(
        self,
        source: Source | None = None,
        part: str = "test",
        on_error: Literal["skip", "fail"] = "skip",
        interval: float | None = None,
        calibrate: Source | None = None,
        smiles_column: str | None = None,
    ) -> dict[str, Any]:
        """The scores on labeled rows, or on a part of the run's own data; see `evaluate`."""
        told = evaluate_with(
            self.ensemble, source, part, on_error, interval, calibrate, smiles_column
        )
        return {"weights": self.weights, **told}

    def embed(
        self,
        source: Source,
        rank: int | None = None,
        pool: Pool = "mean",
        smiles_column: str | None = None,
        layers: LayerChoice = "last",
    ) -> Embeddings:
        """The hidden vectors of rows, or of their cells of a rank; see `embed`."""
        return embed_with(self.ensemble, source, rank, pool, smiles_column, layers)[0]

    def explain(
        self, source: Source, row: int = 0, method: Method = "occlusion", output: int = 0
    ) -> Contributions:
        """The contribution of each cell of a molecule, graph or row to one output.

        Raises ValueError where several runs answer together, and otherwise as `explain` does.
        """
        run = self.ensemble.single("explanation")
        return explain(run, self.preparation.one(source, row), method, output)

    def export(
        self, path: str | os.PathLike[str] | None = None, check: Source | None = None
    ) -> Exported:
        """Writes a file that predicts without this package; see `export`."""
        return export_with(self.ensemble, path, check)

    def export_batch(self, source: Source, path: str | os.PathLike[str]) -> PreparedBatch:
        """Writes rows as the input of such a file; see `export_batch`."""
        return export_batch_with(self.ensemble, source, path)


def load(
    run: str | os.PathLike[str],
    weights: Literal["best", "last"] = "best",
    device: Literal["auto", "cpu", "gpu"] | None = None,
    batch_size: int | None = None,
    samples: int | None = None,
) -> Run:
    """Opens a run folder, or that of an ensemble or cross-validation, with its weights.

    It answers on the device, and in batches, of its training unless others are given, and with
    ``samples`` so many times with dropout (see `predict`). Raises FileNotFoundError if the folder
    lacks a file, ValueError if one is damaged, if there is no such device and if nothing can be
    sampled, `PartRefusedError` where it needs code of others that was not named by
    `allow_parts`.
    """
    return Run(Ensemble.open(Path(run), weights).by(device, batch_size, samples), weights)
