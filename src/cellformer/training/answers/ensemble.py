"""Several runs that answer together, and how far apart their answers are."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int64
from scipy.special import log_expit, log_softmax, logsumexp

from cellformer.basics.checks import at_least
from cellformer.basics.decoding import decoded
from cellformer.basics.sealed import read_sealed
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import Task
from cellformer.model.dropping import drops
from cellformer.training.answers.deviations import deviation_of, deviations_of, values_of
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.loop.devices import check_device
from cellformer.training.runs.run_folder import RunFolder, write_json

FORMAT = 1
MemberKind: TypeAlias = Literal["seeds", "folds"]
"""Whether the members differ in their seed, or in the part of the data that they learned."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The runs of a folder, at least one; all were given the same task and prepare data alike."""

    folder: RunFolder
    runs: tuple[TrainedRun, ...]
    samples: int | None = None  # answers of each run, with dropout; None: one, without

    @classmethod
    def open(cls, path: Path, weights: str = "best") -> "Ensemble":
        """Reads the folder of one run, or of an ensemble or cross-validation; or by its name a
        model that comes with the package.

        Raises FileNotFoundError if a run lacks a file, ValueError if a file is damaged.
        """
        folder = RunFolder.named(path)
        path = folder.path
        if not folder.members.exists():
            return cls(folder, (TrainedRun.open(path, weights),))
        _, names = read_members(folder)
        return cls(folder, tuple(TrainedRun.open(path / name, weights) for name in names))

    def by(
        self,
        device: Literal["auto", "cpu", "gpu"] | None = None,
        batch_size: int | None = None,
        samples: int | None = None,
    ) -> "Ensemble":
        """The same models, which answer on a device, or in batches, other than in training.

        With ``samples`` each of them answers so many times, with the dropout of training (see
        `drop_again`). Raises ValueError where a GPU is asked for and there is none, for less than
        two samples, and for samples of a model that was trained without dropout.
        """
        if samples is not None:
            at_least(2, samples=samples)
        runs = []
        for run in self.runs:
            training = run.config.training
            size = training.batch_size if batch_size is None else batch_size
            training = replace(training, device=device or training.device, batch_size=size)
            if device is not None:
                check_device(training)
            runs.append(replace(run, config=replace(run.config, training=training)))
            if samples is not None and not drops(run.model):
                raise ValueError(
                    f"{run.folder.path} was trained without dropout, so all samples would be "
                    "equal; leave --samples out"
                )
        return Ensemble(self.folder, tuple(runs), samples)

    @property
    def task(self) -> Task:
        """What all members predict."""
        return self.runs[0].recipe.task

    def single(self, what: str) -> TrainedRun:
        """The run; raises ValueError where several answer together, each with its own ``what``."""
        if len(self.runs) > 1:
            raise ValueError(
                f"{self.folder.path} holds {len(self.runs)} models, and each has a different "
                f"{what}: take the folder of one, such as {self.runs[0].folder.path}"
            )
        return self.runs[0]

    def answers(
        self, complexes: RaggedComplexes, chosen: Int64[np.ndarray, " chosen"]
    ) -> Float[np.ndarray, "member row output"]:
        """What each member says: values in the user's units, or logits, and deviations behind them
        (see `deviations`).
        """
        drawn = (None,) if self.samples is None else range(self.samples)
        return np.stack(
            [run.outputs(complexes, chosen, number) for run in self.runs for number in drawn]
        )


@dataclass(frozen=True)
class _KeptMembers:
    """What the file of a folder of runs holds."""

    format: int
    kind: MemberKind
    members: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"format {self.format}, this version reads {FORMAT}")
        if not self.members or any(Path(name).name != name for name in self.members):
            raise ValueError(f"members are folders beside the file, got {self.members}")


def read_members(folder: RunFolder) -> tuple[MemberKind, tuple[str, ...]]:
    """How the runs of a folder differ, and the names of their folders in it.

    Raises ValueError, naming the file, where it is off.
    """
    kept = decoded(_KeptMembers, read_sealed(folder.members), str(folder.members))
    return kept.kind, kept.members


def write_members(folder: RunFolder, kind: MemberKind, names: tuple[str, ...]) -> None:
    """Makes a folder of runs that answer together."""
    write_json(folder.members, {"format": FORMAT, "kind": kind, "members": list(names)})


def pooled(
    task: Task, answers: Float[np.ndarray, "member row output"]
) -> Float[np.ndarray, "row output"]:
    """One answer of all members: the mean of their values, or the logits of their mean
    probabilities. A single member's answer is left as it is.

    Deviations are those of the equal mixture of what the members tell. Source: Lakshminarayanan et
    al., "Simple and scalable predictive uncertainty estimation using deep ensembles" (2017).
    """
    if len(answers) == 1:
        return np.asarray(answers[0])
    if task.kind == "regression":
        values, apart = values_of(task, answers), deviations_of(task, answers)
        if apart is None:
            return np.asarray(values.mean(axis=0))
        between = values.var(axis=0)
        mixed = [np.sqrt((each**2).mean(axis=0) + between) for each in apart]
        return np.concatenate([values.mean(axis=0), *mixed], axis=1)
    wide = answers.astype(np.float64)
    if task.kind == "binary":
        positive, negative = (logsumexp(log_expit(sign * wide), axis=0) for sign in (1, -1))
        return np.asarray(positive - negative)
    shares = logsumexp(log_softmax(wide, axis=2), axis=0)
    return np.asarray(shares - np.log(len(answers)))


def uncertainty(
    task: Task, answers: Float[np.ndarray, "member row output"]
) -> Float[np.ndarray, "row _"] | None:
    """The sample standard deviation over the members: of their values, in the user's units, or of
    the probabilities of the positive class, or of every class; None for a single member.

    Where members tell deviations of their own, those of `pooled`, which has both.
    """
    told = deviation_of(task, pooled(task, answers))
    if told is not None or len(answers) == 1:
        return told
    if task.kind == "binary":
        answers = np.exp(log_expit(answers.astype(np.float64)))
    elif task.kind == "multiclass":
        answers = np.exp(log_softmax(answers.astype(np.float64), axis=2))
    return np.asarray(answers.std(axis=0, ddof=1))
