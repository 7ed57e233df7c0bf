"""One training whose processes are workers of a Ray cluster, by Ray Train."""

import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellformer.basics.stopping import StopRequests, StopSignal
from cellformer.experiments.ray.carrying import Asker, WorkPlace, at_work
from cellformer.experiments.ray.cluster import LOCAL, LOST, connected
from cellformer.experiments.ray.places import meeting_place
from cellformer.experiments.running.runner import reason
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.loop.world import PeerError
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.train import resume

logger = logging.getLogger(__name__)

SECONDS_TO_STOP = 60.0
"""How long the processes may take to keep their state when they are told to end."""
SECONDS_TO_TELL = 10.0
"""How long one waits to hear whether another has failed by itself, or was lost."""
SECONDS_TO_PLACE = 15
"""After which Ray asks anew what room there is: a machine that was just lost is still told of."""
SECONDS_TO_GROW = 60.0
"""How often it is looked whether there is room for more processes."""


@dataclass(frozen=True)
class RayProcesses:
    """Has a training go on in workers of a cluster, as many as have room; a `Launcher`.

    Where a machine does not see the run folder, its files come and go through Ray. Where a
    worker or its machine is lost, training goes on from the last state that was kept, in as many
    processes as there is room for; where machines join the cluster, it does so in more of them.
    After ``retries`` losses without a new state in between it ends with an error.
    """

    address: str = LOCAL
    """``local``, or the address of a cluster."""
    cpus: float = 1.0
    """Cores of a process, and its threads."""
    gpus: float = 0.0
    """GPUs of a process: none, or one."""
    retries: int = 3
    """How often training goes on from the same state."""

    def __post_init__(self) -> None:
        """Raises ValueError where a process would have to share a GPU, or to have several."""
        if self.gpus not in (0, 1):
            raise ValueError(f"a process of a training has no GPU or one, not {self.gpus:g}")

    def __call__(
        self, folder: Path, processes: int, stop_after: int | None, requests: StopRequests
    ) -> None:
        """Raises as `connected` does, ConnectionError where Ray has lost this machine, what the
        training raises, StopSignal where it was stopped, and PeerError where its processes were
        lost again and again."""
        os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", str(SECONDS_TO_PLACE))
        with (
            connected(self.address, self.cpus, self.gpus) as connection,
            meeting_place(folder) as place,
            requests.deferred(),
        ):
            board = _board(self.retries)
            asker = Asker(place, connection.machine, os.getcwd())
            given = {"board": board, "asker": asker, "folder": folder.absolute(),
                     "stop_after": stop_after}  # fmt: skip
            ended = _Ended(self._trainer(given, processes, place))
            self._wait(ended, board, requests)

    def _trainer(self, given: Mapping[str, Any], processes: int, place: Path) -> Any:
        from ray import train
        from ray.train.torch import TorchConfig, TorchTrainer

        if not hasattr(train.ScalingConfig, "elasticity_enabled"):
            raise ImportError("this Ray cannot share a training yet; install a newer one")
        room = {"CPU": self.cpus} | ({"GPU": self.gpus} if self.gpus else {})
        return TorchTrainer(
            _perform,
            train_loop_config=dict(given),
            torch_config=TorchConfig(backend="cpu:gloo,cuda:nccl" if self.gpus else "gloo"),
            scaling_config=train.ScalingConfig(
                num_workers=(1, processes),  # type: ignore[arg-type]  # mypy sees the first version
                use_gpu=self.gpus > 0,
                resources_per_worker=room,
                elastic_resize_monitor_interval_s=SECONDS_TO_GROW,  # type: ignore[call-arg]
            ),
            run_config=train.RunConfig(
                name="training",
                storage_path=str(place / "ray"),  # of the driver's own bookkeeping
                failure_config=train.FailureConfig(max_failures=-1),  # counted by the board
            ),
        )

    def _wait(self, ended: "_Ended", board: Any, requests: StopRequests) -> None:
        import ray

        asked = None
        while not ended.within(0.5):
            _log(_told(board.news))
            if requests.number and asked is None:
                asked = time.monotonic()
                ray.get(board.stop.remote(requests.number))
            if asked is not None and time.monotonic() - asked > SECONDS_TO_STOP:
                raise StopSignal(requests.number)
        _log(_told(board.news))
        failure, stopped = _told(board.outcome)
        if stopped:
            raise StopSignal(stopped)
        if failure is not None:
            raise failure
        if ended.error is not None:
            raise PeerError(f"Ray could not go on: {reason(ended.error)[:500]}") from ended.error


class _Ended(threading.Thread):
    """Ray Train's own waiting, which would take the signals for itself in the main thread."""

    def __init__(self, trainer: Any):
        super().__init__(daemon=True)
        self.trainer = trainer
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self.trainer.fit()
        except Exception as error:  # told where the result is asked for
            self.error = error

    def within(self, seconds: float) -> bool:
        """Whether it is over, now or soon."""
        self.join(seconds)
        return not self.is_alive()


