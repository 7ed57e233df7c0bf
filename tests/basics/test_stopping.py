"""Being asked to stop; what commands answer is in tests/cli/test_signals.py."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from cellformer.basics import stopping
from cellformer.basics.stopping import SIGNALS, StopRequests, StopSignal, children_are_spared


@pytest.fixture(autouse=True)
def signals_are_heard():
    """A program that is started in the background of a shell ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_is_raised_at_once_or_where_it_is_looked_after():
    before = [signal.getsignal(number) for number in SIGNALS]
    with StopRequests() as requests, pytest.raises(StopSignal):
        signal.raise_signal(signal.SIGUSR1)
    assert requests.number == signal.SIGUSR1
    with StopRequests() as requests, pytest.raises(StopSignal), requests.deferred():
        list(map(signal.raise_signal, (signal.SIGTERM, signal.SIGINT)))
    assert requests.number == signal.SIGTERM  # the first one
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_blocks_within_one_another_share_what_has_come():
    with StopRequests() as outer:
        with pytest.raises(StopSignal), StopRequests() as inner, inner.deferred():
            signal.raise_signal(signal.SIGTERM)
        assert outer.number == signal.SIGTERM
        with pytest.raises(StopSignal):
            outer.check()
        assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGUSR1)  # still ours
    with StopRequests() as later:
        later.check()
        assert not later.number


def test_a_repeated_signal_leaves_the_clearing_up_alone_and_a_later_one_does_not(monkeypatch):
    cleared = []

    def work():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            cleared.append(True)

    for pause, times in ((60.0, 1), (0.0, 0)):
        monkeypatch.setattr(stopping, "REPEATED", pause)
        cleared.clear()
        with StopRequests(), pytest.raises(StopSignal):
            work()
        assert len(cleared) == times


def test_what_another_handler_has_taken_is_taken_back():
    with StopRequests() as requests:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        requests.listen()
        with pytest.raises(StopSignal):
            signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_python_would_ignore_in_a_destructor_is_raised_again():
    class Loud:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)
            time.sleep(0.001)

    def work():
        Loud()
        time.sleep(5)

    with StopRequests(), pytest.raises(StopSignal):
        work()


def test_an_import_is_not_torn(tmp_path, monkeypatch):
    (tmp_path / "torn.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGTERM)\ndone = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def work():
        import torn

        assert torn.done
        time.sleep(5)

    with StopRequests(), pytest.raises(StopSignal):
        work()


def test_signals_that_are_ignored_stay_so_and_other_threads_change_nothing():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with StopRequests() as requests:
            signal.raise_signal(signal.SIGINT)
        assert not requests.number
    finally:
        signal.signal(signal.SIGINT, before)
    handlers = []

    def elsewhere():
        with StopRequests():
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGTERM)]


def test_a_child_that_is_spared_lives_until_its_parent_ends_it():
    code = (
        "from cellformer.basics.stopping import obey_parent\n"
        "obey_parent()\nprint(input(), flush=True)\ninput()"
    )
    with children_are_spared():
        child = subprocess.Popen([sys.executable, "-c", code], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert child.stdin
    assert child.stdout
    for number in SIGNALS:  # of another process
        subprocess.run(["/bin/kill", f"-{number}", str(child.pid)], check=True)
    child.stdin.write("alive\n")
    child.stdin.flush()
    assert child.stdout.readline() == "alive\n"
    child.terminate()
    child.communicate()
    assert child.returncode == 1
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_the_child_that_counts_what_others_share_is_spared_too():
    code = (
        "import os, signal\nfrom multiprocessing import resource_tracker\n"
        "from cellformer.basics.stopping import children_are_spared\n"
        "with children_are_spared():\n    pass\n"
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)\nos.setsid()\nos.killpg(0, signal.SIGUSR1)\n"
        "os.kill(resource_tracker._resource_tracker._pid, signal.SIGUSR1)\n"
        "print(resource_tracker._resource_tracker._check_alive())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
