"""The pairs of a neighborhood sorted by sender."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64
from scipy import sparse
from torch import Tensor


@dataclass(frozen=True, eq=False)
class TransposedPairs:
    """Sender s is a neighbor of ``receivers[offsets[s]:offsets[s + 1]]``, in ascending order.

    ``pairs`` are the numbers of these pairs in the neighborhood.
    """

    offsets: Int64[Tensor, " sender_plus_1"]
    receivers: Int64[Tensor, " pair"]
    pairs: Int64[Tensor, " pair"]

    @classmethod
    def of(
        cls,
        num_senders: int,
        offsets: Int64[Tensor, " receiver_plus_1"],
        senders: Int64[Tensor, " pair"],
    ) -> "TransposedPairs":
        """Transposes a matrix in CSR form; on a CPU in time linear in its size."""
        make = cls.by_counting if offsets.is_cpu else cls.by_sorting
        return make(num_senders, offsets, senders)

    @classmethod
    def by_sorting(
        cls,
        num_senders: int,
        offsets: Int64[Tensor, " receiver_plus_1"],
        senders: Int64[Tensor, " pair"],
    ) -> "TransposedPairs":
        """On any device."""
        pairs = senders.argsort(stable=True)
        counts = senders.bincount(minlength=num_senders)
        receivers = torch.searchsorted(offsets, pairs, right=True) - 1
        return cls(torch.cat([counts.new_zeros(1), counts.cumsum(0)]), receivers, pairs)

    @classmethod
    def by_counting(
        cls,
        num_senders: int,
        offsets: Int64[Tensor, " receiver_plus_1"],
        senders: Int64[Tensor, " pair"],
    ) -> "TransposedPairs":
        """On a CPU, about six times as fast as sorting."""
        numbers = np.arange(len(senders))
        shape = (len(offsets) - 1, num_senders)
        matrix = sparse.csr_array((numbers, senders.numpy(), offsets.numpy()), shape=shape).tocsc()
        columns = (matrix.indptr, matrix.indices, matrix.data)
        return cls(*(torch.from_numpy(part.astype(np.int64)) for part in columns))
