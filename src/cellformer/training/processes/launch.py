"""Starting the processes of a training on this machine, and waiting for them."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cellformer.basics.parts.trust import allowed_parts
from cellformer.basics.stopping import RESUME_ME, StopRequests, StopSignal
from cellformer.training.loop.divergence import DIVERGED, TrainingDiverged
from cellformer.training.loop.world import PeerError

Launcher = Callable[[Path, int, int | None, StopRequests], None]
"""Has so many processes go on with the run of a folder, as `launch` does on this machine."""

GRACE = 10.0
"""Seconds after which the others are killed when one of the processes has failed."""


def launch(folder: Path, processes: int, stop_after: int | None, requests: StopRequests) -> None:
    """Has this many processes go on with the run of a folder, and passes signals on to them.

    Raises StopSignal if they were stopped, TrainingDiverged where the first of them has told so,
    and PeerError if one of them fails; the others are then ended too.
    """
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    command = [sys.executable, "-m", "cellformer.training.member", str(folder)]
    command += ["" if stop_after is None else str(stop_after), *allowed_parts()]
    members = []
    with requests.deferred():
        try:
            for rank in range(processes):
                # What torchrun tells its workers, so that there is one way to be a member.
                place = {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": 0,
                         "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}  # fmt: skip
                environment = {
                    "OMP_NUM_THREADS": threads,
                    "TORCH_CPP_LOG_LEVEL": "ERROR",  # or DDP tells that all parameters are used
                    **os.environ,
                    **address,
                    **{name: str(value) for name, value in place.items()},
                    "TORCHELASTIC_RUN_ID": "cellformer",
                }
                # A session of its own: Ctrl-C comes through here, once. The pipe tells when this
                # process is gone.
                members.append(
                    subprocess.Popen(
                        command, env=environment, stdin=subprocess.PIPE, start_new_session=True
                    )
                )
            codes = _wait(members, requests)
        finally:
            for member in members:
                member.kill()
                member.communicate()
    died_of_it = requests.number and -requests.number in codes  # before it could listen
    if RESUME_ME in codes or died_of_it:
        raise StopSignal(requests.number or signal.SIGTERM)
    if DIVERGED in codes:
        raise TrainingDiverged("training has diverged; see the message above")
    killed = [(rank, -code) for rank, code in enumerate(codes) if code < 0]
    for rank, number in killed:
        raise PeerError(
            f"process {rank} of this training was killed by {signal.Signals(number).name}; "
            f"go on with: cellformer train --resume {folder}"
        )
    for rank, code in enumerate(codes):
        if code:
            raise PeerError(f"process {rank} of this training has failed; see its message above")


def _wait(members: Sequence[subprocess.Popen[bytes]], requests: StopRequests) -> list[int]:
    """The exit codes once all have ended; those that are killed here have code 1."""
    passed_on, deadline = False, None
    while True:
        if requests.number and not passed_on:
            passed_on = True
            for member in members:
                member.send_signal(requests.number)
        codes = [member.poll() for member in members]
        ended = [code for code in codes if code is not None]
        if len(ended) == len(members):
            return ended
        if deadline is None and any(ended):
            deadline = time.monotonic() + GRACE
        if deadline is not None and time.monotonic() > deadline:
            return [1 if code is None else code for code in codes]
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
