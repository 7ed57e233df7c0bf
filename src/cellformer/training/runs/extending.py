"""Laying a run out for more epochs than it was begun with."""

from dataclasses import replace

from cellformer.training.config import RunConfig
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import Summary


def lay_out(folder: RunFolder, epochs: int) -> None:
    """Has a run, finished or not, go on to more epochs when it is resumed.

    Its summary is removed, by which a run counts as finished; its weights and its state stay. A
    run that is laid out for as many epochs already is left as it is. Raises ValueError where it is
    laid out for more, where its steps are limited, or where no state is left to go on from.
    """
    config = RunConfig.from_json(folder.require(folder.config))
    if epochs == config.training.epochs:
        return
    if config.training.max_steps is not None:
        raise ValueError(
            f"{folder.path} ends after {config.training.max_steps} steps (training.max_steps), so "
            "more epochs are of no use to it; begin another run"
        )
    done = Summary.read(folder.path).epochs if folder.summary.exists() else None
    planned = config.training.fixed_epochs or done
    if planned is None:
        raise ValueError(
            f"{folder.path} is not finished, and how many epochs it takes follows from its data; "
            f"go on with it first: --resume {folder.path}"
        )
    if epochs <= planned:
        raise ValueError(
            f"{folder.path} is laid out for {planned} epochs, so training.epochs must be more, got "
            f"{epochs}"
        )
    if not (folder.resume.exists() or folder.resume_before.exists()):
        raise ValueError(
            f"{folder.path} holds no {folder.resume.name} to go on from: a finished run keeps it "
            "where training.keep_state is true; begin another one, of more epochs, or with the "
            f"weights of this one: --from {folder.path}"
        )
    folder.summary.unlink(missing_ok=True)  # first, so that a crash leaves an unfinished run
    folder.write_config(replace(config, training=replace(config.training, epochs=epochs)))
