"""What the pages say is what the files of results/ say."""

import re
from dataclasses import replace

import pytest
from benchmarks.claims import __main__ as program
from benchmarks.claims import runs
from benchmarks.claims.claim import Claim
from benchmarks.claims.every import claims
from benchmarks.claims.runs import OnGcb
from benchmarks.kept import ROOT, Kept

CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)
VERSIONS = {"3.11", "2026.09.1"}
FIGURE = re.compile(r"\d+\.\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def all_claims():
    return list(claims())


def plain(text):
    """Without code and addresses."""
    return CODE.sub(" ", " ".join(text.split()))


def test_every_claim_stands_on_its_page(all_claims):
    assert [claim.words for claim in all_claims if not claim.stands] == []


@pytest.mark.parametrize(
    ("page", "end"),
    [("README.md", None), ("results/README.md", "## Where they come from"),
     ("docs/choosing.md", "## What does not need"), ("docs/small-tables.md", "## How it was made")],
)  # fmt: skip
def test_no_figure_of_a_page_is_left_out(page, end, all_claims):
    text = (ROOT / page).read_text("utf-8")
    text = text[: text.index(end)] if end else text
    told = FIGURE.findall(plain(text))
    claimed = [n for c in all_claims if c.page == page for n in FIGURE.findall(plain(c.words))]
    assert sorted(told) == sorted([*claimed, *(n for n in told if n in VERSIONS)])


def test_what_was_judged_on_gcb_was_chosen_before(all_claims):
    (line,) = (c.words for c in all_claims if "regenerated GCB-hard" in c.words)
    tried, judged = OnGcb.of("development"), OnGcb.of("judged")
    assert set(tried) == set(runs.GCB)
    ours, gin = runs.JUDGED_ON_GCB
    assert set(judged) == {ours, gin, runs.JUDGED_BEFORE}
    right = {
        name: [173 * one["val"] + 1800 * one["development"] for one in each.scores]
        for name, each in (tried | judged).items()
        if not name.startswith("gin")
    }
    alone = {name: found[0] for name, found in right.items() if name != ours}
    assert max(alone, key=alone.get) == runs.JUDGED_BEFORE  # and is tried with other seeds
    assert sum(right[ours]) > sum(right[runs.JUDGED_BEFORE])
    for name, each in judged.items():
        assert len(each.scores) == 5
        assert {**each.scores[0], **tried[name].scores[0]} == each.scores[0]
        trained = Kept.of(f"gcb-hard/{name}").runs
        assert [run.score("test") for run in trained] == [one["test"] for one in each.scores]
    assert line.count("**") == 2


def test_the_bold_figure_of_zinc_is_what_validation_chose():
    kept = [Kept.of(name) for name in runs.ZINC]
    assert min(kept, key=lambda each: each.mean("val")).name == "zinc/pairwise-mixed-rwbspe"


def test_the_time_of_zinc_stands_with_the_ring_sizes(all_claims):
    assert "0.081" not in (ROOT / "README.md").read_text("utf-8")
    for page in ("results/README.md", "docs/choosing.md"):
        paragraphs = (ROOT / page).read_text("utf-8").split("\n")
        rows = [number for number, line in enumerate(paragraphs) if "0.081" in line]
        assert rows, page
        for row in rows:
            assert "ring" in " ".join(paragraphs[max(0, row - 6) : row + 1]), page


def test_a_page_that_says_something_else_is_found(all_claims, monkeypatch, capsys):
    good = all_claims[0]
    assert not replace(good, words=good.words.replace("2.531", "2.530")).stands
    assert Claim("README.md", "Transformers whose tokens\n   are the", "").stands
    monkeypatch.setattr(program, "claims", lambda: iter(all_claims))
    assert program.main() == 0
    told = capsys.readouterr().out
    assert f"README.md: {good.words}\n    from nci" in told
    monkeypatch.setattr(program, "claims", lambda: iter([replace(good, words="of cheese")]))
    assert program.main() == 1
    assert "NOT ON THE PAGE: of cheese" in capsys.readouterr().out
