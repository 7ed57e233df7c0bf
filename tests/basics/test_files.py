import errno
import os
import resource
import subprocess
import sys
from urllib.error import URLError

import pytest

from cellformer.basics import files
from cellformer.basics.files import blamed, replace_atomically


@pytest.fixture
def synced(monkeypatch):
    """What was waited for, in its order."""
    done = []
    monkeypatch.setattr(files, "_waited", {})
    monkeypatch.setattr(files, "_owed", set())
    monkeypatch.setattr(files, "_sync", lambda path: done.append(path.name))
    return done


def write(path, **options):
    with replace_atomically(path, **options) as unfinished:
        unfinished.write_text("whole")


def test_a_file_reaches_the_disk_before_it_has_its_name(tmp_path, synced, monkeypatch):
    hidden = []

    def looking(path):
        hidden.append((path.name, (tmp_path / "file").exists()))

    monkeypatch.setattr(files, "_sync", looking)
    write(tmp_path / "file")
    (name, there), folder = hidden
    assert name.startswith(".file.")
    assert not there
    assert folder == (tmp_path.name, True)


def test_a_file_written_again_and_again_seldom_waits_and_is_made_up_for(
    tmp_path, synced, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr(files.time, "monotonic", lambda: now[0])

    def slow(path):
        now[0] += 0.005
        synced.append(path.name)

    monkeypatch.setattr(files, "_sync", slow)
    for _ in range(100):  # an epoch takes a twentieth of a second
        now[0] += 0.05
        write(tmp_path / "state")
    assert synced.count(tmp_path.name) == 3  # 10 ms of every 2 s
    synced.clear()
    write(tmp_path / "summary")
    assert synced[0] == "state"
    synced.clear()
    write(tmp_path / "cached", durable=False)
    assert not synced


def test_an_error_leaves_the_old_file_and_names_it(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")

    def fill_the_disk(error):
        with replace_atomically(target) as unfinished:
            unfinished.write_text("half")
            raise error

    for error in (OSError(errno.ENOSPC, "No space"), OSError("9 requested and 4 written")):
        with pytest.raises(OSError, match=r"tmp_path|file") as raised:
            fill_the_disk(error)
        assert str(target) in str(raised.value)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_hidden_name_is_told_as_the_real_one_and_others_stay(tmp_path):
    def raise_in_it(error):
        with blamed(tmp_path / "file"):
            raise error

    with pytest.raises(PermissionError) as raised:
        raise_in_it(OSError(errno.EACCES, "no", str(tmp_path / ".file.0.tmp")))
    assert raised.value.filename == str(tmp_path / "file")
    with pytest.raises(OSError, match="other") as raised:
        raise_in_it(OSError(errno.EACCES, "no", "other"))
    assert raised.value.filename == "other"


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("Ray is lost"),
        ConnectionResetError(errno.ECONNRESET, "reset by peer"),
        URLError("no such host"),
    ],
)
def test_what_comes_from_a_network_is_not_told_of_a_file(tmp_path, error):
    with pytest.raises(type(error)) as told, replace_atomically(tmp_path / "file"):
        raise error
    assert told.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_grow_is_named_in_a_real_process(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    code = (
        "import sys\nfrom pathlib import Path\n"
        "from cellformer.basics.files import replace_atomically\n"
        "with replace_atomically(Path(sys.argv[1])) as unfinished:\n"
        "    unfinished.write_bytes(b'0' * 2000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(tmp_path / "big")],  # -B: nor may pyc files
        capture_output=True, text=True, preexec_fn=limit, check=False,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1].endswith(f"File too large: '{tmp_path / 'big'}'")
    assert not os.listdir(tmp_path)
