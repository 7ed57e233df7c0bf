"""A training as a job that can be asked for again at any time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lightning.pytorch import Callback

from cellformer.training.config import RunConfig
from cellformer.training.processes.launch import Launcher
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import Summary
from cellformer.training.train import resume, train


@dataclass(frozen=True)
class Job:
    """A configuration and the run folder where it is trained."""

    config: RunConfig
    folder: Path

    @property
    def finished(self) -> bool:
        """Whether the result is there already."""
        return RunFolder(self.folder).summary.exists()

    def perform(
        self, callbacks: Sequence[Callback] = (), launcher: Launcher | None = None
    ) -> Summary:
        """Trains, goes on from where training stopped, or reads the result, and returns it.

        Raises ValueError if the folder holds a run of another configuration, and what `train`
        raises.
        """
        folder = RunFolder(self.folder)
        if not folder.config.exists():
            return train(self.config, self.folder, callbacks=callbacks, launcher=launcher)
        if RunConfig.from_json(folder.config) != self.config:
            raise ValueError(
                f"{self.folder} holds a run of another configuration; choose another folder, or "
                "move that one away"
            )
        return resume(self.folder, callbacks=callbacks, launcher=launcher)