class Board:
    """What the processes of a training and the one that asked for it tell each other."""

    def __init__(self, retries: int):
        self.retries = retries
        self.said: list[tuple[int, str]] = []
        self.failed: Exception | None = None
        self.asked = 0
        self.stopped = 0
        self.state: object = None
        self.starts = 0

    def begin(self, state: object, processes: int, where: str) -> bool:
        """By the first process, before it goes on from a state; False where that is no use."""
        self.starts = self.starts + 1 if state == self.state else 1
        self.state = state
        if self.starts > self.retries + 1:
            self.failed = self.failed or PeerError(
                f"the processes of this training were lost {self.starts - 1} times before they "
                "could keep a new state: killed, or out of memory"
            )
            return False
        how = f"{processes} processes, the first" if processes > 1 else "one process"
        self.say(logging.INFO, f"training in {how} on {where}")
        return True

    def say(self, level: int, text: str) -> None:
        """A message of the first process."""
        self.said.append((level, text))

    def news(self) -> list[tuple[int, str]]:
        """All messages since the last time."""
        said, self.said = self.said, []
        return said

    def fail(self, error: Exception) -> None:
        """By a process that has failed by itself, before the others can notice."""
        self.failed = self.failed or error

    def stop(self, number: int) -> None:
        """Asks all processes to keep their state and end."""
        self.asked = number

    def asked_to_stop(self) -> int:
        """The number of the signal; 0 if there was none."""
        return self.asked

    def leave(self, number: int) -> None:
        """By a process that has kept its state because it was asked to."""
        self.stopped = number or signal.SIGTERM

    def outcome(self) -> tuple[Exception | None, int]:
        """The failure of the process that was first to fail, if one did, and the number of the
        signal that has stopped the training."""
        return self.failed, self.stopped


def _board(retries: int) -> Any:
    """On this machine, so that it is lost with no other one."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(Board).options(num_cpus=0, scheduling_strategy=here).remote(retries)


def _told(method: Any) -> Any:
    """What the board says, which is lost with this machine only."""
    import ray

    try:
        return ray.get(method.remote())
    except ray.exceptions.RayActorError as error:
        raise ConnectionError(LOST) from error


def _log(news: list[tuple[int, str]]) -> None:
    for level, text in news:
        logger.log(level, "%s", text)


def _perform(given: Mapping[str, Any]) -> None:
    """What a worker does, in a thread of Ray's; it fails only where another one was lost."""
    import ray

    board, folder = given["board"], given["folder"]
    # The rest of what torchrun tells its workers is told by Ray.
    os.environ.update(TORCHELASTIC_RUN_ID="cellformer", GROUP_RANK=os.environ["NODE_RANK"])
    rank = int(os.environ["RANK"])
    try:
        with _first_speaks(board, rank == 0), _in_order(given["asker"], rank, folder) as work:
            if rank == 0 and not _may_begin(board, work):
                return
            resume(work.folder, given["stop_after"], work.callbacks)
    except TrainingInterrupted as stopped:
        ray.get(board.leave.remote(stopped.signal))
    except PeerError:
        if not _another_failed(board):
            raise
    except Exception as error:  # is the training's outcome, whatever it was
        ray.get(board.fail.remote(_sendable(error)))


@contextmanager
def _in_order(asker: Asker, rank: int, folder: Path) -> Iterator[WorkPlace]:
    """The first process has the folder to itself before the others read there."""
    from ray.train.collective import barrier

    if rank:
        barrier()
        with at_work(asker, str(rank), folder, writes=False) as work:
            yield work
        return
    with ExitStack() as stack:
        try:
            work = stack.enter_context(at_work(asker, "0", folder))
        finally:
            barrier()
        yield work


def _may_begin(board: Any, work: WorkPlace) -> bool:
    import ray

    states = [file.stat() for file in RunFolder(work.folder).states]
    state = [(told.st_size, told.st_mtime_ns) for told in states]
    processes = int(os.environ["WORLD_SIZE"])
    may: bool = ray.get(board.begin.remote(state, processes, work.where))
    return may


def _another_failed(board: Any) -> bool:
    """Whether another process tells, now or soon, that it has failed by itself."""
    import ray

    deadline = time.monotonic() + SECONDS_TO_TELL
    while ray.get(board.outcome.remote())[0] is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def _sendable(error: Exception) -> Exception:
    """The error itself with its traceback as a note, or its text where it cannot be sent."""
    from ray import cloudpickle

    error.add_note("".join(traceback.format_tb(error.__traceback__)))
    try:
        cloudpickle.loads(cloudpickle.dumps(error))  # type: ignore[no-untyped-call]
    except Exception:  # of any kind that pickling raises
        return RuntimeError(reason(error))
    return error


@contextmanager
def _first_speaks(board: Any, active: bool) -> Iterator[None]:
    """The first process sends what it logs, and hears of a signal that came to the driver."""
    if not active:
        yield
        return
    import ray

    over = threading.Event()

    def listen() -> None:
        while not over.wait(0.5):
            if number := ray.get(board.asked_to_stop.remote()):
                StopRequests().note(number)
                return

    root, handler = logging.getLogger("cellformer"), _Sending(board)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    threading.Thread(target=listen, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        root.removeHandler(handler)


class _Sending(logging.Handler):
    def __init__(self, board: Any):
        super().__init__()
        self.board = board

    def emit(self, record: logging.LogRecord) -> None:
        self.board.say.remote(record.levelno, record.getMessage())
