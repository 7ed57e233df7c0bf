import logging
import os
from pathlib import Path

import pytest
from numba.core.caching import UserProvidedCacheLocator as Locator

from cellformer.basics import cache
from cellformer.basics.cache import cache_entry, keep_compiled_code, writable_entry


@pytest.fixture
def unwritable(tmp_path, monkeypatch):
    """A cache below a file, where even root cannot write; other files lie in the test's folder."""
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.delenv(cache.TEMPORARY, raising=False)
    monkeypatch.setattr(cache, "_told", set())
    at_exit = []
    monkeypatch.setattr(cache.atexit, "register", at_exit.append)
    (tmp_path / "file").touch()
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "file" / "cache"))
    yield at_exit
    os.environ.pop(cache.TEMPORARY, None)


def test_a_cache_that_cannot_be_written_is_replaced_until_the_end(unwritable, tmp_path, caplog):
    entry = cache_entry("prepared", "abc")
    assert entry.parts[-2:] == ("prepared", "abc")
    assert entry.parents[2] == tmp_path / "temporary"
    assert entry == cache_entry("prepared", "abc")
    (told,) = caplog.messages
    assert str(tmp_path / "file" / "cache") in told
    assert "CELLFORMER_CACHE can name another" in told
    entry.parent.mkdir()
    entry.touch()
    unwritable[0]()
    assert not list((tmp_path / "temporary").iterdir())


def test_what_a_read_only_cache_holds_is_found_there(unwritable, tmp_path, monkeypatch, caplog):
    shared = tmp_path / "shared" / "prepared" / "abc"
    shared.mkdir(parents=True)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "shared"))
    monkeypatch.setattr(cache, "_trouble", lambda folder: "Read-only file system")
    assert cache_entry("prepared", "abc") == shared
    assert not caplog.messages
    assert cache_entry("prepared", "other").is_relative_to(tmp_path / "temporary")
    assert writable_entry(shared).is_relative_to(tmp_path / "temporary")


def test_a_user_without_a_home_has_no_folder_named_after_it(unwritable, monkeypatch, caplog):
    monkeypatch.delenv("CELLFORMER_CACHE")
    monkeypatch.setattr(cache, "cache_root", lambda: Path("~/.cache/cellformer"))
    assert cache_entry("prepared", "abc").is_absolute()
    assert "no home folder" in caplog.text


def test_compiled_code_goes_to_a_folder_that_can_be_written(unwritable, tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    keep_compiled_code()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parents[1] == tmp_path / "temporary"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "good"))
    keep_compiled_code()
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "good" / "numba")


def test_what_others_have_compiled_beside_the_sources_is_taken(tmp_path, monkeypatch):
    made = tmp_path / "package" / "inner" / "__pycache__"
    made.mkdir(parents=True)
    for name in ("a.f-1.py311.nbi", "a.f-1.py311.1.nbc", "a.cpython-311.pyc"):
        (made / name).write_text(name)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "package")
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    source = made.parent / "a.py"
    folder = tmp_path / "cache" / "numba" / Locator.get_suitable_cache_subpath(str(source))
    folder.mkdir(parents=True)
    (folder / "a.f-1.py311.nbi").write_text("own")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    keep_compiled_code()  # as the user says
    assert not (tmp_path / "elsewhere").exists()
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    keep_compiled_code()
    kept = {path.name: path.read_text() for path in folder.iterdir()}
    assert kept == {"a.f-1.py311.nbi": "own", "a.f-1.py311.1.nbc": "a.f-1.py311.1.nbc"}


@pytest.fixture(autouse=True)
def warnings_are_heard(caplog):
    caplog.set_level(logging.WARNING)
