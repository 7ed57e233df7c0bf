"""Dense attention within each complex by the kernels of sparse attention, over all its pairs.

Nothing is padded and one launch does all complexes, which pays where complexes are small; the
pairs are stored, one number each and in the backward one per head.
"""

from jaxtyping import Float
from torch import Tensor

from cellformer.attention.dense.all_pairs import AllPairs
from cellformer.attention.gpu.operator import fused_sparse_attention


def dense_pairs_attention(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    pairs: AllPairs,
    theta: Float[Tensor, " theta"],
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver value_width head"]:
    """What `dense_attention` computes; make the pairs once for all layers.

    Dropout follows ``torch.manual_seed``.
    """
    if not len(pairs.weights):
        return value.new_zeros(len(query), *value.shape[1:])
    bias = pairs.weights.to(theta.dtype).unsqueeze(1) * theta
    return fused_sparse_attention(
        query, key, value, pairs.neighborhood, bias=bias, scale=scale, dropout=dropout
    )
