import sys
from collections import Counter

import numpy as np
import pytest

from benchmarks import campaigns as record
from campaign import __main__ as program
from campaign.commands import Commands, Kill
from campaign.engine import BrokenError, Done, Find, generator, play
from campaign.named import CAMPAIGNS

SECONDS, MOST = 1.0, 3  # scripts/campaign takes longer
QUICK = [name for name in CAMPAIGNS if name != "workers"]  # Ray takes half a minute to begin


@pytest.fixture(scope="module")
def commands():
    with Commands() as server:
        yield server


@pytest.mark.parametrize("name", QUICK)
def test_a_few_cases_of_each_campaign_have_no_find(name, commands, tmp_path):
    make = CAMPAIGNS[name]
    done = list(play(name, lambda own: make(own, commands), tmp_path, 0, SECONDS, most=MOST))
    assert done
    assert [each.find.what for each in done if each.find] == []


class Told:
    """A campaign that fails at every second case."""

    def __init__(self, folder):
        self.folder = folder
        self.counts = Counter()

    def case(self, rng, folder):
        self.counts["draws"] += 2
        assert not list(folder.iterdir())
        (folder / "made").write_text(str(rng.integers(1 << 30)))
        if rng.integers(2):
            raise BrokenError("as it should")
        return ["fine"]


def test_a_case_is_of_its_seed_and_number_alone_and_a_find_is_kept(tmp_path):
    whole = list(play("told", Told, tmp_path, 3, 60.0, most=20))
    finds = [each.find for each in whole if each.find]
    assert 0 < len(finds) < 20
    assert {each.said for each in whole if not each.find} == {("fine",)}
    assert all(each.counts == {"draws": 2} for each in whole)
    for find in finds:
        (again,) = play("told", Told, tmp_path / "again", 3, 0.0, find.number, most=1)
        assert again.find.what == find.what == "as it should"
        drawn = str(generator(3, find.number).integers(1 << 30))
        for folder in (tmp_path, tmp_path / "again"):
            kept = folder / "finds" / f"told-3-{find.number}"
            assert (kept / "made").read_text() == drawn
            assert (kept / "find.json").exists()
    assert len({np.random.default_rng([3, n]).integers(1 << 30) for n in range(20)}) == 20


def test_whatever_a_case_raises_is_a_find(tmp_path):
    class Crash(Told):
        def case(self, rng, folder):
            raise SystemExit("gone")

    (done,) = play("told", Crash, tmp_path, 0, -1.0)
    assert "SystemExit: gone" in done.find.what


def test_commands_end_as_in_a_shell_and_can_be_killed(commands, tmp_path):
    right = commands(tmp_path, "--version")
    assert (right.code, right.said()) == (0, "")
    assert right.out.startswith("cellformer ")
    wrong = commands(tmp_path, "predict", "nowhere", "C")
    assert wrong.said("nowhere").startswith("cellformer: ")
    with pytest.raises(BrokenError, match="names none of"):
        wrong.said("elsewhere")
    killed = commands(tmp_path, "train", "nci", kill=Kill(0.0))
    assert killed.killed
    with pytest.raises(BrokenError, match="ended with -9"):
        killed.said()


@pytest.mark.parametrize("whom", ["group", "alone", "child"])
def test_a_kill_meets_whom_it_is_meant_for_and_who_is_left_is_told(whom, commands, tmp_path):
    if whom == "child" and sys.platform != "linux":
        pytest.skip("children are known on Linux only")
    (tmp_path / "own.py").write_text(
        "import subprocess, sys\n"
        "sys.exit(subprocess.call([sys.executable, '-c', 'import time; time.sleep(60)']))\n"
    )
    ended = commands(tmp_path, "lift", "C", "--import", "own.py", kill=Kill(1.0, whom))
    assert ended.hit
    assert ("time.sleep" in ended.hit) == (whom == "child")
    assert ended.killed == (whom != "child")
    left = commands.left(lingers=0.2)
    assert ["time.sleep" in words for words in left] == [True] * (whom == "alone")


@pytest.mark.parametrize("wrong", [False, True])
def test_the_command_ends_with_1_and_says_how_to_see_a_find_again(
    wrong, tmp_path, monkeypatch, capsys
):
    def turn(name, folder, seed, seconds, first):
        find = Find(name, seed, first + 1, "it\nbroke", "kept") if wrong and not first else None
        return [Done(first, 0.1, (f"row {first + 1} of 'a b'", "row 2 of 'c'", "")),
                Done(first + 1, 0.1, (), find, {"kills": 3})]  # fmt: skip

    monkeypatch.setattr(program, "_done_in_turn", turn)
    monkeypatch.setattr(record, "checked_out", lambda: ("abc", "def"))
    out = tmp_path / "kept" / "campaigns.json"
    words = ["campaign", "--minutes", "0", "--seed", "7", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(out)])
    assert program.main() == int(wrong)
    told = capsys.readouterr().out
    assert all(f"{name} 2 cases" in told for name in CAMPAIGNS)
    assert ("scripts/campaign --only kills --seed 7 --case 1" in told) == wrong
    assert program.main() == 0  # another sitting goes on
    kept = [each for each in record.read(out) if each.campaign == "kills"]
    assert [(each.first, each.cases, each.counts) for each in kept] == [(0, 4, {"kills": 6})]
    assert kept[0].finds == ({"1": "broke"} if wrong else {})
    lines = (tmp_path / "messages.txt").read_text().splitlines()
    assert sorted(lines) == sorted(f"{name}\trow 1 of 'a b'" for name in CAMPAIGNS)


def test_a_find_of_a_judge_that_was_wrong_is_struck(tmp_path, monkeypatch):
    out = tmp_path / "campaigns.json"
    wrong = record.Sitting("kills", 7, "abc", "def", 0, 9, 4000.0, finds={"3": "x", "5": "y"})
    record.write([wrong], out)
    words = ["campaign", "--only", "kills", "--seed", "7", "--case", "3", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*words, "--folder", str(tmp_path)])
    finds = [Find("kills", 7, 3, "still there"), None]
    monkeypatch.setattr(program, "_played", lambda *_: iter([Done(3, 0.1, (), finds.pop(0))]))
    assert program.main() == 1
    assert record.read(out) == [wrong]
    assert program.main() == 0
    (kept,) = record.read(out)
    assert kept.open == ["5"]
    assert kept.finds == wrong.finds
