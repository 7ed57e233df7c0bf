from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import cellformer as cf
from cellformer.cli.main import main
from tiny import SMILES, tiny_run, with_training, write_molecules

TEXTS = ["CCO", "C1CC", "c1ccccc1", "C1CC1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("embedded")
    source = write_molecules(path / "molecules.npz", np.arange(24.0))
    cf.train(tiny_run(source, epochs=1), path / "run")
    return path


@pytest.fixture(scope="module")
def run(folder):
    return cf.load(folder / "run")


def hidden(run, text):
    """By the module alone, which has no final norm."""
    model = run.model.eval()
    with torch.no_grad():
        cells = model.embed(cf.collate([run.preparation.one(text)]))
    return [rows.numpy() for rows in cells]


@pytest.mark.parametrize("pool", ["mean", "sum"])
def test_a_row_is_the_pooled_hidden_vectors_of_its_vertices(run, pool):
    found = run.embed(TEXTS, pool=pool)
    assert np.asarray(found).shape == (4, 16)
    assert np.isnan(found.vectors[1]).all()
    assert "unclosed ring" in found.reasons[1]
    for row in (0, 2, 3):
        expected = getattr(hidden(run, TEXTS[row])[0], pool)(axis=0)
        np.testing.assert_allclose(found.vectors[row], expected, rtol=1e-4, atol=1e-5)


def test_mean_and_sum_stand_side_by_side(run):
    both = run.embed(TEXTS, pool="both", layers="all").vectors
    for part, pool in zip(np.split(both, 2, axis=1), ("mean", "sum"), strict=True):
        np.testing.assert_array_equal(part, run.embed(TEXTS, pool=pool, layers="all").vectors)
    cells = run.embed(TEXTS, 1, pool="both").vectors
    np.testing.assert_array_equal(cells, run.embed(TEXTS, 1).vectors)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_cells_of_a_rank_have_a_vector_each(run, rank):
    frame = run.embed(TEXTS, rank).frame()
    for row in (0, 2, 3):
        expected = hidden(run, TEXTS[row])[rank]
        own = frame[(frame["row"] == row) & (frame["error"] == "")].dropna()
        assert own["cell"].tolist() == list(range(len(expected)))
        vectors = own.filter(like="vector_").to_numpy()
        np.testing.assert_allclose(vectors, expected, rtol=1e-4, atol=1e-5)
    (lost,) = frame.index[frame["row"] == 1]
    assert "unclosed ring" in frame.loc[lost, "error"]
    assert frame.loc[lost].filter(like="vector_").isna().all()


@pytest.mark.parametrize("rank", [None, 1])
def test_vectors_of_all_layers_stand_side_by_side(run, rank):
    model, layers = run.model.eval(), len(run.model.layers)
    for row in (0, 2, 3):
        batch = cf.collate([run.preparation.one(TEXTS[row])])
        with torch.no_grad():
            first, *_, last = model.embed_layers(batch)
            expected = model.embedded(batch)
        found = np.asarray(run.embed(TEXTS[row : row + 1], rank, layers="all"))
        assert found.shape[1] == 16 * (layers + 1)
        place = rank or 0
        for own, others in ((first, expected), (last, model.embed(batch))):
            torch.testing.assert_close(own[place], others[place])
        pooled = [rows[place].numpy() if rank else rows[place].mean(dim=0)[None].numpy()
                  for rows in (first, last)]  # fmt: skip
        np.testing.assert_allclose(found[:, :16], pooled[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[:, -16:], pooled[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chosen", [{}, {"readout_cells": "all"}])
def test_what_is_read_out_is_pooled_after_the_final_norm(folder, chosen):
    config = with_training(tiny_run(folder / "molecules.npz"), max_steps=1)
    model = replace(config.model, final_norm=True, pooling="mean", readout_layers=0, **chosen)
    path = folder / f"normed-{len(chosen)}"
    cf.train(replace(config, model=model), path)
    run = cf.load(path)
    read = run.model.readout.network[-1]  # linear, so that it commutes with the mean
    scaled = np.asarray(run.embed(TEXTS)) @ read.weight.detach().numpy().T
    scaling = run.ensemble.runs[0].recipe.scaling
    told = (scaled[:, 0] + read.bias.item()) * scaling.deviation[0] + scaling.mean[0]
    np.testing.assert_allclose(told, run.predict(TEXTS)["prediction"], rtol=1e-4)


def test_batches_do_not_change_a_vector(run, folder):
    whole, small = run.embed(SMILES), cf.load(folder / "run", batch_size=3).embed(SMILES)
    np.testing.assert_allclose(small.vectors, whole.vectors, rtol=1e-4, atol=1e-5)


def test_what_has_no_such_vectors_says_so(folder, run):
    with pytest.raises(ValueError, match="knows cells of rank 0 to 2, so there are no vectors of"):
        run.embed(TEXTS, rank=3)
    assert len(run.embed(["C1CC"]).vectors) == 1
    source = folder / "molecules.npz"
    cf.train_ensemble(with_training(tiny_run(source), epochs=1), folder / "several", members=2)
    with pytest.raises(ValueError, match="2 models, and each has a different space of vectors"):
        cf.embed(folder / "several", TEXTS)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_the_command_writes_a_row_for_each_of_the_table(folder, run, ending, capsys):
    table = folder / "rows.csv"
    pd.DataFrame({"name": list("abcd"), "smiles": TEXTS}).to_csv(table, index=False)
    out = folder / f"vectors.{ending}"
    assert main(["embed", str(folder / "run"), str(table), "-o", str(out)]) == 0
    assert "1 of 4 rows have no vector" in capsys.readouterr().err
    expected = run.embed(TEXTS).vectors
    if ending == "npy":
        found = np.load(out)
    else:
        frame = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
        assert frame["name"].tolist() == list("abcd")
        found = frame.filter(like="vector_").to_numpy(np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert main(["embed", str(folder / "run"), str(table), "-o", str(out)]) == 1
    assert "exists" in capsys.readouterr().err


def test_the_command_refuses_what_it_could_not_write(folder, capsys):
    words = ["embed", str(folder / "run"), "CCO"]
    for more, told in (
        (["--rank", "1", "-o", "x.npy"], "cannot say whose cells they are"),
        (["-o", "x.txt"], "does not end in .csv, .tsv, .parquet or .npy"),
    ):
        assert main([*words, *more]) == 1
        assert told in capsys.readouterr().err
    assert main([*words, "C1CC1", "--rank", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("row,cell,vector_0,")
    assert [line.split(",")[:2] for line in lines[1:]] == [["0", ""], ["1", "0"]]
