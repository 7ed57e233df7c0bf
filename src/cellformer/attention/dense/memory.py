"""Whether dense attention fits into memory, asked before it fills it."""

import os
from pathlib import Path

import torch
from jaxtyping import Int64
from torch import Tensor

SURELY_FITS = 2**30
"""Bytes below which nobody asks how much memory is free."""


class DenseMemoryError(ValueError):
    """Dense attention over complexes of this size does not fit into memory."""


def check_dense_memory(
    receivers: Int64[Tensor, " complex"],
    senders: Int64[Tensor, " complex"],
    tables: int,
) -> None:
    """Raises `DenseMemoryError` where dense attention needs more memory than is free.

    ``receivers`` and ``senders`` count the cells of each complex of a batch, on the device that
    attention runs on. For every pair of cells of one complex, ``tables`` numbers of 4 bytes are
    held. The error names the complex with the most pairs.
    """
    pairs = receivers.double() * senders.double()
    needed = 4.0 * tables * float(pairs.sum())
    if needed < SURELY_FITS:
        return
    free = free_memory(receivers.device)
    if needed > free:
        largest = int(pairs.argmax())
        raise DenseMemoryError(
            f"complex {largest} of the batch has {int(receivers[largest])} x "
            f"{int(senders[largest])} pairs of cells for dense attention, and the batch "
            f"takes {needed / 1e9:.1f} GB for them, where {free / 1e9:.1f} GB are free; use "
            "sparse attention (pairwise-sparse or general-sparse), whose memory grows with the "
            "neighbors only, or smaller batches or complexes"
        )


def free_memory(device: torch.device | str = "cpu") -> float:
    """The bytes that can still be had without swapping; infinity where the system does not say."""
    if torch.device(device).type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return float(free + held)
    return min(_free_of_machine(), _free_of_container())


def _free_of_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        values = dict(line.split(":", 1) for line in lines)
        return 1024.0 * float(values["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:  # not Linux: all there is, an upper bound
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _free_of_container() -> float:
    """What the limit of a control group leaves, where one is set."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = float((group / "memory.current").read_text())
    except (OSError, ValueError):
        return float("inf")
    return float("inf") if limit == "max" else float(limit) - used
