"""The connected components of a neighborhood."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from cellformer.complexes.batches.members import Members


@dataclass(frozen=True, eq=False)
class Components:
    """Receivers and senders in groups between which nothing is sent.

    Every complex of a batch has components of its own. With the pairs counted in the order of the
    components, there are ``pairs[c]`` before those of component c, and ``before[r]`` before those
    of receiver r.
    """

    receivers: Members
    senders: Members
    pairs: Int64[Tensor, " component_plus_1"]
    before: Int64[Tensor, " receiver"]

    @classmethod
    def of(
        cls,
        num_senders: int,
        offsets: Int64[Tensor, " receiver_plus_1"],
        senders: Int64[Tensor, " pair"],
    ) -> "Components":
        """Of a matrix in CSR form on a CPU, in time linear in its size."""
        num_receivers = len(offsets) - 1
        nodes = num_receivers + num_senders
        rows = np.append(offsets.numpy(), np.full(num_senders, len(senders)))
        links = (np.ones(len(senders), np.int8), senders.numpy() + num_receivers, rows)
        count, labels = connected_components(
            sparse.csr_array(links, shape=(nodes, nodes)), directed=False
        )
        component_of = torch.from_numpy(labels.astype(np.int64))
        receivers = Members.of(component_of[:num_receivers], count)
        pairs_of = offsets.diff()[receivers.order]
        ends = torch.cat([pairs_of.new_zeros(1), pairs_of.cumsum(0)])
        before = torch.empty_like(receivers.order)
        before[receivers.order] = ends[:-1]
        senders_of = Members.of(component_of[num_receivers:], count)
        return cls(receivers, senders_of, ends[receivers.offsets], before)
