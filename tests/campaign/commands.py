"""Commands of ``cellformer`` in processes of their own, without the time that imports take.

A server imports everything once and then forks a process for each command, which runs it as the
shell would: arguments, folder, streams and environment of its own, and an exit code. It can kill
the process, all of its group or one of its children after a while, and ends one that hangs.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from campaign import family
from campaign.engine import BrokenError

HANGS = 240.0
"""Seconds after which a command of a small case hangs."""
SECONDS_TO_TELL = 2.0
"""How long it may take to say where."""
LINGERS = 90.0
"""Seconds after which a process that its command has left to itself has to be gone.

The agents of Ray try for a minute to reach its server, also where that was killed.
"""
MEMORY = 12 << 30
"""Bytes of address space of a command, so that none takes the machine."""


Whom = Literal["group", "alone", "child"]


@dataclass(frozen=True)
class Kill:
    """A SIGKILL for a process of a command."""

    after: float  # seconds
    whom: Whom = "group"
    """The command with its group; the command alone, whose children are left to themselves; or
    one of its children, or of theirs."""
    which: float = 0.0  # of the children, from 0 to below 1


@dataclass(frozen=True)
class Ended:
    """What became of a command: its exit code, negative for a signal, and what it printed."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float
    hit: str = ""  # the command line of the process that a kill has met

    @property
    def killed(self) -> bool:
        """Whether it ended by SIGKILL."""
        return self.code == -signal.SIGKILL

    def said(self, *names: str) -> str:
        """The last line, once it is sure that the command ended in order; empty if all went well.

        ``names`` are what a message may name, at least one of them. Raises BrokenError for a
        traceback, a signal, an unknown exit code, or a failure not told in one line.
        """
        where = " ".join(self.words)
        told = self.err[-2000:]
        for trace in ("Traceback (most recent", "Fatal Python error", "Warning: "):
            if trace in self.err:
                raise BrokenError(f"{where}: {trace}...\n{told}")
        if self.code == 0:
            return ""
        if self.code not in (1, 2, 70):
            raise BrokenError(f"{where}: ended with {self.code}\n{told}")
        lines = [line for line in self.err.splitlines() if line.startswith("cellformer: ")]
        every_row = "rows could not be predicted" in self.err
        if every_row and not lines:  # which the table tells row by row
            return self.err.splitlines()[-1]
        if len(lines) != 1 or not self.err.rstrip().endswith(lines[0].rstrip()):
            raise BrokenError(f"{where}: {len(lines)} lines of errors, and not last\n{told}")
        if names and not any(name in lines[0] for name in names):
            raise BrokenError(f"{where}: the message names none of {names}: {lines[0]}")
        return lines[0]


