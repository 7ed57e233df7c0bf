import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from cellformer.training.answers.predict import predict
from cellformer.training.sklearn_estimators import CellularClassifier, CellularRegressor
from tiny import SMILES

FAST = {"width": 16, "layers": 1, "heads": 2, "epochs": 2, "batch_size": 8, "device": "cpu",
        "encodings": "rwpe:2", "lifting": "skeleton", "validation_fraction": 0.2}  # fmt: skip
SIZES = np.array([len(text) for text in SMILES], float)
CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
"""Those of scikit-learn's checks that do not give the estimator a matrix of numbers."""


@pytest.fixture(scope="module")
def regressor():
    return CellularRegressor(**FAST).fit(SMILES, SIZES)


@pytest.mark.parametrize("estimator", [CellularRegressor(), CellularClassifier()])
@pytest.mark.parametrize("check", CHECKS)
def test_the_checks_of_scikit_learn_that_apply_are_passed(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


def test_predictions_have_the_shape_of_the_targets(regressor):
    assert regressor.predict(SMILES).shape == SIZES.shape
    both = CellularRegressor(**FAST).fit(SMILES, np.stack([SIZES, -SIZES], axis=1))
    assert both.predict(SMILES[:3]).shape == (3, 2)
    assert regressor.score(SMILES, SIZES) <= 1


def test_the_forms_of_input_are_alike(regressor):
    polars = pytest.importorskip("polars")
    expected = regressor.predict(SMILES)
    frame = pd.DataFrame({"SMILES": SMILES, "x": 1}, index=np.arange(len(SMILES)) * 2)
    for form in (list(SMILES), np.array(SMILES), np.array(SMILES, object)[:, None], frame,
                 frame["SMILES"], frame[["SMILES"]].rename(columns={"SMILES": "a"}),
                 polars.DataFrame({"smiles": SMILES}), polars.Series(SMILES)):  # fmt: skip
        np.testing.assert_array_equal(regressor.predict(form), expected)
    with pytest.raises(ValueError, match="one SMILES string per row"):
        regressor.predict([["C", "C"]])
    with pytest.raises(ValueError, match="does not hold SMILES"):
        regressor.predict([1.0, 2.0])


def test_the_same_seed_gives_the_same_model_and_another_one_another(regressor):
    expected = regressor.predict(SMILES)
    again = clone(regressor)
    with pytest.raises(NotFittedError):
        again.predict(SMILES)
    np.testing.assert_array_equal(again.fit(SMILES, SIZES).predict(SMILES), expected)
    other = clone(regressor).set_params(random_state=np.random.RandomState(7))
    assert not np.array_equal(other.fit(SMILES, SIZES).predict(SMILES), expected)


def test_a_fitted_estimator_survives_pickling(regressor):
    expected = regressor.predict(SMILES)
    again = pickle.loads(pickle.dumps(regressor))
    np.testing.assert_array_equal(again.predict(SMILES), expected)


def test_bad_rows_stop_everything_or_are_left_out():
    smiles, y = [*SMILES, "C1CC", None], np.append(SIZES, [1.0, 2])
    with pytest.raises(ValueError, match=r"row 24: 'C1CC'"):
        CellularRegressor(**FAST).fit(smiles, y)
    tolerant = CellularRegressor(**FAST, on_error="nan").fit(smiles, y)
    assert np.isnan(tolerant.predict(smiles)).nonzero()[0].tolist() == [24, 25]
    tolerant.set_params(on_error="fail")
    with pytest.raises(ValueError, match=r"row 1 of X .*empty"):
        tolerant.predict(["C", ""])


@pytest.mark.parametrize("labels", [("no", "yes"), (3, 7), ("a", "b", "c")])
def test_classes_are_those_of_the_user(labels):
    y = np.array([labels[number % len(labels)] for number in range(len(SMILES))])
    model = CellularClassifier(**FAST, on_error="nan").fit(SMILES, y)
    assert model.classes_.tolist() == list(labels)
    shares = model.predict_proba(SMILES)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    assert model.predict(SMILES).tolist() == [labels[n] for n in shares.argmax(axis=1)]
    assert model.predict(["C", "bad"])[1] is None
    assert 0 <= model.score(SMILES, y) <= 1


def test_one_class_cannot_be_learned():
    with pytest.raises(ValueError, match="one class"):
        CellularClassifier(**FAST).fit(SMILES, ["a"] * len(SMILES))


def test_columns_of_the_frame_describe_molecules():
    frame = pd.DataFrame({"smiles": SMILES, "T": np.linspace(10, 90, len(SMILES)), "note": "x"})
    y = 0.1 * frame["T"]
    slow = {**FAST, "epochs": 60, "learning_rate": 1e-2, "molecule_descriptors": "none"}
    model = CellularRegressor(**slow, descriptors="T", on_error="nan").fit(frame, y)
    assert model.score(frame, y) > 0.9
    blank = frame.assign(T=frame["T"].where(frame.index != 2).astype(object))
    blank.loc[5, "T"] = "hot"
    answers = model.predict(blank)
    assert np.flatnonzero(np.isnan(answers)).tolist() == [5]
    np.testing.assert_allclose(np.delete(answers, [2, 5]), np.delete(model.predict(frame), [2, 5]))
    model.set_params(on_error="fail")
    with pytest.raises(ValueError, match=r"row 5 of X .*'T' is 'hot'"):
        model.predict(blank)
    with pytest.raises(ValueError, match="no column 'T'"):
        model.predict(frame[["smiles", "note"]])
    with pytest.raises(ValueError, match="a data frame with the descriptors T, got list"):
        model.predict(list(SMILES))
    search = GridSearchCV(CellularRegressor(**FAST), {"descriptors": [(), ("T",)]}, cv=2)
    assert search.fit(frame, y).best_params_["descriptors"] in ((), ("T",))


def test_an_ensemble_tells_its_spread_and_its_folder_predicts(regressor, tmp_path):
    # Members whose prediction is all of the kernels, which have no seed, would be of one mind.
    cells = FAST | {"molecule_descriptors": "none"}
    model = CellularRegressor(**cells, ensemble=2, folder=tmp_path / "run").fit(SMILES, SIZES)
    values, deviations = model.predict(SMILES, return_std=True)
    assert (deviations > 0).all()
    frame = predict(tmp_path / "run", pd.DataFrame({"smiles": SMILES}))
    np.testing.assert_allclose(frame["prediction"], values, rtol=1e-6)
    np.testing.assert_allclose(frame["uncertainty"], deviations, rtol=1e-4)
    with pytest.raises(ValueError, match="at least 2"):
        regressor.predict(SMILES, return_std=True)


def test_pipelines_and_searches_work():
    model = make_pipeline(FunctionTransformer(np.char.strip), CellularRegressor(**FAST))
    padded = np.array([f" {text} " for text in SMILES])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(model, {"cellularregressor__epochs": [1, 2]}, cv=2)
        search.fit(padded, SIZES)
    assert search.best_params_["cellularregressor__epochs"] in (1, 2)
    assert np.isfinite(search.best_score_)


def test_values_out_of_range_are_refused_when_fitting():
    for values, words in (({"heads": 3}, "multiple of heads"), ({"ensemble": 0}, "ensemble"),
                          ({"validation_fraction": 1.0}, "validation_fraction")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            CellularRegressor(**{**FAST, **values}).fit(SMILES, SIZES)
    with pytest.raises(ValueError, match="24 rows and y has 3"):
        CellularRegressor(**FAST).fit(SMILES, SIZES[:3])
