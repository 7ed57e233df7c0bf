import os
import re
import subprocess
import sys
import time

from cellformer.basics import owners
from cellformer.basics.owners import abandoned, clear_once, unfinished


def of(process, path, host=None):
    """The name that another process would have given."""
    name = re.sub(r"-\d+-", f"-{process}-", unfinished(path).name)
    return path.with_name(name if host is None else re.sub(r"\.[0-9a-f]{8}-", f".{host}-", name))


def ended():
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def test_what_ended_processes_left_is_removed_and_what_others_are_at_stays(tmp_path):
    target = tmp_path / "weights"
    own, parents = unfinished(target), of(os.getppid(), target)
    elsewhere = of(ended(), target, host="0123abcd")
    forgotten = tmp_path / ".weights.0123456789ab.tmp"  # as earlier versions named them
    left, folder = of(ended(), target), of(ended(), tmp_path / "store")
    for file in (own, parents, elsewhere, forgotten, left, target):
        file.write_text("half")
    (folder / "in").mkdir(parents=True)
    old = time.time() - owners.UNKNOWN_AFTER - 60
    os.utime(forgotten, (old, old))
    os.utime(own, (old, old))
    clear_once(tmp_path)
    assert set(tmp_path.iterdir()) == {own, parents, elsewhere, target}
    os.utime(elsewhere, (old, old))
    assert abandoned(elsewhere)
    clear_once(tmp_path)  # a folder is looked into once
    assert elsewhere.exists()


def test_a_folder_that_is_not_there_is_clear(tmp_path):
    clear_once(tmp_path / "none")
