"""The processes that train one model together, and what they tell each other."""

import atexit
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Float
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from torch import Tensor

from cellformer.basics.lost import LostProcessError
from cellformer.data.loading.loader import Share

Result = TypeVar("Result")

STEP = timedelta(minutes=30)
"""How long a process waits for the others within a step of training."""
STAGE = timedelta(hours=12)
"""How long it waits where another may have to prepare or to score a whole data set."""


class PeerError(LostProcessError):
    """Another process of the same training has failed; the message is empty where it says why."""


@dataclass(frozen=True, eq=False)
class World:
    """The processes of a training as one of them sees them; by default it is the only one."""

    rank: int = 0
    size: int = 1
    local_size: int = 1  # the processes on this machine
    environment: ClusterEnvironment = field(default_factory=LightningEnvironment)
    group: dist.ProcessGroup | None = None  # over gloo, on the CPU

    @property
    def share(self) -> Share:
        """This process's part of every batch."""
        return Share(self.rank, self.size)

    def from_first(self, work: Callable[[], Result]) -> Result:
        """What the first process makes, in all of them; raises PeerError where it fails there."""
        if self.size == 1:
            return work()
        told: list[Any] = [False, None]
        try:
            if self.rank == 0:
                told = [True, work()]
        finally:
            dist.broadcast_object_list(told, src=0, group=self.group)
        if not told[0]:
            raise PeerError
        result: Result = told[1]
        return result

    def together(self, work: Callable[[], Result]) -> Result:
        """What this process makes, once all have made theirs.

        Where some fail, the first of them raises its own error and all others PeerError.
        """
        if self.size == 1:
            return work()
        failure: Exception | None = None
        try:
            result = work()
        except Exception as error:
            failure = error
        failed: list[Any] = [None] * self.size
        dist.all_gather_object(failed, failure is not None, group=self.group)
        if True not in failed:
            return result
        if failure is not None and failed.index(True) == self.rank:
            raise failure
        raise PeerError from failure

    def largest(self, number: int) -> int:
        """The largest of the numbers that the processes have."""
        if self.size == 1:
            return number
        numbers = torch.tensor([number])
        dist.all_reduce(numbers, dist.ReduceOp.MAX, group=self.group)
        return int(numbers)

    def summed(self, values: Float[Tensor, " value"]) -> Float[Tensor, " value"]:
        """The sum over the processes, on the device where the values are."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def gathered(self, rows: Float[Tensor, "row column"]) -> Float[Tensor, "all_rows column"]:
        """The rows of all processes, those of the first one first; not differentiable."""
        if self.size == 1:
            return rows
        parts: list[Any] = [None] * self.size
        dist.all_gather_object(parts, rows.detach().cpu().numpy(), group=self.group)
        return torch.cat([torch.from_numpy(part) for part in parts]).to(rows.device)


def launched() -> ClusterEnvironment | None:
    """Who started this process beside others: torchrun, or srun of SLURM; None if nobody did.

    Raises ValueError where SLURM's variables are not enough.
    """
    if TorchElasticEnvironment.detect():
        return TorchElasticEnvironment()
    # In a batch script itself, outside of srun, SLURM_NTASKS is set but there is no step.
    if "SLURM_STEP_ID" in os.environ and int(os.environ.get("SLURM_NTASKS", "1")) > 1:
        try:
            return SLURMEnvironment(auto_requeue=False)
        except RuntimeError as error:
            raise ValueError(str(error)) from error
    return None


def is_first() -> bool:
    """Whether this process is the one that speaks for all that were launched together."""
    environment = launched()
    return environment is None or environment.global_rank() == 0


@contextmanager
def joined(device: str) -> Iterator[World]:
    """Within this context the process is one of those that were launched together.

    ``device`` is "cpu", where they talk over gloo, or "cuda", where gradients go over NCCL. Raises
    ValueError if there are fewer GPUs on this machine than processes, or where torchrun would start
    them again with the addresses of those that are gone.
    """
    environment = launched()
    if environment is None or environment.world_size() == 1:
        yield World()
        return
    _check_restarts()
    local_size = _local_size()
    if device == "cuda":
        if local_size > torch.cuda.device_count():
            raise ValueError(
                f"{local_size} processes on this machine, but {torch.cuda.device_count()} GPUs; "
                "start one process per GPU, or set training.device to cpu"
            )
        torch.cuda.set_device(environment.local_rank())
    if not dist.is_initialized():
        _connect(environment, "nccl" if device == "cuda" else "gloo")
    group = dist.new_group(backend="gloo", timeout=STAGE)
    with _quiet(environment.global_rank() > 0):
        yield World(
            environment.global_rank(), environment.world_size(), local_size, environment, group
        )
    dist.destroy_process_group(group)


def _check_restarts() -> None:
    """Of PyTorch's issue 135712: processes may find the addresses of the time before."""
    restarts = int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0"))
    if restarts and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == str(True):
        raise ValueError(
            "processes that torchrun starts again look for those that are gone; set "
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 for torchrun, or leave out --max-restarts"
        )


def _connect(environment: ClusterEnvironment, backend: str) -> None:
    """Until the process ends, because torchrun's processes can connect only once."""
    os.environ["MASTER_ADDR"] = environment.main_address
    os.environ["MASTER_PORT"] = str(environment.main_port)
    dist.init_process_group(
        backend,
        rank=environment.global_rank(),
        world_size=environment.world_size(),
        timeout=STEP,
    )
    atexit.register(dist.destroy_process_group)  # threads left running would abort the program


def lost_contact(error: BaseException) -> bool:
    """Whether an error says that another process no longer answers."""
    text = str(error).lower()
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError)
        and any(word in text for word in ("gloo", "nccl", "closed by peer", "reset by peer"))
    )


def _local_size() -> int:
    told = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("SLURM_NTASKS_PER_NODE")
    assert told is not None  # Lightning's environments insist on it
    return int(told)


@contextmanager
def _quiet(active: bool) -> Iterator[None]:
    """What all processes have to say is said by the first one."""
    logger = logging.getLogger("cellformer")
    level = logger.level
    if active:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
