"""A cluster of Ray: joined or started, told to be quiet, and what its workers are given."""

import logging
import os
import shutil
import signal
import socket
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import cellformer
from cellformer.basics.files import replace_atomically
from cellformer.basics.parts.reference import FILE_ENDING
from cellformer.basics.parts.trust import allow_parts, allowed_parts
from cellformer.basics.stopping import StopRequests, StopSignal, children_are_spared
from cellformer.experiments.running.lock import locked

logger = logging.getLogger(__name__)

LOCAL = "local"
"""The address that means: this machine, by a cluster that ends with this process."""

PARTS = "CELLFORMER_PARTS"
"""In the environment of a worker: the modules of parts that its driver has named."""

OBJECT_STORE_BYTES = 100_000_000  # what travels is small: results lie in files
STARTS = 3
SECONDS_FOR_FILES = 5.0
"""How long a shared file system may take to show what another machine wrote."""


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


class NotSharedError(ValueError):
    """A folder that a worker does not see, though it has to read and write in it."""


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
    with StopRequests() as requests:
        try:
            with children_are_spared():  # Ray cannot be left in order without its own processes
                _init(address, worker_environment(cpus, gpus))
            requests.listen()  # Ray has taken SIGTERM for itself
            _check_room(address, cpus, gpus)
            yield Connection()
        finally:
            ray.shutdown()


def require_ray() -> None:
    """Raises ImportError, saying how to get it, where Ray is not installed."""
    if find_spec("ray") is None:
        raise ImportError('Ray is not installed; it comes with pip install "cellformer[ray]"')


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
        except SystemExit:  # its answer to SIGTERM
            raise StopSignal(signal.SIGTERM) from None
        except Exception as error:  # a bare Exception on a busy machine: Ray waits 30 seconds
            ray.shutdown()
            if not attempts_left:
                what = "started" if address == LOCAL else f"joined at {address}"
                raise ConnectionError(f"Ray could not be {what}: {error}") from error
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
    told[PARTS] = os.pathsep.join(allowed_parts())
    source = Path(cellformer.__file__).parents[1]
    own = source != Path(sysconfig.get_paths()["purelib"])  # else on the path of all workers
    files = [str(Path(file).parent) for file in allowed_parts() if file.endswith(FILE_ENDING)]
    folders = [*([str(source)] if own else []), *files, os.environ.get("PYTHONPATH", "")]
    if any(folders):
        told["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, folders)))
    return told


@contextmanager
def meeting_place(folder: Path) -> Iterator[Path]:
    """A hidden folder, for as long as this lasts, in one that all workers have to see.

    Those that a killed process left behind are removed.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".ray-*"):
        try:
            with FileLock(left / "lock", timeout=0):
                shutil.rmtree(left, ignore_errors=True)
        except (Timeout, OSError):
            continue  # in use
    place = folder.absolute() / f".ray-{uuid4().hex[:12]}"
    place.mkdir()
    try:
        with FileLock(place / "lock"):
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def check_shared(place: Path) -> None:
    """Called by a worker; raises NotSharedError if it does not see the `meeting_place`."""
    if not appears(place):
        raise NotSharedError(
            f"{place.parent} on {socket.gethostname()} is not the folder that the other machines "
            "see under this name; run folders and the cache (CELLFORMER_CACHE) have to lie on a "
            "file system that all workers share"
        )


@contextmanager
def at_work(place: Path, name: str, folder: Path, directory: str) -> Iterator[None]:
    """Called by a worker that trains into a folder, which it has to itself meanwhile.

    It tells the driver, by a file in the `meeting_place`, where it is. ``directory`` is what the
    relative paths of the data are relative to. Parts that the driver allows are allowed here too.
    """
    check_shared(place)
    allow_parts(*filter(None, os.environ.get(PARTS, "").split(os.pathsep)))
    with suppress(OSError):
        os.chdir(directory)
    with locked(folder, wait=True):  # a worker that was given up for lost may still be at it
        with replace_atomically(place / name, durable=False) as unfinished:
            here = f"{socket.gethostname()} (process {os.getpid()})"
            unfinished.write_text(here, encoding="utf-8")
        yield


def whereabouts(place: Path, name: str) -> str | None:
    """Where the work of this name has been begun last; None if it has not."""
    try:
        return (place / name).read_text(encoding="utf-8")
    except OSError:
        return None


def appears(path: Path) -> bool:
    """Whether a path exists, or does so soon, where file systems show news with a delay."""
    deadline = time.monotonic() + SECONDS_FOR_FILES
    while not path.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
