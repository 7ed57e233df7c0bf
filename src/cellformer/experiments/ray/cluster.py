"""A cluster of Ray: joined or started, told to be quiet, and what its workers are given."""

import atexit
import logging
import os
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cellformer
from cellformer.basics.parts.reference import FILE_ENDING
from cellformer.basics.parts.trust import allowed_parts
from cellformer.basics.stopping import StopRequests, children_are_spared

logger = logging.getLogger(__name__)

LOCAL = "local"
"""The address that means: this machine, by a cluster that ends with this process."""

PARTS = "CELLFORMER_PARTS"
"""In the environment of a worker: the modules of parts that its driver has named."""

OBJECT_STORE_BYTES = 100_000_000  # what travels is small: results lie in files
STARTS = 3
SECONDS_TO_BEGIN = 150.0
"""How long Ray may take to start, or to join a cluster; usually it takes a few."""
SECONDS_TO_END = 60.0

LOST = (
    "Ray has lost its own process on this machine (raylet), and does nothing any more; what is "
    "finished is kept: give the same command again"
)
SECONDS_BETWEEN_CHECKS = 5.0


@contextmanager
def machine_needed() -> Iterator[None]:
    """Within, what Ray says of this machine's lost raylet becomes a ConnectionError."""
    import ray

    try:
        yield
    except ray.exceptions.LocalRayletDiedError as error:
        raise ConnectionError(LOST) from error


class Connection:
    """This process's membership of a cluster."""

    def __init__(self) -> None:
        import ray

        self.machine = ray.get_runtime_context().get_node_id()
        self.next = 0.0

    def check(self) -> None:
        """Asks now and then whether this machine is still of the cluster; to be called often.

        Whoever waits for results would wait for ever elsewhere. Raises ConnectionError.
        """
        import ray

        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + SECONDS_BETWEEN_CHECKS
        nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
        if not any(node["NodeID"] == self.machine and node["Alive"] for node in nodes):
            raise ConnectionError(LOST)


@contextmanager
def connected(address: str, cpus: float, gpus: float = 0.0) -> Iterator[Connection]:
    """Starts Ray on this machine (`LOCAL`), or joins the cluster at an address.

    ``cpus`` and ``gpus`` are what a slot takes; every worker has as many threads as its slot has
    cores. Workers import the very source that this process runs, from where it lies. SIGTERM
    and SIGUSR1 raise `StopSignal` meanwhile, so that all ends in order. Raises ImportError
    without Ray, ConnectionError where nothing answers, ValueError where the machine has no room
    for a single slot, or Ray is in use already.
    """
    if not cpus > 0 or gpus < 0:
        raise ValueError(f"a slot needs cores, and no less than 0 GPUs; got {cpus} and {gpus}")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # as a training here would have
    require_ray()
    import ray

    if ray.is_initialized():
        raise ValueError("Ray is in use in this process already; call ray.shutdown() before")
    with StopRequests() as requests, _member(address, worker_environment(cpus, gpus)):
        requests.listen()  # Ray has taken SIGTERM for itself
        _check_room(address, cpus, gpus)
        yield Connection()


def require_ray() -> None:
    """Raises ImportError, saying how to get it, where Ray is not installed."""
    if find_spec("ray") is None:
        raise ImportError('Ray is not installed; it comes with pip install "cellformer[ray]"')


@contextmanager
def _member(address: str, environment: dict[str, str]) -> Iterator[None]:
    import ray

    member = _Member(address, environment)
    member.start()
    try:
        if not member.begun.wait(SECONDS_TO_BEGIN):
            raise ConnectionError(
                f"Ray could not be {_done(address)}: it says nothing for {SECONDS_TO_BEGIN:.0f} "
                "seconds; what is finished is kept: give the same command again"
            )
        if member.error is not None:
            raise member.error
        yield
    finally:
        member.over.set()
        member.join(SECONDS_TO_END if member.begun.is_set() else 0)
        if member.is_alive():
            atexit.unregister(ray.shutdown)  # it would wait for the same
            if member.begun.is_set():
                logger.warning("Ray does not end; its processes will with this one")


class _Member(threading.Thread):
    """The start and the end of Ray, in which it may hang for ever where its processes are killed.

    Both in one thread, as Ray's processes end when the thread that has started them does.
    """

    def __init__(self, address: str, environment: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.environment = environment
        self.begun = threading.Event()
        self.over = threading.Event()
        self.error: Exception | None = None

    def run(self) -> None:
        import ray

        try:
            with children_are_spared():  # Ray cannot be left in order without its own processes
                _init(self.address, self.environment)
        except Exception as error:  # raised by who has waited for it
            self.error = error
        self.begun.set()
        self.over.wait()
        try:
            ray.shutdown()
        except Exception as error:  # all that was to be done is done
            logger.warning("Ray did not end in order: %s", error)


def _done(address: str) -> str:
    return "started" if address == LOCAL else f"joined at {address}"


def _init(address: str, environment: dict[str, str]) -> None:
    import ray

    own: dict[str, Any] = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    for attempts_left in reversed(range(STARTS if address == LOCAL else 1)):
        try:
            ray.init(
                address,
                runtime_env={"env_vars": environment},
                logging_level=logging.ERROR,
                log_to_driver=False,
                **(own if address == LOCAL else {}),
            )
            return
        except Exception as error:  # a bare Exception on a busy machine: Ray waits 30 seconds
            ray.shutdown()
            if not attempts_left:
                raise ConnectionError(f"Ray could not be {_done(address)}: {error}") from error
            logger.warning("Ray could not be started (%s); trying again", error)


def _check_room(address: str, cpus: float, gpus: float) -> None:
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    rooms = [node["Resources"] for node in nodes if node["Alive"]]
    if any(room.get("CPU", 0) >= cpus and room.get("GPU", 0) >= gpus for room in rooms):
        return
    told = f"no machine has {cpus:g} cores and {gpus:g} GPUs for a slot"
    if address == LOCAL:
        raise ValueError(f"{told}; ask for fewer")
    logger.warning("%s yet; waiting for one to join the cluster", told)


def worker_environment(cpus: float, gpus: float) -> dict[str, str]:
    """The environment of a worker whose slot has so many cores and GPUs."""
    threads = str(max(1, int(cpus)))
    libraries = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM")
    told = {f"{library}_THREADS": threads for library in libraries}
    if not gpus:  # versions of Ray differ in what a worker sees that asked for none
        told["CUDA_VISIBLE_DEVICES"] = ""
    told["RAY_CHDIR_TO_TRIAL_DIR"] = "0"  # relative paths mean what they mean here
    told["TUNE_FUNCTION_THREAD_TIMEOUT_S"] = "60"  # for a trial that is stopped to end
    for name in ("CELLFORMER_DATA", "CELLFORMER_CACHE"):
        if name in os.environ:
            told[name] = str(Path(os.environ[name]).absolute())
    for name in ("CELLFORMER_REMOTE", "CELLFORMER_REMOTE_BYTES"):
        if name in os.environ:
            told[name] = os.environ[name]
    told[PARTS] = os.pathsep.join(allowed_parts())
    source = Path(cellformer.__file__).parents[1]
    own = source != Path(sysconfig.get_paths()["purelib"])  # else on the path of all workers
    files = [str(Path(file).parent) for file in allowed_parts() if file.endswith(FILE_ENDING)]
    folders = [*([str(source)] if own else []), *files, os.environ.get("PYTHONPATH", "")]
    if any(folders):
        told["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, folders)))
    return told