class Commands:
    """The server of commands, from the first one on until the with block ends, or `close`."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def _started(self) -> "subprocess.Popen[str]":
        if self.process is None:
            paths = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
            self.process = subprocess.Popen(
                [sys.executable, "-m", "campaign.commands"],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self.process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server."""
        if self.process is not None:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def __call__(
        self,
        folder: Path,
        *words: object,
        kill: Kill | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Ended:
        """Runs a command in a folder; SIGKILL comes after some seconds if that is asked for.

        Raises BrokenError where it hangs.
        """
        given = tuple(map(str, words))
        order = {"words": given, "folder": str(folder), "kill": asdict(kill) if kill else None,
                 "env": dict(env or {})}  # fmt: skip
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        said = [folder / name for name in (".out", ".err")]
        for file in said:
            # What a process that outlives its command says is not put into another one's file.
            file.unlink(missing_ok=True)
            file.write_bytes(b"")  # a command may be killed before it has opened it
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        out, err = (file.read_text("utf-8", "replace") for file in said)
        if answer["hangs"]:
            raise BrokenError(f"{' '.join(given)}: hangs\n{err[-8000:]}")
        return Ended(given, answer["code"], out, err, answer["seconds"], answer["hit"])

    def left(self, lingers: float = LINGERS) -> list[str]:
        """Command lines of processes that outlive their commands by so long; they are ended.

        They are known on Linux only.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(lingers)}\n")
        process.stdin.flush()
        found: list[str] = json.loads(process.stdout.readline())
        return found


def _serve() -> int:
    """Forks a process for each line of the standard input; its exit code in the forked ones."""
    import lightning
    import pandas
    import rdkit.Chem
    import tensorboard  # noqa: F401  # with all that they import

    import cellformer.cli.main
    import cellformer.report.write
    import cellformer.training.answers.predict
    import cellformer.training.train  # noqa: F401

    _ = lightning, pandas, rdkit
    _warm_up()
    gc.collect()
    gc.freeze()  # pages that no collection writes to stay shared
    family.adopt_orphans()
    answers = sys.stdout
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, float):
            answers.write(json.dumps(family.ended(os.getpid(), order)) + "\n")
            answers.flush()
            continue
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            return _command(order)
        status, hangs, hit = _waited(child, began, order["kill"])
        answer = {"code": os.waitstatus_to_exitcode(status), "hangs": hangs, "hit": hit,
                  "seconds": time.monotonic() - began}  # fmt: skip
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


def _warm_up() -> None:
    """Loads what is compiled; on one thread, as other threads do not outlive a fork."""
    import torch

    import cellformer as cf
    from cellformer.model.config import ArchitectureConfig, ModelConfig

    torch.set_num_threads(1)
    batch = cf.collate([cf.encode(cf.Rings()(cf.Graph.from_smiles("C1CC1")), cf.RWPe(2))])
    config = ModelConfig.for_batch(batch, ArchitectureConfig(width=8, layers=1, heads=2))
    for name in ("general-sparse", "pairwise-sparse"):
        model = cf.CellularTransformer(config, cf.attention_plan(name))
        model(batch).sum().backward()


def _waited(child: int, began: float, order: dict[str, Any] | None) -> tuple[int, bool, str]:
    """How the process ended, whether it hung, and what was killed."""
    kill = Kill(**order) if order else None
    hangs, hit = False, ""
    while True:
        found, status = os.waitpid(-1, os.WNOHANG)
        if found not in (0, child):
            continue  # one that was left to itself, and has ended
        if found:
            if order is None or order["whom"] == "group" or hangs:
                _kill_group(child)  # workers that were left
            return status, hangs, hit
        passed = time.monotonic() - began
        if kill is not None and passed >= kill.after:
            hit = _killed(child, kill)
            kill = None if hit else Kill(passed + 0.05, kill.whom, kill.which)  # none is there yet
        elif passed > HANGS + SECONDS_TO_TELL:
            os.kill(child, signal.SIGKILL)
        elif passed > HANGS and not hangs:
            hangs = True
            os.kill(child, signal.SIGUSR2)  # it tells where
        time.sleep(0.002)


def _killed(child: int, kill: Kill) -> str:
    """The command line of the process that was killed; empty if there was none."""
    if kill.whom != "child":
        if kill.whom == "group":
            _kill_group(child)
        os.kill(child, signal.SIGKILL)  # its group may not be made yet
        return "the command"
    children = family.workers_of(child)
    if not children:
        return ""
    number, words = children[int(kill.which * len(children))]
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return ""
    return words


def _kill_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


def _command(order: dict[str, Any]) -> int:
    """What the forked process does."""
    import faulthandler
    import resource
    from multiprocessing import util

    from cellformer.cli import start

    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(order["folder"])
    os.environ.update(order["env"])
    files: Sequence[tuple[str, int]] = (
        (os.devnull, os.O_RDONLY),
        (".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    )
    for number, (name, flags) in enumerate(files):
        opened = os.open(name, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    faulthandler.register(signal.SIGUSR2)
    sys.argv = ["cellformer", *order["words"]]
    status = start.main()
    # A command imports it after it has said how it ends, so that there this comes before the end.
    util._exit_function()
    return status


if __name__ == "__main__":
    sys.exit(_serve())
