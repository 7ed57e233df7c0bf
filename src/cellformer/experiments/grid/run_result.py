"""What is known of one run of a grid: all that the tables and their notes are made of."""

import math
from dataclasses import dataclass

from cellformer.experiments.grid.grid import Experiment
from cellformer.training.config import RunConfig
from cellformer.training.runs.summary import Classes, ScoreValue, Summary, defined


@dataclass(frozen=True)
class Finished:
    """The result of a run and where it comes from; these are columns of runs.csv."""

    metric: str
    """What chose the best epoch."""
    test: ScoreValue
    """The test score of the best epoch; None where it is undefined."""
    validation: ScoreValue
    """The validation score of the best epoch."""
    test_last: ScoreValue
    """The test score of the last epoch."""
    test_standard_error: ScoreValue
    """Of the test score, because the test rows are few; None where it is not known."""
    test_complexes: int
    """Complexes in the test part."""
    best_epoch: int | None
    """From 1."""
    epochs: int
    """How many there were."""
    parameters: int
    """Weights of the model."""
    data_name: str
    """The name of the data."""
    data_digest: str
    """A hash of the data."""
    classes: Classes
    """How many values of each class every part has."""
    commit: str | None
    """That of the program's source; None where it is not known."""
    dirty: bool | None
    """Whether files differed from the commit."""
    versions: str
    """Of Python and of the packages that count."""
    platform: str
    """The operating system."""
    processor: str
    """Its name."""
    threads: int
    """Of torch."""
    gpus: str | None
    """Their names."""
    sessions: int | None
    """How often it began or went on; None for a run from before this was kept."""
    began: str | None
    """When."""

    @classmethod
    def of(cls, summary: Summary) -> "Finished":
        """What a run's summary says."""

        def score(part: str, weights: str = "best") -> ScoreValue:
            return summary.scores.get(weights, {}).get(part, {}).get(summary.metric)

        first, last = summary.sessions[0], summary.session
        return cls(
            metric=summary.metric,
            test=score("test"),
            validation=score("val"),
            test_last=score("test", "last"),
            test_standard_error=summary.standard_errors.get("best", {}).get("test"),
            test_complexes=summary.complexes["test"],
            best_epoch=summary.best_epoch,
            epochs=summary.epochs,
            parameters=summary.parameters,
            data_name=summary.data.name,
            data_digest=summary.data.digest,
            classes=summary.classes,
            commit=None if last.source is None else last.source.commit,
            dirty=None if last.source is None else last.source.dirty,
            versions=" ".join(f"{name}={value}" for name, value in last.versions.items()),
            platform=last.machine.platform,
            processor=last.machine.processor,
            threads=last.machine.threads,
            gpus=" ".join(last.machine.gpus) or None,
            sessions=None if first.began is None else len(summary.sessions),
            began=first.began,
        )


@dataclass(frozen=True)
class RunResult:
    """One run of a grid."""

    name: str
    """Its folder, relative to the results folder."""
    config: RunConfig
    """Its settings."""
    result: Finished | None
    """None where it has not finished."""
    error: str | None
    """Why it failed, where it did."""
    training_seconds: float | None
    """Of all epochs so far, also of earlier sessions; None where there is none."""
    curve: tuple[ScoreValue, ...]
    """The validation score of every epoch, of a finished run."""

    @property
    def experiment(self) -> Experiment:
        """Its place in the grid, by its own configuration."""
        return Experiment.of(self.config)

    @property
    def status(self) -> str:
        """Whether there is a result, or a reason why not."""
        return "finished" if self.result else "failed" if self.error else "unfinished"

    @property
    def test(self) -> float:
        """The test score at the best validation epoch; NaN where there is none."""
        return math.nan if self.result is None else defined(self.result.test)

    @property
    def validation(self) -> float:
        """The best validation score; NaN where there is none."""
        return math.nan if self.result is None else defined(self.result.validation)

    @property
    def standard_error(self) -> float:
        """Of the test score, because the test rows are few; NaN where it is not known."""
        return math.nan if self.result is None else defined(self.result.test_standard_error)
