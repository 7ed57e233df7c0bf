import logging

import numpy as np
import pytest

from campaign.damage import Damage, campaign, damages
from cellformer.complexes.many.ragged import RaggedRank
from cellformer.data.dataset import GraphSet, SmilesList
from cellformer.data.preparing.prepare import prepare
from cellformer.data.splitting.molecule_keys import molecule_keys
from cellformer.encodings.rwpe import RWPe
from cellformer.lifting.rings import Rings
from cellformer.training.answers.conformal import Residuals
from cellformer.training.answers.ensemble import Ensemble
from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.states import state_to_go_on_from
from cellformer.training.runs.environment import read_sessions
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import Summary, curve_of
from cellformer.training.train import train
from tiny import SMILES, with_training

SECONDS, MOST = 6.0, 30  # by hand it takes longer


def molecules():
    listed = SmilesList(SMILES)
    return GraphSet("m", listed, np.zeros((len(SMILES), 0), np.float32), None, None,
                    listed.digest())  # fmt: skip


def prepared(cache):
    """All that a preparation, and a comparison of molecules, take from a cache or put there."""
    made = prepare(molecules(), Rings(), [RWPe(2)], cache_dir=cache, progress=False)
    arrays = [np.array(getattr(rank, name)) for rank in made.complexes.ranks
              for name in RaggedRank.ARRAYS]  # fmt: skip
    keys = molecule_keys(SMILES, cache_dir=cache)
    return [*arrays, made.rows, np.array(made.failures), keys]


def equal(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_whatever_is_damaged_in_a_cache_is_made_again_or_has_no_effect(tmp_path, caplog):
    right = prepared(tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("*/*"))) == 3  # a store with its lock, and keys
    copy, found = tmp_path / "copy", 0
    for damage in campaign(
        tmp_path / "cache", copy, 0, SECONDS, ("flip", "flip", "cut", "zeros"), MOST
    ):
        caplog.clear()
        assert equal(prepared(copy), right), damage
        told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
        assert all(damage.file in line and "made again" in line for line in told), (damage, told)
        found += len(told)
        caplog.clear()
        assert equal(prepared(copy), right), damage
        assert not caplog.records, damage  # what was made again is whole
    assert found


@pytest.fixture
def run(tiny, tmp_path):
    train(with_training(tiny, epochs=2, keep_state=True), tmp_path / "run")
    for log in (tmp_path / "run" / "tensorboard").glob("*"):
        log.unlink()  # is never read
    return tmp_path / "run"


def told_by(path, rows):
    """All that commands read of a run: weights, predictions, result, curve, intervals."""
    folder = RunFolder(path)
    answers = []
    for which in ("best", "last"):
        ensemble = Ensemble.open(path, which)
        made = ensemble.runs[0].prepare(
            ensemble.runs[0].preparation.open_new(rows, ensemble.task, False, None)
        )
        answers.append(ensemble.answers(made.complexes, np.arange(4)).tolist())
    residuals = Residuals.read(folder.residuals)
    return (
        answers, repr(ensemble.runs[0].config), repr(Summary.read(path)), repr(curve_of(path)),
        repr(residuals.targets), residuals.reach(0.5).tolist(), repr(read_sessions(folder)),
    )  # fmt: skip


def state_of(path):
    """The state that a training would go on from, and its weights."""
    run = Ensemble.open(path).runs[0]
    module = CellularModule(run.model, run.recipe.task, run.recipe.scaling)
    found = state_to_go_on_from(RunFolder(path), module)
    return found.name, {name: each.tolist() for name, each in module.state_dict().items()}


def test_whatever_is_damaged_in_a_run_folder_is_named_or_has_no_effect(run, tiny, tmp_path):
    source = tiny.data.source
    right, newest = told_by(run, source), state_of(run)
    copy, named = tmp_path / "copy", 0
    for damage in campaign(run, copy, 3, SECONDS, ("flip", "flip", "cut", "zeros"), MOST):
        try:
            told, found = told_by(copy, source), state_of(copy)
        except (ValueError, OSError) as error:
            message = str(error)
            assert damage.file in message, damage
            assert "\n" not in message, damage
            named += 1
            continue
        older = found[0] == "resume-before.ckpt" and damage.file == "resume.ckpt"
        assert told == right, damage
        assert older or found == newest, damage
    assert named


def test_damages_are_of_a_seed_and_reach_every_file(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(bytes(1000))
    kinds = ("flip", "cut", "zeros", "swap")
    stream = damages(tmp_path, 1, kinds)
    first = [next(stream) for _ in range(60)]
    again = damages(tmp_path, 1, kinds)
    assert [next(again) for _ in range(60)] == first
    assert {damage.file for damage in first} == {"a", "b", "c"}
    assert {damage.kind for damage in first} == set(kinds)
    assert {damage.other for damage in first} == {"", "a", "b", "c"}


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (Damage("a", "flip", 2, 3), bytes([1, 1, 9, 1])),
        (Damage("a", "cut", 3), bytes([1, 1, 1])),
        (Damage("a", "zeros", 1), bytes([1, 0, 0, 0])),
    ],
)
def test_a_damage_does_what_it_says(tmp_path, damage, left):
    (tmp_path / "a").write_bytes(bytes([1, 1, 1, 1]))
    damage(tmp_path)
    assert (tmp_path / "a").read_bytes() == left


def test_a_swap_gives_each_of_two_files_what_the_other_held(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    Damage("a", "swap", 0, other="b")(tmp_path)
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["b", "a"]
    Damage("a", "swap", 0, other="a")(tmp_path)
    assert (tmp_path / "a").read_text() == "b"


def test_a_campaign_ends_in_time_and_leaves_what_it_copies(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(bytes(9))
    before = files(tmp_path / "a")
    assert len(list(campaign(tmp_path / "a", tmp_path / "b", 0, 60.0, most=5))) == 5
    assert list(campaign(tmp_path / "a", tmp_path / "b", 0, -1.0)) == []
    assert files(tmp_path / "a") == before
