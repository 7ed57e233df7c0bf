"""A prediction of complexes from those of the training part whose descriptors are like theirs.

*Not in the paper*, whose complexes have none.
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import DescriptorShape
from cellformer.model.descriptors import described, standardized
from cellformer.model.kernels import near_values, shared_counts

FARTHEST = 5.0
"""In units of the deviation of a value; what lies farther from the mean is taken for this."""


class KernelHead(nn.Module):
    """A regression by kernels over complexes of the training part, its ``references``.

    Two complexes are alike by ``shared_counts``, by ``near_values``, or by a mean of both, weighted
    by ``by_values``. `fit_kernel` finds references, coefficients and the weight in one step,
    without gradients; until then there is nothing to predict from (`fitted`). Where classes are
    predicted, logits are a multiple of what the regression gives, and an offset. It has a ``share``
    in the joint prediction, a half until `balance` chooses it.
    """

    BUFFERS = (
        "columns",
        "counts",
        "ends",
        "values",
        "coefficients",
        "offset",
        "slope",
        "by_values",
    )

    def __init__(self, shape: DescriptorShape, outputs: int):
        super().__init__()
        self.shape = shape
        values = len(shape.mean)
        # Most counts are zero, so what is kept of a reference are the others and their columns.
        self.register_buffer("columns", torch.zeros(0, dtype=torch.int16))
        self.register_buffer("counts", torch.zeros(0, dtype=torch.uint8))
        self.register_buffer("ends", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("values", torch.zeros(0, values))
        self.register_buffer("coefficients", torch.zeros(0, outputs))
        self.register_buffer("offset", torch.zeros(outputs))
        self.register_buffer("slope", torch.ones(()))
        self.register_buffer("by_values", torch.zeros(()))
        self.register_buffer("share", torch.tensor(0.5))

    @property
    def fitted(self) -> bool:
        """Whether there are references."""
        return len(self.get_buffer("ends")) > 0

    @property
    def answers(self) -> bool:
        """Whether it takes part in the joint prediction: once fitted, and not while training."""
        return self.fitted and not self.training

    def joined(
        self, from_cells: Float[Tensor, "row output"], from_counts: Float[Tensor, "row output"]
    ) -> Float[Tensor, "row output"]:
        """The mean of both, weighted by the share."""
        share = self.get_buffer("share").to(from_counts)
        return torch.lerp(from_cells.to(from_counts), from_counts, share)

    def forward(self, batch: CellBatch) -> Float[Tensor, "complex output"]:
        """One row per complex; raises ValueError where nothing is fitted."""
        if not self.fitted:
            raise ValueError("this model has no references yet; see fit_kernel")
        coefficients = self.get_buffer("coefficients")
        given = described(batch, self.shape).to(coefficients.dtype)
        weight = float(self.get_buffer("by_values"))
        # Coefficients are large and of both signs, so half precision would leave nothing.
        with torch.autocast(given.device.type, enabled=False):
            alike = given.new_zeros(())
            if weight < 1:
                counts = given[:, : self.shape.counts].to(torch.uint8)
                alike = alike + (1 - weight) * shared_counts(counts, self.reference_counts())
            if weight > 0:
                near = near_values(self.known(given), self.get_buffer("values"))
                alike = alike + weight * near
            regressed = alike.to(coefficients.dtype) @ coefficients
            return self.get_buffer("slope") * regressed + self.get_buffer("offset")

    def known(self, given: Float[Tensor, "complex descriptor"]) -> Float[Tensor, "complex value"]:
        """The values of these descriptors in units of their deviation, none far from the mean."""
        return standardized(given[:, self.shape.counts :], self.shape).clamp(-FARTHEST, FARTHEST)

    def reference_counts(self) -> UInt8[Tensor, "reference count"]:
        """The counts of the references."""
        ends, columns = self.get_buffer("ends"), self.get_buffer("columns")
        found = torch.zeros(len(ends), self.shape.counts, dtype=torch.uint8, device=columns.device)
        lengths = ends.diff(prepend=ends.new_zeros(1))
        rows = torch.repeat_interleave(torch.arange(len(ends), device=ends.device), lengths)
        found[rows, columns.long()] = self.get_buffer("counts")
        return found

    def take(
        self,
        given: Float[Tensor, "reference descriptor"],
        coefficients: Float[Tensor, "reference output"],
        offset: Float[Tensor, " output"],
        by_values: float,
        slope: float = 1.0,
    ) -> None:
        """Keeps references, by their descriptors, and what they contribute."""
        counts = given[:, : self.shape.counts].to(torch.uint8) * (by_values < 1)
        rows, columns = counts.nonzero(as_tuple=True)
        found = {
            "columns": columns.to(torch.int16),
            "counts": counts[rows, columns],
            "ends": torch.bincount(rows, minlength=len(counts)).cumsum(0),
            "values": self.known(given) if by_values > 0 else self.known(given)[:, :0],
            "coefficients": coefficients.float(),
            "offset": offset.float(),
            "slope": torch.tensor(slope),
            "by_values": torch.tensor(by_values),
        }
        self.keep(found)

    def references(self) -> dict[str, Tensor]:
        """All that `keep` needs."""
        return {name: self.get_buffer(name) for name in self.BUFFERS}

    def keep(self, found: Mapping[str, Tensor]) -> None:
        """Replaces the references by others, those of another head of the same kind."""
        device = self.get_buffer("share").device
        for name, value in found.items():
            setattr(self, name, value.to(device))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **named: Any
    ) -> None:
        """Takes references however many they are, where PyTorch would ask for equal shapes."""
        known = [name for name in self.BUFFERS if prefix + name in state_dict]
        self.keep({name: state_dict[prefix + name] for name in known})
        super()._load_from_state_dict(state_dict, prefix, *rest, **named)
