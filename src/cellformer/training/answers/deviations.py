"""What outputs say beside values: how far below and above each the truth may lie.

Outputs of a run are values, a column for each; behind them, where its loss learns such, stand as
many columns of standard deviations below the values and as many above (see `spread_losses`).
"""

import numpy as np
from jaxtyping import Float

from cellformer.data.dataset import Task


def values_of(task: Task, outputs: Float[np.ndarray, "... output"]) -> Float[np.ndarray, "... _"]:
    """The values, or logits, alone."""
    return outputs[..., : task.outputs]


def deviations_of(
    task: Task, outputs: Float[np.ndarray, "... output"]
) -> tuple[Float[np.ndarray, "... _"], Float[np.ndarray, "... _"]] | None:
    """The deviations below and above, in the user's units; None where none were learned."""
    count = task.outputs
    if outputs.shape[-1] == count:
        return None
    return outputs[..., count : 2 * count], outputs[..., 2 * count :]


def deviation_of(
    task: Task, outputs: Float[np.ndarray, "... output"]
) -> Float[np.ndarray, "... _"] | None:
    """The mean of both; None where none were learned."""
    apart = deviations_of(task, outputs)
    return None if apart is None else (apart[0] + apart[1]) / 2
