"""How hidden vectors are normalized before attention and before the feed-forward block."""

from jaxtyping import Float
from torch import Tensor, nn

from cellformer.model.config import Norm


class CellBatchNorm(nn.BatchNorm1d):
    """Batch norm over the cells of a batch, of all complexes together.

    A single cell has no deviation, so it is normalized by the running ones.
    """

    def forward(self, cells: Float[Tensor, "cell width"]) -> Float[Tensor, "cell width"]:
        """The normalized cells."""
        if not self.training or len(cells) > 1:
            return super().forward(cells)
        mean, variance = self.get_buffer("running_mean"), self.get_buffer("running_var")
        scaled = (cells - mean) / (variance + self.eps).sqrt()
        return scaled * self.weight + self.bias


def norm_of(kind: Norm, width: int) -> nn.Module:
    """A norm with fresh weights: layer norm (the paper), root mean square, or batch norm."""
    match kind:
        case "layer":
            return nn.LayerNorm(width)
        case "rms":
            return nn.RMSNorm(width)
        case "batch":
            return CellBatchNorm(width)
