"""Prediction for large tables by the workers of a Ray cluster."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from cellformer.experiments.ray.cluster import LOCAL, connected
from cellformer.experiments.ray.tasks import by_workers
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.answers.predict import PieceTask, Predicted


@dataclass(frozen=True)
class RayAnswers:
    """Pieces of a table by workers of a cluster, which are sent the models and need no files.

    The answers are those of a single machine, in the order of the rows. A piece whose worker or
    machine is lost is answered again by another one, up to ``retries`` times.
    """

    address: str = LOCAL
    """``local``, or the address of a cluster."""
    cpus: float = 1.0
    """Cores of a worker, and its threads."""
    gpus: float = 0.0
    """GPUs of a worker."""
    retries: int = 3

    def __call__(self, tasks: Iterable[PieceTask]) -> Iterator[tuple[int, Predicted]]:
        """Raises what a task and the checks of `connected` raise, and as `by_workers` does."""
        import ray

        remaining = iter(tasks)
        first = next(remaining, None)
        if first is None:
            return
        with connected(self.address, self.cpus, self.gpus) as connection:
            sent = _Sent(ray.put(first.models()))
            given = (replace(task, models=sent) for task in chain([first], remaining))
            yield from by_workers(
                given, connection, self.cpus, self.gpus, self.retries, ordered=True
            )


@dataclass(frozen=True, eq=False)
class _Sent:
    """The models as Ray keeps them, so that they do not travel with each piece."""

    kept: Any

    def __call__(self) -> Ensemble:
        import ray

        found: Ensemble = ray.get(self.kept)
        return found
