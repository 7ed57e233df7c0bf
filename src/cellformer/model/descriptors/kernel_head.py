"""A prediction of complexes from those of the training part whose descriptors are like theirs.

*Not in the paper*, whose complexes have none.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Float32, Float64, Int64, UInt8
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.runs import is_exporting
from cellformer.model.config import DescriptorShape
from cellformer.model.descriptors.descriptors import described, standardized
from cellformer.model.descriptors.kernel_regression import by_known
from cellformer.model.descriptors.kernels import (
    CountSteps,
    KernelWeights,
    shared_by_products,
    shared_counts,
    steps_of,
)

LEAST_VARIANCE = 1e-6
"""In units of training; rounding leaves less of it, or none."""
FARTHEST = 5.0
"""In units of the deviation of a value; what lies farther from the mean is taken for this."""


@dataclass(frozen=True, eq=False)
class Root:
    """What makes the kernel among those references that know some targets a unit matrix.

    The inverse of Cholesky's factor: products exist wherever a model is exported to, solvers not.
    """

    inverse: Float64[Tensor, "known known"]
    known: Int64[Tensor, " known"]
    columns: list[int]


class KernelHead(nn.Module):
    """A regression by kernels over complexes of the training part, its ``references``.

    How alike two complexes are is a mean of `shared_counts` and `near_values` with the weights of a
    `KernelWeights`. `fit_kernel` finds them, references and coefficients in one step, outside of
    the training; until then there is nothing to predict from (`fitted`). Where classes are
    predicted, logits are a multiple of what the regression gives, and an offset. Where more
    ``outputs`` are asked for than values are regressed, the others are blocks of logarithms of the
    deviations that a Gaussian process with this kernel has. It has a ``share`` in the joint
    prediction, a half until `balance` chooses it.
    """

    BUFFERS = (
        "columns",
        "counts",
        "ends",
        "values",
        "coefficients",
        "offset",
        "slope",
        "weights",
        "scales",
        "ridge",
        "amplitudes",
    )

    def __init__(self, shape: DescriptorShape, outputs: int):
        super().__init__()
        self.shape = shape
        self.outputs = outputs
        values = len(shape.mean)
        # Most counts are zero, so what is kept of a reference are the others and their columns.
        self.register_buffer("columns", torch.zeros(0, dtype=torch.int16))
        self.register_buffer("counts", torch.zeros(0, dtype=torch.uint8))
        self.register_buffer("ends", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("values", torch.zeros(0, values))
        self.register_buffer("coefficients", torch.zeros(0, outputs))
        self.register_buffer("offset", torch.zeros(outputs))
        self.register_buffer("slope", torch.ones(()))
        self.register_buffer("weights", torch.zeros(0))
        self.register_buffer("scales", torch.zeros(values))
        self.register_buffer("ridge", torch.zeros(()))
        self.register_buffer("amplitudes", torch.ones(outputs))
        self.register_buffer("share", torch.tensor(0.5))
        # All counts of the references, a row for each column, as they are compared.
        compared = torch.zeros(shape.counts, 0, dtype=torch.uint8)
        self.register_buffer("compared", compared, persistent=False)
        self.roots: list[Root] = []
        self.steps: list[CountSteps] = []

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
        # Coefficients are large and of both signs, so a kernel in single precision would leave four
        # digits, and half precision nothing.
        with nullcontext() if is_exporting() else torch.autocast(given.device.type, enabled=False):
            counts = given[:, : self.shape.counts].to(torch.uint8)
            alike = self._alike(self._shared(counts), self.known(given))
            summed = (alike @ coefficients.to(alike.dtype)).to(coefficients.dtype)
            told = self.get_buffer("slope") * summed + self.get_buffer("offset")
            blocks = self.outputs // coefficients.shape[1]
            if blocks == 1:
                return told
            doubts = self._doubts(alike).log().to(told.dtype)
            return torch.cat([told, *[doubts] * (blocks - 1)], 1)

    def known(self, given: Float[Tensor, "complex descriptor"]) -> Float[Tensor, "complex value"]:
        """The values of these descriptors in units of their deviation, none far from the mean."""
        return standardized(given[:, self.shape.counts :], self.shape).clamp(-FARTHEST, FARTHEST)

    def reference_counts(self) -> UInt8[Tensor, "reference count"]:
        """The counts of the references."""
        return self.get_buffer("compared").t()

    def take(
        self,
        given: Float[Tensor, "reference descriptor"],
        coefficients: Float[Tensor, "reference output"],
        offset: Float[Tensor, " output"],
        weights: KernelWeights,
        slope: float = 1.0,
        ridge: float = 0.0,
        amplitudes: Float[Tensor, " output"] | None = None,
    ) -> None:
        """Keeps references, by their descriptors, and what they contribute."""
        if amplitudes is None:
            amplitudes = torch.ones_like(offset)
        counts = given[:, : self.shape.counts].to(torch.uint8)
        rows, columns = counts.nonzero(as_tuple=True)
        found = {
            "columns": columns.to(torch.int16),
            "counts": counts[rows, columns],
            "ends": torch.bincount(rows, minlength=len(counts)).cumsum(0),
            "values": self.known(given),
            "coefficients": coefficients.float(),
            "offset": offset.float(),
            "slope": torch.tensor(slope),
            "weights": weights.weights.float(),
            "scales": weights.scales.float(),
            "ridge": torch.tensor(ridge),
            "amplitudes": amplitudes.float(),
        }
        self.keep(found)

    def pack(self) -> None:
        """Computes what depends on the references alone, before the head is `exporting`."""
        self.keep({name: part.clone() for name, part in self.references().items()})
        self.steps = steps_of(self.get_buffer("compared"))
        if self.outputs != self.get_buffer("coefficients").shape[1]:
            self.roots = self._factored(self.get_buffer("ridge").double())

    def references(self) -> dict[str, Tensor]:
        """All that `keep` needs."""
        return {name: self.get_buffer(name) for name in self.BUFFERS}

    def keep(self, found: Mapping[str, Tensor]) -> None:
        """Replaces the references by others, those of another head of the same kind."""
        device = self.get_buffer("share").device
        for name, value in found.items():
            setattr(self, name, value.to(device))
        self.compared = self._whole_counts()
        self.roots = []

    def _shared(
        self, counts: UInt8[Tensor, "complex count"]
    ) -> Float32[Tensor, "fingerprint complex reference"]:
        if is_exporting():
            return shared_by_products(counts, self.get_buffer("compared"), self.steps)
        return shared_counts(counts, self.reference_counts())

    def _alike(
        self,
        shared: Float32[Tensor, "fingerprint complex reference"],
        known: Float[Tensor, "complex value"],
    ) -> Float[Tensor, "complex reference"]:
        """How alike complexes are to the references, in the best precision of the device."""
        exact = torch.float32 if shared.device.type == "mps" else torch.float64
        found = KernelWeights(self.get_buffer("weights"), self.get_buffer("scales")).to(exact)
        return found.alike(shared, known.to(exact), self.get_buffer("values").to(exact))

    def _doubts(
        self, alike: Float[Tensor, "complex reference"]
    ) -> Float64[Tensor, "complex target"]:
        """How far from what is told the truth may lie, as a standard deviation, noise included.

        Source: the variance of a Gaussian process (Rasmussen and Williams, "Gaussian Processes for
        Machine Learning", equation 2.26).
        """
        given, ridge = alike.double(), self.get_buffer("ridge").double()
        if not self.roots or self.roots[0].inverse.device != given.device:
            self.roots = self._factored(ridge)
        amplitudes = self.get_buffer("amplitudes").double()
        variance = amplitudes.expand(len(given), -1) * (1 + ridge)
        for root in self.roots:
            seen = given.index_select(1, root.known) @ root.inverse.t()
            explained = seen.square().sum(1)[:, None]
            variance[:, root.columns] -= amplitudes[root.columns] * explained
        return variance.clamp(min=LEAST_VARIANCE).sqrt()

    def _factored(self, ridge: Float64[Tensor, ""]) -> "list[Root]":
        """For each set of references that know the same targets, the inverse root of its kernel.

        It is as large as the square of their number, so it is not among what is kept.
        """
        counts = self.reference_counts()
        kernel = self._alike(shared_counts(counts, counts), self.get_buffer("values")).double()
        roots = []
        # An unknown target has given its reference the coefficient zero.
        coefficients = self.get_buffer("coefficients").double()
        for some, columns in by_known(torch.where(coefficients == 0, torch.nan, coefficients)):
            known = some.nonzero()[:, 0]
            matrix = kernel[known][:, known]
            matrix.diagonal().add_(ridge)
            factor, unit = torch.linalg.cholesky(matrix), torch.eye(len(matrix)).to(matrix)
            inverse = torch.linalg.solve_triangular(factor, unit, upper=False)
            roots.append(Root(inverse, known, columns))
        return roots

    def _whole_counts(self) -> UInt8[Tensor, "count reference"]:
        ends, columns = self.get_buffer("ends"), self.get_buffer("columns")
        whole = torch.zeros(self.shape.counts, len(ends), dtype=torch.uint8, device=ends.device)
        lengths = ends.diff(prepend=ends.new_zeros(1))
        rows = torch.repeat_interleave(torch.arange(len(ends), device=ends.device), lengths)
        whole[columns.long(), rows] = self.get_buffer("counts")
        return whole

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **named: Any
    ) -> None:
        """Takes references however many they are, where PyTorch would ask for equal shapes."""
        for name in ("ridge", "amplitudes"):  # of which runs of before had none
            state_dict.setdefault(prefix + name, self.get_buffer(name))
        known = [name for name in self.BUFFERS if prefix + name in state_dict]
        self.keep({name: state_dict[prefix + name] for name in known})
        super()._load_from_state_dict(state_dict, prefix, *rest, **named)
