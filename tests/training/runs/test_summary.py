import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cellformer.basics.sealed import without_checksum
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import EnsembleSummary, LearnedData, Summary
from grids import summary_of

RESULTS = Path(__file__).parents[3] / "results"


def several(first):
    scores = first.reported
    return EnsembleSummary(
        metric=first.metric,
        members={"seed-0": scores, "seed-1": scores},
        mean=scores,
        deviation=scores,
        pooled={},
        data=first.data,
        seconds=8.0,
        session=first.session,
    )


def of_version_1(summary):
    """The same as earlier versions wrote it, as far as it goes."""
    told = json.loads(json.dumps(summary))
    del told["version"]
    told["data"]["fingerprint"] = told["data"].pop("digest")
    session = told["sessions"][-1] if "sessions" in told else told.pop("session")
    return told | {name: session[name] for name in ("source", "versions", "machine")}


def written(path, summary):
    summary.write(path)
    return without_checksum(json.loads((path / "summary.json").read_text()))


@pytest.mark.parametrize("test", [0.75, math.nan])
def test_what_was_written_is_read(tmp_path, test):
    summary = summary_of("gcb-hard", test)
    told = written(tmp_path, summary)
    assert told["version"] == 2
    assert Summary.read(tmp_path) == summary
    assert Summary.read(str(tmp_path)) == summary
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]


def test_several_runs_are_read_as_such_and_as_nothing_else(tmp_path):
    one = summary_of("gcb-hard", 0.75)
    together = several(one)
    written(tmp_path / "several", together)
    written(tmp_path / "one", one)
    assert EnsembleSummary.read(tmp_path / "several") == together
    with pytest.raises(ValueError, match="summary of several runs, and this takes that of one"):
        Summary.read(tmp_path / "several")
    with pytest.raises(ValueError, match="summary of one run, and this takes that of several"):
        EnsembleSummary.read(tmp_path / "one")


def test_scores_are_asked_for_by_part_and_weights():
    summary = summary_of("gcb-hard", 0.75, 0.8)
    assert (summary.score(), summary.score("val"), summary.score("test", "last")) == (
        0.75, 0.8, 0.75,
    )  # fmt: skip
    assert summary.standard_error() == 0.03
    assert math.isnan(summary.standard_error("val"))
    never = replace(summary, best_epoch=None, scores={"last": summary.scores["last"]})
    assert math.isnan(never.score())
    assert never.reported == summary.scores["last"]


@pytest.mark.parametrize("file", sorted(RESULTS.rglob("summary.json")), ids=lambda f: f.parent.name)
def test_every_kept_summary_is_read(file, tmp_path):
    """Those in results are of three earlier forms."""
    summary, told = Summary.read(file.parent), json.loads(file.read_text())
    assert summary.scores == told["scores"]
    assert summary.data.digest == told["data"].get("fingerprint", told["data"].get("digest"))
    assert len(summary.sessions) == len(told.get("sessions", [None]))
    summary.write(tmp_path)
    assert Summary.read(tmp_path) == summary


def test_what_earlier_versions_wrote_is_read_and_what_they_left_out_is_unknown(tmp_path):
    summary = summary_of("gcb-hard", 0.75)
    told = of_version_1(written(tmp_path, summary))
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(told))
    assert Summary.read(tmp_path) == summary
    for name in ("sessions", "source", "standard_errors", "classes", "molecules_in_several_parts"):
        del told[name]
    del told["scores"]["best"], told["machine"]["gpus"], told["machine"]["processes"]
    file.write_text(json.dumps(told | {"best_epoch": 0}))
    oldest = Summary.read(tmp_path)
    assert oldest.best_epoch is None
    assert oldest.molecules_in_several_parts is None
    assert (oldest.session.began, oldest.session.source) == (None, None)
    assert oldest.session.machine == summary.session.machine
    together = several(summary)
    told = of_version_1(written(tmp_path, together))
    del told["pooled"]
    file.write_text(json.dumps(told))
    read = EnsembleSummary.read(tmp_path)
    assert replace(read, session=together.session) == together
    assert read.session.machine == together.session.machine


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 3}, "version 3, this program reads versions up to 2"),
        ({"metric": "f1"}, "baseline.val has no f1"),
        ({"epochs": 0}, "best_epoch 1 is none of 0 epochs"),
        ({"best_epoch": 7}, "best_epoch 7 is none of 2 epochs"),
        ({"best_epoch": None}, r"scores are of \['best', 'last'\], best_epoch None"),
        ({"scores": {"best": 1}}, r"scores\.best must be a mapping, got 1"),
        ({"scores": {"last": {"tset": {"accuracy": 1.0}}}, "best_epoch": None},
         r"last: unknown part 'tset'.*'test'"),
        ({"seconds": -1.0}, "seconds cannot be negative"),
        ({"complexes": {"train": -8}}, r"complexes\.train cannot be negative"),
        ({"standard_errors": {"best": {"test": -1.0}}}, r"standard_errors\.best\.test cannot"),
        ({"parameters": "many"}, "parameters must be a whole number, got 'many'"),
        ({"sessions": []}, "sessions are missing"),
        ({"data": {"name": "x"}}, r"the field data\.digest is missing"),
        ({"seeed": 1}, "unknown field 'seeed'; did you mean 'seed'"),
    ],
)  # fmt: skip
def test_a_file_that_was_edited_to_nonsense_names_file_and_field(tmp_path, changes, message):
    told = written(tmp_path, summary_of("gcb-hard", 0.75))
    (tmp_path / "summary.json").write_text(json.dumps(told | changes))
    with pytest.raises(
        ValueError, match=f"^{re.escape(str(tmp_path / 'summary.json'))}.*{message}"
    ):
        Summary.read(tmp_path)


def test_a_file_that_is_cut_short_is_named(tmp_path):
    (tmp_path / "summary.json").write_text('{"version": 2,')
    with pytest.raises(
        ValueError, match=r"summary\.json cannot be read as JSON .*; delete it: .*--resume"
    ):
        Summary.read(tmp_path)
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(ValueError, match=r"summary\.json: a summary is a mapping"):
        Summary.read(tmp_path)


def test_a_run_without_a_result_is_told_as_ever(tmp_path):
    RunFolder(tmp_path).config.write_text("{}")
    with pytest.raises(FileNotFoundError, match="is not finished"):
        Summary.read(tmp_path)


def test_a_result_that_contradicts_itself_is_not_made():
    with pytest.raises(ValueError, match="best_epoch"):
        replace(summary_of("gcb-hard", 0.75), best_epoch=3)
    assert summary_of("gcb-hard", 0.75).data == LearnedData("gcb-hard", "f")
