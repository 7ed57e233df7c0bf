"""How weights learn that a training took from another run: slower, later, or not at all."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

Thaw = Literal["at-once", "gradual", "never"]
UPPER = ("readout", "final_norms", "values", "counts")
"""What learns as if it was new, since it belongs to the targets."""


@dataclass(frozen=True)
class Group:
    """Weights that learn alike.

    Args:
        parameters: The weights.
        rate: What their learning rate is multiplied by.
        begin: The part of all steps before which they do not learn.
    """

    parameters: list[nn.Parameter]
    rate: float = 1.0
    begin: float = 0.0

    def factor(self, step: int, total_steps: int) -> float:
        """Of the rate at a step, beside that of the schedule."""
        return self.rate if step >= self.begin * total_steps else 0.0


def parameter_groups(
    model: nn.Module, taken: Collection[str], thaw: Thaw, rate: float
) -> list[Group]:
    """The weights that learn, first those that are new or belong to the targets.

    ``taken`` names those that come from another run; they learn at ``rate`` times the usual rate.
    With "gradual" the last layer begins first, and the one before it later, until after half of
    the steps all learn down to the embedding; with "never" none of them does, which asks for no
    gradients. Statistics of batch norm follow the data in any case. Source of the order: Howard and
    Ruder, "Universal language model fine-tuning for text classification" (2018).
    """
    new: list[nn.Parameter] = []
    by_depth: dict[int, list[nn.Parameter]] = {}
    named = dict(model.named_parameters())
    layers = 1 + max((_depth(name) for name in named), default=0)
    for name, parameter in named.items():
        upper = name.removeprefix("transformer.").split(".")[0] in UPPER
        if name not in taken or upper:
            new.append(parameter)
        elif thaw == "never":
            parameter.requires_grad_(False)
        else:
            by_depth.setdefault(_depth(name), []).append(parameter)
    groups = [Group(new)]
    for depth, parameters in sorted(by_depth.items(), reverse=True):
        begin = 0.5 * (layers - depth) / layers if thaw == "gradual" else 0.0
        groups.append(Group(parameters, rate, begin))
    return groups


def for_optimizer(groups: Collection[Group]) -> list[dict[str, Any]]:
    """The groups as PyTorch's optimizers take them."""
    return [{"params": group.parameters} for group in groups]


def _depth(name: str) -> int:
    """0 for the embedding, n + 1 for the layer n and what goes before it."""
    found = re.match(r"(?:transformer\.)?(?:layers|virtual_cells|pair_updates)\.(\d+)\.", name)
    return int(found[1]) + 1 if found else 0
