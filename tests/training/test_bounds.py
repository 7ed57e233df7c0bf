"""Values of which only a bound is known, from the table to the predictions."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import Chem

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.loading.loader import batches
from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import predict
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.materials.materials import gather
from cellformer.training.train import train
from tiny import SMILES, with_training


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """Molecules with an atom more than six have 20 of something, which is known exactly of none."""
    atoms = np.array([Chem.MolFromSmiles(text).GetNumAtoms() for text in SMILES])
    rows = pd.DataFrame({"smiles": SMILES, "y": np.where(atoms > 6, ">20", "1.5")})
    rows.loc[0, "y"] = "1.25"
    rows["blank"] = rows["y"].where(rows["y"] != ">20", "")
    rows["split"] = np.where(np.arange(24) % 5 == 0, "val", "train")
    rows.loc[1, "split"] = "test"
    file = tmp_path_factory.mktemp("bounds") / "table.csv"
    rows.to_csv(file, index=False)
    return RunConfig(
        data=DataConfig(source=str(file), target=("y",), encodings="rwpe:2", censored="learn",
                        molecule_descriptors="none"),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=12, batch_size=8, device="cpu"),
    )  # fmt: skip


def test_bounds_go_with_complexes_into_batches(config):
    complexes = gather(config.data).complexes
    assert complexes.bounds.shape == (24, 2)
    chosen = np.array([11, 0, 9])
    expected = torch.from_numpy(complexes.bounds[chosen])
    assert expected.isfinite().any()

    def check(batch):
        torch.testing.assert_close(batch.bounds, expected, equal_nan=True)

    check(CellBatch.from_ragged(complexes.take(chosen)))
    check(ResidentComplexes.of(complexes, {}).batch(chosen))
    loader = batches(complexes, chosen, 3, shuffle=False)
    check(next(iter(loader)))
    check(pickle.loads(pickle.dumps(loader.dataset))[[0, 1, 2]])
    twice = RaggedComplexes.concatenate([complexes.take(chosen), complexes.take(chosen)])
    check(CellBatch.from_ragged(twice.take([3, 4, 5])))


@pytest.mark.parametrize("loss", ["l1", "gaussian"])
def test_predictions_keep_to_bounds_of_which_nothing_else_tells(loss, config, tmp_path):
    train(with_training(config, loss=loss), tmp_path / "bounds")
    blank = replace(config, data=replace(config.data, target=("blank",), censored="refuse"))
    train(with_training(blank, loss=loss), tmp_path / "blank")
    large = ["c1ccc2ccccc2c1", "Oc1ccccc1", "CCN(CC)CC"]
    learned, without = (
        predict(tmp_path / name, large)["prediction"] for name in ("bounds", "blank")
    )
    assert without.max() < 5 < learned.max()


def test_what_is_scored_is_known_exactly(config, tmp_path):
    short = with_training(config, epochs=1)
    summary = train(short, tmp_path / "run")
    assert summary.labeled == {"y": 19}
    kept = pd.read_csv(tmp_path / "run/predictions.csv")
    assert kept["truth"].notna().all()
    scored = evaluate(tmp_path / "run", config.data.source)
    assert scored["complexes"] == 24
    told = predict(tmp_path / "run", config.data.source)
    exact = told[told["y"] != ">20"]
    errors = (exact["prediction"] - exact["y"].astype(float)).abs()
    assert scored["scores"]["mae"] == pytest.approx(errors.mean(), rel=1e-5)
