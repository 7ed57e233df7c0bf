"""The weights of a run as safetensors, with a checksum among the remarks of the file."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn, uint8

from cellformer.basics.archives import one_line
from cellformer.basics.causes import raise_of_process
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import FaultError

CHECKSUM = "sha256"
"""The remark of earlier versions; now the name of the file follows, as best and last fit one model.

There is one remark alone, since safetensors writes several in any order, and files are to be equal.
"""


def save_weights(path: Path, model: nn.Module) -> None:
    """Writes the weights of a model atomically."""
    write_weights(path, model.state_dict())


def write_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Writes weights by their names atomically."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
    with replace_atomically(path) as unfinished:
        unfinished.write_bytes(save(tensors, {f"{CHECKSUM} of {path.name}": _checksum(tensors)}))


def read_weights(path: Path) -> dict[str, Tensor]:
    """Weights by their names.

    Raises FaultError, naming the file, where it is damaged. Files of earlier versions have no
    checksum.
    """
    try:
        with safe_open(path, framework="pt") as file:
            told = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # a damaged header raises nearly any kind
        raise_of_process(error)
        raise FaultError(f"{path} cannot be read ({one_line(error)})", _cure(path)) from None
    for remark, checksum in told.items():
        kind, _, name = remark.partition(" of ")
        if kind == CHECKSUM and checksum != _checksum(tensors):
            raise FaultError(f"{path} is damaged: its checksum differs", _cure(path))
        if kind == CHECKSUM and name not in ("", path.name):
            raise FaultError(f"{path} holds what was written as {name}", _cure(path))
    return tensors


def load_weights(path: Path, model: nn.Module) -> None:
    """Reads weights into a model of the same shape.

    Raises FaultError where the file is damaged, ValueError where they do not fit.
    """
    tensors = read_weights(path)
    try:
        model.load_state_dict(tensors)
    except Exception as error:
        raise ValueError(
            f"{path}: these weights cannot be loaded into the model that model.json "
            f"describes ({' '.join(str(error).split())})"
        ) from error


def _cure(path: Path) -> str:
    if path.name.startswith("best") and path.with_name("last.safetensors").exists():
        return "restore it from a copy, or take the weights of the last epoch (--weights last)"
    return (
        f"restore it from a copy, or delete summary.json: cellformer train --resume {path.parent} "
        "writes both anew"
    )


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(uint8).numpy().data)
    return digest.hexdigest()
