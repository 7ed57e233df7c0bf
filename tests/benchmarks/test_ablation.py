import itertools
import json

import pytest
from benchmarks.ablation import CHOICES, TASKS, Score, line, scored

from benchmarks import ablation
from cellformer.cli.main import build_parser

PAIRS = [*itertools.product(["zinc"], CHOICES), *itertools.product(TASKS, ["none"])]


def parsed(words):
    words = ["train", *words]
    return build_parser(words).parse_args(words)


@pytest.mark.parametrize(("task", "choice"), PAIRS)
def test_each_choice_is_a_command_that_changes_one_thing(task, choice):
    plain, chosen = (
        parsed(f"{TASKS[task]} {words}".replace("{}", "rows.csv").split())
        for words in ("", CHOICES[choice])
    )
    assert (plain == chosen) == (choice == "none")


def test_a_score_is_made_once_of_what_the_run_says(tmp_path, monkeypatch):
    ran = []

    class Told:
        metric, parameters = "mae", 7

        def score(self, part):
            return {"val": 0.25, "test": 0.5}[part]

    monkeypatch.setattr(ablation.subprocess, "run", lambda words, **_: ran.append(words))
    monkeypatch.setattr(ablation.Summary, "read", lambda run: Told())
    for _ in range(2):
        score = scored("zinc", "gate", 1, tmp_path)
    assert ran[0][1:5] == ["-m", "cellformer", "train", "zinc"]
    assert "--model.gate" in ran[0]
    assert len(ran) == 1
    assert Score(**json.loads((tmp_path / "zinc-gate-1.json").read_text())) == score
    assert line("zinc", "gate", [score, score]).startswith(
        "zinc, gate: mae val 0.2500, test 0.5000"
    )
