import numpy as np
import pandas as pd
import pytest
import torch

import cellformer as cf
from tiny import SMILES, with_training, write_molecules

TEXTS = ["CCO", "c1ccccc1", "C1CC", "CC(=O)O"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("loaded")
    source = write_molecules(path / "molecules.npz", np.arange(24.0))
    config = cf.RunConfig(
        data=cf.DataConfig(source=str(source), encodings="rwpe:4"),
        model=cf.ArchitectureConfig(width=16, layers=1, heads=2),
        training=cf.TrainingConfig(epochs=2, device="cpu"),
    )
    cf.train(config, path / "run")
    cf.train_ensemble(with_training(config, epochs=1), path / "several", members=2)
    return path


@pytest.fixture(scope="module")
def run(folder):
    return cf.load(folder / "run")


def test_a_run_predicts_lists_arrays_series_frames_and_graphs_alike(run):
    graphs = [cf.Graph.from_smiles(text) for text in TEXTS if text != "C1CC"]
    expected = run.predict(graphs)["prediction"].tolist()
    for given in (
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        np.array(TEXTS),
        pd.Series(TEXTS),
        pd.DataFrame({"smiles": TEXTS}),
    ):
        found = run.predict(given)
        assert found["smiles"].tolist() == TEXTS
        assert found["prediction"].dropna().tolist() == pytest.approx(expected, rel=1e-4)
        assert "unclosed ring" in found["error"][2]
    of_array = run.predict(np.array(graphs, dtype=object))["prediction"]
    assert of_array.tolist() == pytest.approx(expected, rel=1e-4)


def test_a_series_keeps_its_index_and_missing_texts_are_rows_without_a_prediction(run):
    found = run.predict(pd.Series(["CCO", None, float("nan")], index=["x", "y", "z"]))
    assert found.index.tolist() == ["x", "y", "z"]
    assert found["prediction"].isna().tolist() == [False, True, True]
    assert "empty" in found.loc["y", "error"]


def test_a_run_scores_like_the_function_and_like_its_summary(run, folder):
    assert run.evaluate() == cf.evaluate(folder / "run")
    assert run.evaluate()["scores"] == run.summary.reported["test"]
    last = cf.load(folder / "run", weights="last")
    assert last.evaluate(part="val")["scores"] == run.summary.scores["last"]["val"]


def test_a_run_explains_a_molecule_as_the_function_does_with_its_complex(run):
    found = run.explain("CC(=O)O")
    cells = run.preparation.one("CC(=O)O")
    by_function = cf.explain(run, cells)
    for ours, theirs in zip(found.ranks, by_function.ranks, strict=True):
        np.testing.assert_allclose(ours, theirs)
    assert found.prediction == pytest.approx(run.predict(["CC(=O)O"])["prediction"][0], rel=1e-4)


def test_a_run_tells_its_model_task_and_configuration(run, folder):
    assert isinstance(run.model, torch.nn.Module)
    assert run.models == (run.model,)
    assert run.task.targets == ("y",)
    assert run.config.training.epochs == 2
    assert run.summary == cf.Summary.read(folder / "run")


def test_a_run_goes_where_its_path_does(run, folder):
    pd.testing.assert_frame_equal(cf.predict(run, SMILES), cf.predict(folder / "run", SMILES))


def test_several_runs_answer_together_and_have_no_single_model(folder):
    several = cf.load(folder / "several")
    assert "uncertainty" in several.predict(["CCO"])
    assert len(several.models) == 2
    assert isinstance(several.summary, cf.EnsembleSummary)
    for ask in (lambda: several.model, lambda: several.explain("CCO")):
        with pytest.raises(ValueError, match=r"holds 2 models.*seed-0"):
            ask()


def test_a_run_is_one_line_and_in_a_notebook_a_table_of_its_scores(run, folder):
    score = run.summary.score("test")
    assert repr(run) == f"Run({str(run.path)!r}, regression of y, test mae {score:.4f})"
    assert f"<td>{score:.4f}</td>" in run._repr_html_()
    assert "regression of y by 2 models, test mae" in repr(cf.load(folder / "several"))


def test_a_folder_without_a_run_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        cf.load(tmp_path)
