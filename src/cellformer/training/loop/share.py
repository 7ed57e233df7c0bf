"""The share of what counts say in a joint prediction with what the cells say."""

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.data.dataset import Task
from cellformer.training.loop.loss import each_loss

STEPS = 20
"""The share is a multiple of one part of so many."""


def best_share(
    task: Task,
    loss: str,
    from_cells: Float[Tensor, "row output"],
    from_counts: Float[Tensor, "row output"],
    targets: Float[Tensor, "row target"],
    class_weights: Float[Tensor, "target class"] | None,
    of_kernels: bool,
) -> float:
    """The share with the least loss on validation complexes, targets in units of training.

    Of equal ones the smallest is taken; but of kernels, the largest whose loss is not above the
    least one by more than the standard error of their difference. The epoch of the cells was
    chosen on the same complexes, which flatters them, while the kernels have seen none of these.
    Source: the rule of one standard error (Breiman et al., "Classification and Regression Trees",
    1984).
    """
    losses, known = [], targets
    for step in range(STEPS + 1):
        joint = torch.lerp(from_cells, from_counts, step / STEPS).float()
        each, known = each_loss(task, loss, joint, targets, class_weights)
        losses.append(each.sum(1))
    by_step = torch.stack(losses)[:, known.any(1)]  # step complex
    best = int(by_step.sum(1).argmin())
    if of_kernels:
        above = by_step - by_step[best]
        chance = above.std(1, correction=0) * above.shape[1] ** 0.5
        best = int((above.sum(1) <= chance).nonzero().max())
    return best / STEPS
