"""The weights of another run, which a training begins with."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.data.preparation import Preparation
from cellformer.model.described import CellModel, kernels_of, transformer_of
from cellformer.model.embedding.embedding import FeatureEmbedding
from cellformer.training.config import RunConfig
from cellformer.training.runs.preparation import preparation_in
from cellformer.training.runs.recipe import Recipe
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import load_weights

logger = logging.getLogger(__name__)

WITHIN = "transformer."
"""What the names of a transformer begin with within a model of descriptors."""
TABLE = ".table.weight"


@dataclass(frozen=True, eq=False)
class Start:
    """What of another run fits a model, by the names of that model; NaN where it has nothing."""

    path: Path
    weights: Mapping[str, Tensor]
    left: Mapping[str, str]
    """Why others keep their random start."""


def read_start(path: Path, recipe: Recipe, preparation: Preparation) -> Start:
    """The best weights of a run folder, or of the model that comes with the package and has this
    name, or those of a file in a folder, for the model of a recipe.

    Those that have its shape are taken, of tables of categories the rows of those that both know.
    What reads features or encodings is left where the two runs make them otherwise, and kernels,
    which are fitted anew, always are. Raises FileNotFoundError where there is no such run, or
    several, FaultError for a damaged one, ValueError where no layer fits.
    """
    folder = RunFolder.around(path)
    path = path if path.is_file() else folder.path
    config = RunConfig.from_json(folder.require(folder.config))
    theirs, ours = Recipe.read(folder).build(), recipe.build()
    load_weights(path if path.is_file() else folder.require(folder.weights("best")), theirs)
    changed = _changed(preparation_in(folder, config), preparation)
    known, weights, left = _by_name(theirs), {}, {}
    for name, (whole_name, own) in _by_name(ours).items():
        why = next((why for part, why in changed.items() if part in name), "")
        found = known.get(name, ("", None))[1]
        if name.endswith(TABLE) and found is not None and not why:
            module = name.removesuffix(TABLE)
            found = _rows_known(*(transformer_of(m).get_submodule(module) for m in (theirs, ours)))
        if why or found is None or found.shape != own.shape:
            there = (
                "is not there alike"
                if found is None
                else f"has the shape {tuple(found.shape)} there"
            )
            left[whole_name] = why or there
        else:
            weights[whole_name] = found
    if len(ours.layers) and not any(".layers." in f".{name}" for name in weights):
        reason = next(why for name, why in left.items() if ".layers." in f".{name}")
        raise ValueError(
            f"no layer of {path} fits this model (layers.0 {reason}): give it the same attention "
            "and model.width, which cellformer train --from takes from there"
        )
    return Start(path, weights, left)


def begin_with(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Puts these weights into a model; NaN leaves its own."""
    state = model.state_dict()
    with torch.no_grad():
        for name, found in weights.items():
            own = state[name]
            own.copy_(torch.where(found.isnan(), own, found))


def tell(start: Start) -> None:
    """Says in the log what was taken and what was not."""
    logger.info("begins with the weights of %s: %d tensors taken", start.path, len(start.weights))
    reasons: dict[str, list[str]] = {}
    for name, why in start.left.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
        logger.info("not taken: %s%s, which %s", ", ".join(names[:3]), rest, why)


def _changed(theirs: Preparation, ours: Preparation) -> dict[str, str]:
    """Parts of names whose weights mean something else, and why."""
    changed = {}
    if theirs.features != ours.features or theirs.reader != ours.reader:
        changed["embedding.features."] = "reads other features there"
    if theirs.encodings != ours.encodings:
        changed["embedding.positions."] = "reads other encodings there"
    return changed


def _by_name(model: CellModel) -> dict[str, tuple[str, Tensor]]:
    """All but kernels, by the name in the transformer: the name in the model, and the tensor."""
    kernels = kernels_of(model) is not None
    return {
        name.removeprefix(WITHIN): (name, tensor)
        for name, tensor in model.state_dict().items()
        if not (kernels and name.startswith("counts."))
    }


def _rows_known(theirs: nn.Module, ours: nn.Module) -> Float[Tensor, "row width"] | None:
    """A table of our shape with their rows of the categories that both have.

    None where there are other columns.
    """
    assert isinstance(theirs, FeatureEmbedding)
    assert isinstance(ours, FeatureEmbedding)
    assert theirs.table is not None
    assert ours.table is not None
    columns = (len(theirs.first_row), theirs.table.weight.shape[1])
    if columns != (len(ours.first_row), ours.table.weight.shape[1]):
        return None
    found = torch.full_like(ours.table.weight, torch.nan)
    found[0] = theirs.table.weight[0]
    both = zip(theirs.first_row, theirs.last_row, ours.first_row, ours.last_row, strict=True)
    for their_first, their_last, first, last in torch.tensor([*both]).tolist():
        rows = min(their_last - their_first, last - first) + 1
        found[first : first + rows] = theirs.table.weight[their_first : their_first + rows]
    return found.detach()
