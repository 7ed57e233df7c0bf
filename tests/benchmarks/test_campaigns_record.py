import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
from benchmarks.campaigns import (
    HOUR,
    NAMES,
    Sitting,
    added,
    checked_out,
    missing,
    next_case,
    read,
    source_of,
    table,
    totals,
    write,
)

from benchmarks import campaigns as module
from campaign.named import CAMPAIGNS


def hour(name, **changes):
    given = {"campaign": name, "seed": 1, "commit": "c", "source": "s", "first": 0, "cases": 100,
             "seconds": HOUR, "counts": {"rows": 1500}} | changes  # fmt: skip
    return Sitting(**given)


def test_the_record_knows_all_campaigns():
    assert tuple(CAMPAIGNS) == NAMES


def test_sittings_go_on_and_no_case_is_done_twice(tmp_path):
    sittings = []
    for cases, commit in ((3, "c"), (4, "c"), (5, "d")):
        first = next_case(sittings, "files", 1)
        new = hour("files", first=first, cases=cases, commit=commit, finds={str(first): "x"})
        sittings = added(sittings, new)
    write(sittings, tmp_path / "new" / "campaigns.json")
    assert read(tmp_path / "new" / "campaigns.json") == sittings
    whole, other = sittings
    assert (whole.first, whole.cases, whole.seconds, whole.counts["rows"]) == (0, 7, 2 * HOUR, 3000)
    assert (whole.open, other.first, other.cases) == (["0", "3"], 7, 5)
    assert next_case(sittings, "files", 2) == next_case(sittings, "kills", 1) == 0
    assert read(tmp_path / "nothing") == []
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ValueError, match="json is not a record"):
        read(tmp_path / "other.json")


def test_only_an_hour_of_each_with_this_source_and_without_a_find_is_enough():
    whole = [hour(name) for name in NAMES]
    assert missing(totals(whole, "s")) == []
    assert missing(totals([*whole, hour("kills", seed=2, finds={"4": "x"})], "s")) == [
        "kills: 120 of 60 minutes, 1 finds"
    ]
    struck = hour("kills", seed=2, finds={"4": "x"}, struck={"4": "d"})
    assert missing(totals([*whole, struck], "s")) == []
    assert len(missing(totals(whole, "t"))) == len(missing(totals(whole, ""))) == len(NAMES)
    short = [
        hour("files", seconds=HOUR - 60),
        *(each for each in whole if each.campaign != "files"),
    ]
    assert missing(totals(short, "s")) == ["files: 59 of 60 minutes, 0 finds"]
    assert "| `tables` | 100 | 1,500 rows of tables | 60 | 0 |" in table(totals(whole, "s"))


def git(folder, *words):
    names = ("-c", "user.name=x", "-c", "user.email=x@x")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def test_commits_of_the_same_program_have_the_same_source(tmp_path):
    (tmp_path / "src").mkdir()
    git(tmp_path, "init")
    sources = []
    for name in ("src/a", "notes", "src/b"):
        (tmp_path / name).write_text(name)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", name)
        commit, source = checked_out(tmp_path)
        assert source == source_of(commit, tmp_path) != ""
        sources.append(source)
    assert sources[0] == sources[1] != sources[2]
    (tmp_path / "src/a").write_text("changed")
    assert checked_out(tmp_path) == (f"{commit} and changes", "")
    assert source_of("nothing", tmp_path) == ""


def test_the_command_ends_with_1_while_something_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "KEPT", tmp_path / "campaigns.json")
    monkeypatch.setattr(module, "source_of", lambda commit: "s")
    monkeypatch.setattr("sys.argv", ["campaigns", "v1"])
    assert module.main() == 1
    assert "workers: 0 of 60 minutes" in capsys.readouterr().out
    write([hour(name) for name in NAMES], tmp_path / "campaigns.json")
    assert module.main() == 0


def test_a_release_is_refused_without_the_hours(tmp_path, monkeypatch):
    loader = SourceFileLoader("release", str(module.ROOT / "scripts/release"))
    release = module_from_spec(spec_from_loader("release", loader))
    loader.exec_module(release)
    told = []
    monkeypatch.setattr(release, "run", lambda *words, **_: told.append(words))
    monkeypatch.setattr(module, "KEPT", tmp_path / "campaigns.json")
    monkeypatch.setattr(module, "source_of", {"HEAD": "s", "old": "t", "no": ""}.get)
    with pytest.raises(SystemExit, match="there is no commit no"):
        release.check_campaigns("no")
    with pytest.raises(SystemExit, match=r"lacks an hour .*\n  complexes: 0 of 60 minutes"):
        release.check_campaigns("HEAD")
    write([hour(name, source="t") for name in NAMES], tmp_path / "campaigns.json")
    with pytest.raises(SystemExit, match="lacks an hour"):
        release.check_campaigns("HEAD")
    assert not told
    release.check_campaigns("old")
    assert told == [("git", "diff", "--stat", "old", "HEAD", "--", "src")]
    write([hour(name) for name in NAMES], tmp_path / "campaigns.json")
    release.check_campaigns("HEAD")
    assert len(told) == 1
