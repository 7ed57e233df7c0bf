import sys

import numpy as np
import pytest

from campaign import __main__ as program
from campaign.commands import Commands
from campaign.engine import BrokenError, Done, Find, generator, play
from campaign.named import CAMPAIGNS

SECONDS, MOST = 1.0, 5  # scripts/campaign takes longer


@pytest.fixture(scope="module")
def commands():
    with Commands() as server:
        yield server


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_few_cases_of_each_campaign_have_no_find(name, commands, tmp_path):
    make = CAMPAIGNS[name]
    done = list(play(name, lambda own: make(own, commands), tmp_path, 0, SECONDS, most=MOST))
    assert done
    assert [each.find.what for each in done if each.find] == []


class Told:
    """A campaign that fails at every second case."""

    def __init__(self, folder):
        self.folder = folder

    def case(self, rng, folder):
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
    killed = commands(tmp_path, "train", "nci", kill_after=0.0)
    assert killed.killed
    with pytest.raises(BrokenError, match="ended with -9"):
        killed.said()


@pytest.mark.parametrize("wrong", [False, True])
def test_the_command_ends_with_1_and_says_how_to_see_a_find_again(
    wrong, tmp_path, monkeypatch, capsys
):
    def turn(name, folder, seed, seconds, first):
        find = Find(name, seed, first + 1, "it broke", "kept") if wrong else None
        return [Done(first, 0.1, ("a message of row 1", "a message of row 2")),
                Done(first + 1, 0.1, (), find)]  # fmt: skip

    monkeypatch.setattr(program, "_done_in_turn", turn)
    words = ["campaign", "--minutes", "0", "--seed", "7", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    assert program.main() == int(wrong)
    told = capsys.readouterr().out
    assert all(f"{name} 2 cases" in told for name in CAMPAIGNS)
    assert ("scripts/campaign --only kills --seed 7 --case 1" in told) == wrong
    assert (tmp_path / "kills-7-messages.txt").read_text() == "a message of row 1\n"
