"""The states that a training can go on from: the newest one, and the one before it."""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch

from cellformer.basics.archives import check_archive, one_line
from cellformer.basics.causes import raise_of_process
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import FaultError
from cellformer.training.loop.module import CellularModule
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import read_weights, write_weights

logger = logging.getLogger(__name__)

PARTS = ("state_dict", "optimizer_states", "callbacks", "loops", "epoch", "global_step")
"""What a state holds at least."""
KEEPER = "Checkpoints"
"""The callback among them that knows the learning curve and the best epoch."""
WEIGHTS, AVERAGED_WEIGHTS = "model.", "averaged.module."
"""What the names of the weights begin with in a state, and those of their average, if any."""

State = Mapping[str, Any]


def save_state(trainer: pl.Trainer, folder: RunFolder) -> None:
    """Keeps all that resuming needs, in one file, and the file of the time before.

    All processes of a training call it together.
    """
    if not trainer.is_global_zero:
        trainer.save_checkpoint(folder.resume, weights_only=False)  # writes nothing here
        return
    with replace_atomically(folder.resume) as unfinished:
        trainer.save_checkpoint(unfinished, weights_only=False)  # the optimizer too
        if folder.resume.exists():  # killed from here on, the one before is the newest
            folder.resume.replace(folder.resume_before)


def state_to_go_on_from(folder: RunFolder, module: CellularModule) -> Path | None:
    """The newest state that is whole; None where there is none, and training begins.

    A damaged one is told in the log and moved aside. Weights that are damaged are written anew
    where a state has them. Raises FaultError, naming the files, where all states, or weights that
    no state has, are damaged; ValueError for states of another model.
    """
    faults: list[str] = []
    whole: list[tuple[Path, State]] = []
    for path in (folder.resume, folder.resume_before):
        if not path.exists():
            continue
        try:
            whole.append((path, _read(path)))
        except FaultError as error:
            faults.append(error.fault)
    if not whole and not faults:
        return None
    if not whole:
        raise FaultError(
            " and ".join(faults),
            f"begin again in another folder: cellformer train --config {folder.config} -o FOLDER. "
            f"The weights in {folder.path} still predict",
        )
    path, state = max(whole, key=lambda found: _progress(found[1]))  # the first of equals
    _check_fits(path, state, module)
    if path == folder.resume_before:
        # Damaged, or put in each other's place; what is saved next must find the newest there.
        aside = folder.resume.with_name(f"{folder.resume.name}.{'damaged' if faults else 'older'}")
        told = faults[0] if faults else f"{folder.resume} is older than {path}"
        if folder.resume.exists():
            folder.resume.replace(aside)
            logger.warning("%s; it is kept as %s, and training goes on from %s", told, aside, path)
    _mend_weights(folder, path, state)
    return path


def stopped_early(folder: RunFolder) -> bool:
    """Whether a state says that the training is laid out for more steps than it has taken.

    Damaged ones say nothing.
    """
    for path in folder.states:
        with contextlib.suppress(FaultError):
            state = _read(path)
            if not complete(state["callbacks"].get(KEEPER, {}), state["global_step"]):
                return True
    return False


def complete(kept: Mapping[str, Any], steps: int | float) -> bool:
    """Whether a training has taken all steps that it is laid out for, or ended by itself.

    By what its `KEEPER` keeps; where that does not say the number of steps, it has.
    """
    return bool(kept.get("ended") or not kept.get("planned") or steps >= kept["planned"])


def leave_no_state(folder: RunFolder) -> None:
    """Removes all that a training would need to go on."""
    for path in (*folder.states, folder.start):
        path.unlink(missing_ok=True)


def _read(path: Path) -> State:
    """A state whose checksums are right, mapped from the file; raises FaultError."""
    cure = "begin again in another folder"
    try:
        check_archive(path)
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        missing = [part for part in PARTS if part not in state]
        if missing:
            raise FaultError(f"{path} is damaged: it has no {missing[0]}", cure)
    except FaultError:
        raise
    except Exception as error:  # a damaged pickle raises nearly any kind
        raise_of_process(error)
        told = str(error) if str(path) in str(error) else f"{path} is damaged ({one_line(error)})"
        raise FaultError(told, cure) from None
    return dict(state)


def _progress(state: State) -> tuple[int, int]:
    """How many steps, and how many epochs with their validation, a state has behind it."""
    return int(state["global_step"]), len(state["callbacks"].get(KEEPER, {}).get("curve", ()))


def _check_fits(path: Path, state: State, module: CellularModule) -> None:
    """Raises ValueError unless the weights are those of such a model."""
    try:
        module.load_state_dict(state["state_dict"])  # names of earlier versions are known there
    except Exception as error:
        raise ValueError(
            f"{path} is of another model than config.json and model.json describe; undo what was "
            f"edited there ({' '.join(str(error).split())[:200]})"
        ) from None


def _mend_weights(folder: RunFolder, path: Path, state: State) -> None:
    """Writes the best and the last weights anew from a state, where they are damaged."""
    kept = state["callbacks"].get(KEEPER, {})
    epochs = {
        "best": kept.get("best_epoch", -1),
        "last": max((row["epoch"] for row in kept.get("curve", ())), default=-1),
    }
    for which, epoch in epochs.items():
        file = folder.weights(which)
        if epoch < 0:
            continue
        try:
            if not file.exists():
                raise FaultError(f"{file} is missing", "restore it from a copy")
            read_weights(file)
        except FaultError as error:
            found = next(_states_after(folder, path, state, epoch), None)
            if found is None:
                raise FaultError(
                    error.fault,
                    f"no state has the weights after epoch {epoch + 1} any more: restore the file "
                    f"from a copy, or begin again in another folder: cellformer train --config "
                    f"{folder.config} -o FOLDER",
                ) from None
            write_weights(file, _kept_weights(found["state_dict"]))
            logger.warning("%s; it is written anew from a state of training", error.fault)


def _kept_weights(state: Mapping[str, Any]) -> dict[str, Any]:
    """The average, where there is one."""
    averaged = any(name.startswith(AVERAGED_WEIGHTS) for name in state)
    start = AVERAGED_WEIGHTS if averaged else WEIGHTS
    names = [name for name in state if name.startswith(start)]
    return {name.removeprefix(start): state[name] for name in names}


def _states_after(folder: RunFolder, path: Path, state: State, epoch: int) -> Iterator[State]:
    """The whole states that were kept when an epoch had just ended."""
    candidates = [state]
    if path == folder.resume and folder.resume_before.exists():
        with contextlib.suppress(FaultError):  # of no use then
            candidates.append(_read(folder.resume_before))
    for each in candidates:
        curve = each["callbacks"].get(KEEPER, {}).get("curve", ())
        if curve and curve[-1]["epoch"] == epoch and curve[-1]["step"] == each["global_step"]:
            yield each
