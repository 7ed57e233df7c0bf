"""What a command answers to a signal at any moment; within a training see test_preemption.py."""

import os
import signal
import subprocess
import sys

import pytest

from cellformer.cli.commands import train as train_command
from cellformer.cli.main import main
from cellformer.training.runs.run_folder import RunFolder
from grids import summary_of

PROGRAM = """
import os, signal, sys

def hook(event, arguments):
    if moment and event == moment[0] and str(arguments[0]).startswith(moment[1]):
        moment.clear()
        os.killpg(0, number)

moment, number = sys.argv[1].split("=", 1), int(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
sys.addaudithook(hook)
from cellformer.cli.start import main
sys.exit(main())
"""


def told(moment, number, *words):
    """Exit code and last words of a command whose group of processes gets a signal."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, moment, str(int(number)), *map(str, words)],
        capture_output=True, text=True, timeout=120, start_new_session=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


GO_ON = "cellformer: stopped by {}; go on with the same command\n"


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGTERM, 75, GO_ON.format("SIGTERM")),
        (signal.SIGUSR1, 75, GO_ON.format("SIGUSR1")),
        (signal.SIGINT, 130, "cellformer: interrupted\n"),
    ],
)
def test_a_signal_in_the_first_imports_ends_a_long_command_with_a_line(number, code, words):
    assert told("import=jsonargparse", number, "train", "nci") == (code, words)


def test_a_short_command_ends_as_others_do_with_a_line():
    assert told("import=jsonargparse", signal.SIGTERM, "lift", "C") == (
        143, "cellformer: stopped by SIGTERM\n",
    )  # fmt: skip


def test_a_signal_while_pytorch_is_imported_is_answered():
    assert told("import=torch", signal.SIGUSR1, "reproduce") == (75, GO_ON.format("SIGUSR1"))


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "molecules.csv"
    rows = "\n".join(f"{'C' * n}O,{n}.5" for n in range(1, 21))
    file.write_text(f"smiles,size\n{rows}\n")
    return file


def signaled(number=signal.SIGTERM):
    os.kill(os.getpid(), number)


def test_a_preparation_that_is_stopped_goes_on(table, monkeypatch, capsys):
    from cellformer.complexes.many.growing import GrowingStore

    with monkeypatch.context() as patch:
        patch.setattr(GrowingStore, "finish", lambda *given: signaled(signal.SIGUSR1))
        assert main(["prepare", str(table), "--data.encodings", "rwpe:2"]) == 75
    assert capsys.readouterr().err.endswith("interrupted; the same command goes on\n")
    assert main(["prepare", str(table), "--data.encodings", "rwpe:2"]) == 0


def test_processes_that_prepare_end_with_the_call_that_is_stopped(tmp_path):
    code = """
import os, signal, sys, time
from dataclasses import dataclass
from multiprocessing import active_children
from cellformer.basics.stopping import StopRequests, StopSignal
from cellformer.data.preparing.executors import LocalProcesses

@dataclass
class Task:
    start: int
    def __call__(self):
        os.killpg(0, signal.SIGTERM)
        time.sleep(100)

if __name__ == "__main__":
    os.setsid()
    try:
        with StopRequests():
            list(LocalProcesses(1)([Task(0), Task(1)]))
    except StopSignal as stop:
        print(stop.number, active_children())
"""
    file = tmp_path / "script.py"
    file.write_text(code)
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("15 []\n", "")


def test_a_signal_while_the_report_is_written_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    from cellformer.report import write
    from cellformer.training import train

    def trained(config, folder, launcher):
        RunFolder(folder).write_config(config)
        return summary_of("gcb-hard", 0.7)

    run = tmp_path / "a run"
    monkeypatch.setattr(train, "train", trained)
    monkeypatch.setattr(write, "write_report", lambda folder: signaled())
    assert main(["train", "nci", "-o", str(run)]) == 75
    assert f"go on with: cellformer train --resume '{run}'" in capsys.readouterr().err


def test_an_empty_run_folder_of_an_early_stop_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "nci").mkdir(parents=True)
    folder = train_command.named_folder("nci", free=True)
    assert folder.name == "nci"
    (folder / "config.json").touch()
    assert train_command.named_folder("nci", free=True).name == "nci-2"
