"""From a table to predictions where there is little: files, memory, letters, and no home folder."""

import os
import resource
import subprocess
import sys

import pandas as pd
import pytest

GIGABYTE = 2**30

JOB = """
import sys
from cellformer.cli.main import main

table, run, more = "Moleküle.csv", "läuft gut", ["--data.encodings", "rwpe:2"]
for words in (
    ["prepare", table, *more],
    ["train", table, "--target", "size", "-o", run, *more, "--training.device", "cpu",
     "--training.epochs", "1", "--model.width", "8", "--model.layers", "1", "--model.heads", "1"],
    ["predict", run, table, "-o", "Vorhersagen.csv"],
):
    if main(words):
        sys.exit(f"{words[0]} failed")
"""


def confine():
    """As a shell does by ``ulimit -n 256 -v 4194304``."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    resource.setrlimit(resource.RLIMIT_AS, (4 * GIGABYTE, 4 * GIGABYTE))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "Läufe und Übungen"
    made.mkdir()
    rows = "\n".join(f"{'C' * n}O,{n}.5" for n in range(1, 21))
    (made / "Moleküle.csv").write_text(f"smiles,size\n{rows}\n", encoding="utf-8")
    return made


def surroundings(home, temporary):
    """No variable of this user but those by which Python and its packages are found."""
    kept = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "OMP_NUM_THREADS": "1",
        "LC_ALL": "C",
        "HOME": str(home),
        "TMPDIR": str(temporary),
    }


def test_the_main_job_is_done_without_a_home_with_few_files_and_little_memory(folder, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", JOB], cwd=folder, preexec_fn=confine, check=False,
        env=surroundings(tmp_path / "file" / "home", tmp_path / "temporary"),
        capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    warned = [line for line in done.stderr.splitlines() if "arning" in line or "rror" in line]
    assert warned == []
    assert done.stderr.count("CELLFORMER_CACHE can name another folder") == 1
    assert "atplotlib" not in done.stderr
    predicted = pd.read_csv(folder / "Vorhersagen.csv")
    assert predicted["prediction"].notna().all()
    left = {path.name for path in (tmp_path / "temporary").iterdir()}
    assert all(name.startswith("torchinductor_") for name in left)  # PyTorch's own
    assert {path.name for path in folder.iterdir()} == {
        "Moleküle.csv", "Vorhersagen.csv", "läuft gut",
    }  # fmt: skip
