"""How a command ends: what it says last, and its exit code."""

import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from cellformer.basics.messages import say
from cellformer.basics.stopping import RESUME_ME

GOES_ON = ("fetch", "prepare", "train", "pretrain", "baseline", "tune", "reproduce")
"""Commands that find what they have done before, so that the same command goes on."""


def command_in(words: Sequence[str]) -> str | None:
    """The first word of a command line that is no option."""
    return next((word for word in words if not word.startswith("-")), None)


def stopped(command: str | None, number: int) -> tuple[str, int]:
    """What is said of a command that a signal has stopped, and its exit code."""
    if number == signal.SIGINT:
        return "interrupted", 128 + number
    name = signal.Signals(number).name
    if command in GOES_ON:
        return f"stopped by {name}; go on with the same command", RESUME_ME
    return f"stopped by {name}", 128 + number


def reason(error: Exception) -> str:
    """An error in a line; one of the system with its file, and what to do about it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    told = f"{' and '.join(names)}: {error.strerror}" if names else error.strerror
    advice = _ADVICE.get(error.errno or 0)
    return f"{told}; {advice}" if advice else told


_ADVICE = {
    errno.ENOSPC: "make room there, or choose another place; what was finished before is kept",
    errno.EDQUOT: "make room there, or choose another place; what was finished before is kept",
    errno.EFBIG: "files may not be that large here (see ulimit -f); what was finished is kept",
    errno.EROFS: "choose another place",
    errno.ENOTDIR: "choose another place",
    errno.EEXIST: "choose another place",
    errno.EISDIR: "give the name of a file",
    errno.EACCES: "choose another place, or ask its owner for the right",
    errno.EPERM: "choose another place, or ask its owner for the right",
    errno.EMFILE: "allow more open files, as with: ulimit -n 4096",
    errno.ENFILE: "the machine has too many open files; end other programs",
    errno.EIO: "the disk does not work as it should; look into the system's log",
    errno.ESTALE: "the folder was made anew on its server; run the command again",
}


class Output(io.FileIO):
    """The standard output, whose errors say that they are its own."""

    NAME = "standard output"

    def write(self, data: Any) -> Any:
        """Raises OSError with the name in place of a file's."""
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.NAME) from None


def flushed(status: int) -> int:
    """Brings out what was printed; the exit code, which is another one where that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return failed(error)
    return status


def failed(error: Exception) -> int:
    """Says why a command failed; its exit code."""
    ours = isinstance(error, OSError) and error.filename == Output.NAME
    if ours:  # Python flushes once more when it ends
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        if isinstance(error, BrokenPipeError):  # head, say, has read enough
            return 128 + signal.SIGPIPE
    say(reason(error))
    return 1


def open_streams() -> bool:
    """Whether there is a standard output, an `Output` then; closed input and errors lead nowhere.

    Otherwise the next file that is opened would take their number, and what is meant for them.
    """
    for number, name, mode in ((0, "stdin", "r"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if sys.stdout is None:
        return False
    buffer = io.BufferedWriter(Output(1, "w", closefd=False))
    given = sys.stdout
    sys.stdout = io.TextIOWrapper(
        buffer, given.encoding, given.errors, line_buffering=bool(given.line_buffering)
    )
    return True
