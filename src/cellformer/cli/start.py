"""The first and the last thing that the program does, before anything large is imported."""

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn

from cellformer.basics.messages import say
from cellformer.basics.stopping import StopSignal, deaf, listen_to_the_end
from cellformer.cli.ending import command_in, flushed, open_streams, stopped

SPINS = "1000"
"""How often a thread looks whether the others are done before it makes room for them, see
`wait_briefly`."""


def wait_briefly() -> None:
    """Has threads that wait for each other give up their cores soon, unless the user says how.

    To be called before PyTorch is imported. GNU's OpenMP spins for milliseconds otherwise, so that
    beside another busy process the waiting thread keeps the one that it waits for from running: an
    epoch then took fifteen times as long. Alone it takes as long either way.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)


def main() -> int:
    """Runs the command of ``sys.argv`` and returns its exit code, as `cellformer.cli.main.main`.

    From here on signals end it in order, and what is printed arrives or its loss is told.
    """
    code = [1]  # that of an error which nobody expects
    atexit.register(lambda: _end(code[0]))  # the first of all, so that it is called last
    listen_to_the_end(_leave)
    wait_briefly()
    if not open_streams():
        say("standard output is closed; lead it somewhere, as by > /dev/null")
        return code[0]
    try:
        from cellformer.cli.main import main as run

        status = run()
    except SystemExit as ended:  # of help, and of words that are not understood
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except StopSignal as stop:
        said, status = stopped(command_in(sys.argv[1:]), stop.number)
        say(said)
    deaf()
    code[0] = flushed(status)
    return code[0]


def _end(status: int) -> NoReturn:
    """Ends the process before Python is taken down.

    Threads of libraries may still run, such as pyarrow's after a table that nobody wanted more of,
    and would abort the program when they ask for the interpreter that is gone.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):  # there is nobody left to tell
            stream.flush()
    os._exit(status)


def _leave(number: int) -> NoReturn:
    """Ends the process at once."""
    said, status = stopped(command_in(sys.argv[1:]), number)
    from cellformer.basics.cache import remove_temporary_cache

    remove_temporary_cache()
    os.write(2, f"cellformer: {said}\n".encode())
    os._exit(status)
