import shutil

import pytest
from benchmarks.against import ROOT, checked_out, compared, taking_turns

BENCHMARK = """
import time
from functools import partial
from pathlib import Path
from benchmarks.timing import parser, report, rows_of

def spend(seconds):
    with open("order", "a") as order:
        order.write(Path(__file__).parts[-3] + " ")
    time.sleep(seconds)

chosen = parser("", runs=1).parse_args()
peers = {"never run": partial(spend, 9)}
report([row for case, seconds in CASES.items()
        for row in rows_of(case, partial(spend, seconds), peers, chosen.runs)], chosen.out)
"""


@pytest.fixture
def trees(tmp_path, monkeypatch):
    """Two versions, of which the later one has one case twice as fast."""
    monkeypatch.chdir(tmp_path)
    made = [tmp_path / "earlier", tmp_path / "later"]
    for tree, slow in zip(made, (0.06, 0.03), strict=True):
        (tree / "benchmarks").mkdir(parents=True)
        shutil.copy(ROOT / "benchmarks/timing.py", tree / "benchmarks")
        text = f"CASES = {{'changed': {slow}, 'as it was': 0.01}}{BENCHMARK}"
        (tree / "benchmarks/attention.py").write_text(text, encoding="utf-8")
    return made


def test_two_versions_take_turns_and_each_is_measured_alone(trees, tmp_path):
    changed, same = taking_turns("attention", trees, tmp_path)
    assert (changed.case, same.case) == ("attention: changed", "attention: as it was")
    assert changed.ratio > 1.3 * same.ratio
    assert changed.before >= 0.06
    assert changed.runs == same.runs == 3
    order = (tmp_path / "order").read_text().split()
    assert order[:8] == ["later", "earlier", "earlier", "later"] * 2
    assert len(order) == 16  # the peer, and nothing else, is left out


def test_versions_with_other_cases_are_not_compared(trees, tmp_path):
    (trees[0] / "benchmarks/attention.py").write_text(f"CASES = {{'changed': 0}}{BENCHMARK}")
    with pytest.raises(SystemExit, match="different cases"):
        taking_turns("attention", trees, tmp_path)


def test_a_version_that_ends_early_is_told(trees, tmp_path):
    (trees[0] / "benchmarks/attention.py").write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit, match=r"attention.* ended with 3"):
        taking_turns("attention", trees, tmp_path)


def test_ratios_are_of_neighbors():
    row = compared("case", [2.0, 20.0, 2.0], [1.0, 10.0, 4.0])
    assert (row.ratio, row.best_ratio, row.before, row.now) == (2.0, 2.0, 2.0, 4.0)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="these files are of no commit")
def test_a_commit_is_checked_out_without_a_trace():
    with checked_out("HEAD") as tree:
        assert (tree / "src/cellformer/__init__.py").exists()
        assert (tree / "benchmarks/timing.py").exists()
    assert not tree.exists()
