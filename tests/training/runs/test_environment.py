import shutil
import subprocess

import pytest

from cellformer.training.runs.environment import SourceState, read_sessions, source_state
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.train import resume, train
from tiny import with_training


def git(folder, *arguments):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def checkout(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    package = tmp_path / "checkout" / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    git(tmp_path / "checkout", "init", "-q")
    return package


def test_the_commit_of_a_checkout_and_whether_it_was_changed(checkout):
    assert source_state.__wrapped__(checkout) is None  # it is not committed
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "first")
    commit = git(checkout, "rev-parse", "HEAD")
    assert source_state.__wrapped__(checkout) == SourceState(commit, False)
    (checkout.parent / "elsewhere.txt").write_text("no source")
    assert source_state.__wrapped__(checkout) == SourceState(commit, False)
    (checkout / "__init__.py").write_text("changed = True")
    assert source_state.__wrapped__(checkout) == SourceState(commit, True)


def test_an_installed_package_has_no_commit(tmp_path, monkeypatch, checkout):
    assert source_state.__wrapped__(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert source_state.__wrapped__(checkout) is None


def test_an_interrupted_run_tells_of_all_its_sessions(tiny, tmp_path):
    tiny = with_training(tiny, epochs=2)
    train(tiny, tmp_path / "run", stop_after=1)
    folder = RunFolder(tmp_path / "run")
    folder.summary.unlink()
    summary = resume(tmp_path / "run")
    assert len(summary.sessions) == 2
    assert summary.sessions == read_sessions(folder)
    assert summary.session == summary.sessions[-1]
    assert set(summary.standard_errors) == {"best", "last"}
    assert summary.standard_errors["best"]["test"] > 0
