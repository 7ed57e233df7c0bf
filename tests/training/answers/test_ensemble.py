import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, softmax

from cellformer.data.dataset import Task
from cellformer.training.answers.ensemble import pooled, read_members, uncertainty, write_members
from cellformer.training.runs.run_folder import RunFolder

VALUES = Task("regression", ("a", "b"), "mae")
YES_NO = Task("binary", ("a", "b"), "rocauc", (0, 1))
CLASSES = Task("multiclass", ("a",), "accuracy", ("x", "y"))
ANSWERS = arrays(np.float32, (3, 4, 2), elements=st.floats(-20, 20, width=32))


@given(ANSWERS)
@settings(deadline=None, max_examples=30)
def test_members_are_pooled_as_values_or_as_probabilities(answers):
    wide = answers.astype(float)
    np.testing.assert_allclose(pooled(VALUES, answers), wide.mean(0), rtol=1e-5, atol=1e-5)
    mean = expit(wide).mean(0)
    np.testing.assert_allclose(expit(pooled(YES_NO, answers)), mean, rtol=1e-9)
    mean = softmax(wide, axis=2).mean(0)
    np.testing.assert_allclose(softmax(pooled(CLASSES, answers), axis=1), mean, rtol=1e-9)


@given(ANSWERS)
@settings(deadline=None, max_examples=30)
def test_the_spread_is_the_sample_deviation_of_values_or_probabilities(answers):
    wide = answers.astype(float)
    np.testing.assert_allclose(uncertainty(VALUES, wide), wide.std(0, ddof=1))
    np.testing.assert_allclose(uncertainty(YES_NO, answers), expit(wide).std(0, ddof=1), atol=1e-12)
    expected = softmax(wide, axis=2).std(0, ddof=1)
    np.testing.assert_allclose(uncertainty(CLASSES, answers), expected, atol=1e-12)


@pytest.mark.parametrize("task", [VALUES, YES_NO, CLASSES])
def test_one_member_is_left_as_it_is(task):
    answers = np.float32([[[1.5, -800], [np.nan, 3]]])
    np.testing.assert_array_equal(pooled(task, answers), answers[0])


def test_extreme_logits_and_rows_without_an_answer_are_kept():
    answers = np.float32([[[900, -900], [np.nan, np.nan]], [[900, -900], [np.nan, np.nan]]])
    for task in (YES_NO, CLASSES):
        assert np.isfinite(pooled(task, answers)[0]).all()
        assert np.isnan(pooled(task, answers)[1]).all()


def test_members_are_listed_beside_the_file_only(tmp_path):
    folder = RunFolder(tmp_path)
    write_members(folder, "folds", ("fold-0", "fold-1"))
    assert read_members(folder) == ("folds", ("fold-0", "fold-1"))
    for text in ('{"format": 1, "kind": "seeds", "members": ["../other"]}', "nonsense",
                 '{"format": 2, "kind": "seeds", "members": ["a"]}',
                 '{"format": 1, "kind": "seeds", "members": []}'):  # fmt: skip
        folder.members.write_text(text)
        with pytest.raises(ValueError, match=r"ensemble\.json"):
            read_members(folder)
