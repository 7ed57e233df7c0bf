"""Descriptors from a table to a prediction, by the way that every user takes."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from cellformer.basics.sealed import without_checksum
from cellformer.complexes.batches.batch import collate
from cellformer.complexes.descriptors import with_values
from cellformer.data.dataset import SmilesList
from cellformer.data.loading.loader import ComplexDataset
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import Table
from cellformer.model.config import ArchitectureConfig
from cellformer.model.described import DescribedTransformer
from cellformer.training.answers.descriptor_share import balance
from cellformer.training.answers.predict import predict
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.estimating.estimate import estimate
from cellformer.training.loop.module import CellularModule
from cellformer.training.materials.materials import gather
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.sklearn_estimators import CellularRegressor
from cellformer.training.train import resume, train
from tiny import SMILES

SMALL = ArchitectureConfig(
    width=16, layers=1, heads=2, descriptor_head="network", descriptor_width=32
)


@pytest.fixture(scope="module")
def frame():
    rows = pd.DataFrame({"smiles": SMILES, "T": np.linspace(10, 90, len(SMILES))})
    rows["y"] = 0.1 * rows["T"] + 1
    rows["split"] = ["train"] * 16 + ["val"] * 4 + ["test"] * 4
    rows["T"] = rows["T"].astype(object)
    rows.loc[3, "T"] = ""
    rows.loc[17, "T"] = "hot"
    return rows


@pytest.fixture(scope="module")
def config(frame, tmp_path_factory):
    file = tmp_path_factory.mktemp("table") / "table.csv"
    frame.to_csv(file, index=False)
    return RunConfig(
        data=DataConfig(
            source=str(file),
            target=("y",),
            descriptors=("T",),
            encodings="rwpe:2",
            molecule_descriptors="morgan",
        ),
        model=SMALL,
        training=TrainingConfig(epochs=40, batch_size=8, device="cpu"),
    )


@pytest.fixture(scope="module")
def run(config, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    train(replace(config, optimizer=replace(config.optimizer, peak_rate=1e-2)), path)
    return path


def test_a_column_that_decides_the_target_is_learned(run, frame):
    summary = json.loads((run / "summary.json").read_text())
    error = summary["scores"]["best"]["test"]["mae"]
    assert error < 0.5 * summary["baseline"]["test"]["mae"]
    failures = (run / "failures.csv").read_text()
    assert "column 'T' is 'hot', not a finite number" in failures


def test_new_rows_are_described_as_the_learned_ones(run, frame):
    told = predict(run, frame.drop(columns="y"))
    assert told["error"][17] == "column 'T' is 'hot', not a finite number"
    assert told["prediction"].isna().tolist() == [row == 17 for row in range(len(frame))]
    warmer = frame.assign(T=[*frame["T"][:8], *[80.0] * 16])
    assert abs(predict(run, warmer)["prediction"] - told["prediction"])[9] > 0.5


def test_a_table_without_the_column_is_refused_by_name(run, frame):
    with pytest.raises(ValueError, match="has no column 'T'"):
        predict(run, frame.drop(columns="T"))


def test_the_share_of_the_counts_is_the_best_one_on_validation_rows(run):
    opened = TrainedRun.open(run)
    materials = gather(opened.config.data)
    model, validating = opened.model, materials.split["val"]
    stored = float(model.counts.share)
    targets = materials.complexes.targets_of(validating)

    def error(share):
        model.counts.share.fill_(share)
        return np.abs(opened.outputs(materials.complexes, validating) - targets).mean()

    errors = [error(step / 20) for step in range(21)]
    assert stored == pytest.approx(np.argmin(errors) / 20)
    model.counts.share.fill_(0.9)
    module = CellularModule(model, opened.recipe.task, opened.recipe.scaling)
    assert balance(module, model, materials.complexes, validating) == pytest.approx(stored)
    assert float(model.counts.share) == pytest.approx(stored)


def test_resuming_gives_the_run_that_was_not_interrupted(config, tmp_path):
    short = replace(config, training=replace(config.training, epochs=4))
    train(short, tmp_path / "whole")
    train(short, tmp_path / "parts", stop_after=2)
    (tmp_path / "parts" / "summary.json").unlink()
    resume(tmp_path / "parts")
    for which in ("best", "last"):
        name = f"{which}.safetensors"
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_a_molecule_alone_is_described_like_a_row(config, frame):
    data = replace(config.data, descriptors=())
    preparation = preparation_of(data, data.source)
    of_row = preparation.one(data.source, 7)
    of_text = preparation.one(SMILES[7])
    prepared = gather(data).complexes[7]
    for cells in (of_text, prepared):
        np.testing.assert_array_equal(cells.descriptors.counts, of_row.descriptors.counts)
    assert of_row.descriptors.columns == (2048, 0)
    with pytest.raises(ValueError, match="a SMILES alone lacks T, columns"):
        preparation_of(config.data, data.source).one(SMILES[7])
    whole = preparation_of(config.data, data.source).one(data.source, 7)
    assert whole.descriptors.columns == (2048, 1)
    assert collate([of_row]).descriptors.shape == (1, 2048)


def test_fingerprints_are_for_tables_unless_chosen(config):
    assert preparation_of(DataConfig(), "nci").molecule_descriptors == "none"
    assert preparation_of(DataConfig(), "zinc").molecule_descriptors == "none"
    chosen = preparation_of(DataConfig(molecule_descriptors="morgan"), "nci")
    assert chosen.molecule_descriptors == "morgan"
    table = replace(config.data, molecule_descriptors="auto")
    assert preparation_of(table, table.source).molecule_descriptors == "fingerprints"


def test_a_run_of_before_has_no_fingerprints(config, run, tmp_path):
    values = without_checksum(json.loads((run / "config.json").read_text()))
    del values["data"]["molecule_descriptors"], values["data"]["reader"]
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert RunConfig.from_json(tmp_path / "config.json").data.molecule_descriptors == "none"


def test_data_described_otherwise_than_the_configuration_says_are_refused(config, frame):
    given = molecules(Table.of_frame(frame), ["y"])
    with pytest.raises(ValueError, match=r"set data.molecule_descriptors to 'none'"):
        gather(config.data, given)
    plain = replace(config.data, molecule_descriptors="none")
    with pytest.raises(ValueError, match=r"has 0 columns of descriptors, data.descriptors names 1"):
        gather(plain, given)


def test_rows_of_several_files_keep_their_descriptors_and_faults(config, frame, tmp_path):
    for part in ("train", "val"):
        frame[frame["split"] == part].drop(columns="split").to_csv(tmp_path / f"{part}.csv")
    data = replace(
        config.data, source=str(tmp_path / "train.csv"), val_file=str(tmp_path / "val.csv")
    )
    found = gather(data)
    assert isinstance(found.graphs, SmilesList)
    assert len(found.split["val"]) == 3
    assert found.failures == (
        (17, f"row 1 of {tmp_path / 'val.csv'}: column 'T' is 'hot', not a finite number"),
    )
    whole = gather(config.data).complexes.descriptors
    kept = np.flatnonzero(frame["split"].to_numpy()[frame["T"] != "hot"] != "test")
    np.testing.assert_array_equal(found.complexes.descriptors.values, whole.values[kept])


def test_an_estimate_knows_the_table(config):
    found = estimate(config)
    assert found.complexes == len(SMILES) - 1  # one row cannot be used
    bare = replace(config.data, molecule_descriptors="none")
    less = estimate(replace(config, data=bare)).store_bytes
    assert found.store_bytes - less == found.complexes * 2048
    assert found.step.parameters > 2049 * config.model.descriptor_width


def test_an_estimator_reads_fingerprints_unless_told_otherwise():
    options = {"width": 16, "layers": 1, "heads": 2, "epochs": 1, "device": "cpu"}
    sizes = np.arange(24.0)
    for chosen, read in (("fingerprints", True), ("none", False)):
        fitted = CellularRegressor(molecule_descriptors=chosen, **options).fit(SMILES, sizes)
        model = fitted.ensemble_.runs[0].model
        assert isinstance(model, DescribedTransformer) == read
        assert np.isfinite(fitted.predict(SMILES[:2])).all()


def test_a_process_that_assembles_batches_opens_the_same_descriptors(config):
    stored = gather(replace(config.data, descriptors=())).complexes
    values = np.arange(24, dtype=np.float32)[:, None]
    complexes = replace(stored, descriptors=with_values(stored.descriptors, values))
    sent = pickle.loads(pickle.dumps(ComplexDataset(complexes, np.arange(6))))
    assert isinstance(sent.complexes.descriptors.counts, np.memmap)
    expected = collate([complexes[row] for row in (4, 1)]).descriptors
    torch.testing.assert_close(sent[[4, 1]].descriptors, expected, rtol=0, atol=0, equal_nan=True)
