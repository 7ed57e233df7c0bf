"""How commands end where their output does not arrive, and what is said of an error."""

import errno
import signal
import subprocess
import sys

import pytest

from cellformer.cli.ending import GOES_ON, flushed, reason, stopped
from cellformer.cli.main import COMMANDS

INFO = f'"{sys.executable}" -m cellformer --help'


def shell(command):
    return subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )


def test_a_closed_output_is_an_error_before_anything_is_done():
    done = shell(f"{INFO} >&-")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "cellformer: standard output is closed; lead it somewhere, as by > /dev/null\n"
    )


def test_a_full_output_is_an_error_that_is_told():
    done = shell(f"{INFO} > /dev/full")
    assert done.returncode == 1
    assert done.stderr.startswith("cellformer: standard output: No space left on device; make room")
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_has_seen_enough_ends_the_command_quietly():
    done = shell(f"exec 3>&1; {{ {INFO}; echo code $? >&3; }} | true")
    assert (done.stdout, done.stderr) == ("code 141\n", "")


def test_closed_errors_do_not_end_up_in_the_output():
    done = shell(f'"{sys.executable}" -m cellformer lift C nothing 2>&- <&-')
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


TAKEN_DOWN = """
import sys
from cellformer.cli import start

class Held:
    def __del__(self):
        print("taken down", flush=True)

held = Held()
sys.argv[1:] = {arguments}
sys.exit(start.main())
"""


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["lift", "C1CC"], 1), (["nothing"], 2)]
)
def test_a_command_ends_before_python_is_taken_down(arguments, code):
    program = TAKEN_DOWN.format(arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code
    assert done.stdout or done.stderr
    assert "taken down" not in done.stdout


def test_what_is_printed_is_brought_out(capsys):
    sys.stdout.write("told\n")
    assert flushed(3) == 3
    assert capsys.readouterr().out == "told\n"


def test_only_what_goes_on_says_that_it_does():
    assert set(GOES_ON) < set(COMMANDS)
    assert stopped("train", signal.SIGTERM) == (
        "stopped by SIGTERM; go on with the same command", 75
    )  # fmt: skip
    assert stopped("predict", signal.SIGUSR1) == ("stopped by SIGUSR1", 138)
    assert stopped("train", signal.SIGINT) == ("interrupted", 130)
    assert stopped(None, signal.SIGTERM)[1] == 143


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a.csv"),
         "a.csv: No space left on device; make room there, or choose another place; what was "
         "finished before is kept"),
        (OSError(errno.EXDEV, "Invalid cross-device link", "a", None, "b"),
         "a and b: Invalid cross-device link"),
        (FileExistsError("runs/a exists"), "runs/a exists"),
        (ValueError("no"), "no"),
    ],
)  # fmt: skip
def test_an_error_names_its_file_and_what_to_do(error, told):
    assert reason(error) == told
