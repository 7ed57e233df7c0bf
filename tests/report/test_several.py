import re

import numpy as np
import pandas as pd
import pytest

from cellformer.data.dataset import Task
from cellformer.model.config import ArchitectureConfig
from cellformer.report.several import read_parts
from cellformer.report.write import write_report
from cellformer.training.answers.predict import columns_of
from cellformer.training.answers.predictions import write_predictions
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.several import cross_validate, train_ensemble
from tiny import SMILES


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    source = tmp_path_factory.mktemp("several") / "set.csv"
    y = [float(len(text)) for text in SMILES]
    pd.DataFrame({"smiles": SMILES, "<b>y": y}).to_csv(source, index=False)
    return RunConfig(
        data=DataConfig(source=str(source), target=("<b>y",), encodings="rwpe:2",
                        lifting="skeleton", molecule_descriptors="none"),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=1, batch_size=8, device="cpu"),
    )  # fmt: skip


def test_folds_have_a_report_of_all_with_links_to_that_of_each(config, tmp_path):
    summary = cross_validate(config, tmp_path / "run", 3)
    page = write_report(tmp_path / "run").read_text(encoding="utf-8")
    for name, scores in summary.members.items():
        assert f'href="{name}/report.html"' in page
        assert (tmp_path / "run" / name / "report.html").exists()
        assert f"{scores['test']['mae']:.4f}" in page
    assert f"{summary.mean['test']['mae']:.4f}" in page
    assert "3 models of one cross-validation" in page
    assert "spread of the models" not in page  # each row has the answer of one
    assert "Predicted against true: &lt;b&gt;y" in page
    assert "<b>y" not in page
    assert page.count("<tr><td") == 24  # every row was tested once
    assert not re.search(r"<script|src=|https?://(?!www.w3.org)", page)


def test_an_ensemble_tells_its_pooled_scores_and_their_calibration(config, tmp_path):
    summary = train_ensemble(config, tmp_path / "run", 2)
    page = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert "all together" in page
    assert f"{summary.pooled['test']['mae']:.4f}" in page
    assert "Uncertainty by the spread of the models: &lt;b&gt;y" in page
    members = [pd.read_csv(tmp_path / "run" / name / "predictions.csv") for name in summary.members]
    tested = [each[each["part"] == "test"] for each in members]
    apart = np.std([each["prediction"] for each in tested], axis=0, ddof=1)
    errors = np.mean([each["prediction"] for each in tested], axis=0) - tested[0]["truth"]
    ratio = np.sqrt(np.square(errors / apart).mean())
    assert f"Errors are {ratio:.3g} times the spread of the models." in page
    alone = (tmp_path / "run" / next(iter(summary.members)) / "report.html").read_text("utf-8")
    assert "Uncertainty by the spread of 10 answers with dropout" in alone


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        (Task("regression", ("a", "b"), "mae"), [[1.5, -2.0], [0.25, 8.0]]),
        (Task("binary", ("a", "b"), "rocauc", (0, 1)), [[1.5, -2.0], [0.25, 40.0]]),
        (Task("binary", ("a",), "rocauc", ("no", "yes")), [[1.5], [0.25]]),
        (Task("multiclass", ("c",), "accuracy", ("x", "y", "z")), [[1, 2, 3], [0, 0, 5]]),
    ],
)
def test_predictions_that_were_written_are_read_as_they_were(task, outputs, tmp_path):
    given = np.array(outputs, np.float32)
    names = [f"truth_{t}" for t in task.targets] if len(task.targets) > 1 else ["truth"]
    labels = task.labels or (3.0, 4.0)
    truth = {name: [labels[1], None] for name in names}
    frame = pd.DataFrame(
        {"row": [4, 7], "part": ["val", "test"], **truth, **columns_of(task, given[None])}
    )
    write_predictions(tmp_path / "p.csv", [frame])
    parts = read_parts(tmp_path / "p.csv", task)
    assert list(parts) == ["val", "test"]
    assert parts["test"].rows.tolist() == [7]
    value = 1.0 if task.labels else 4.0
    assert (parts["val"].targets == value).all()
    assert np.isnan(parts["test"].targets).all()
    found = np.concatenate([parts["val"].outputs, parts["test"].outputs])
    if task.kind == "multiclass":  # a number that all logits share does not matter
        given = given - np.log(np.exp(given).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, given.clip(-21, 21), atol=0.3 if task.labels else 0)
