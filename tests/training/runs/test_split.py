from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cellformer.complexes.examples import cycle
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import Task
from cellformer.training.config import DataConfig
from cellformer.training.materials.materials import gather
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.split import write_split
from cellformer.training.train import train
from tiny import with_training


def told(materials, path):
    write_split(RunFolder(path), materials)
    return pd.read_csv(path / "split.csv")


def test_a_run_keeps_the_part_of_every_row(tiny, tmp_path):
    train(with_training(tiny, epochs=1), tmp_path / "run")
    split = pd.read_csv(tmp_path / "run" / "split.csv")
    assert split["row"].tolist() == list(range(24))
    assert split["part"].tolist() == ["train"] * 16 + ["val"] * 4 + ["test"] * 4
    scored = pd.read_csv(tmp_path / "run" / "predictions.csv")
    both = scored.merge(split, on="row", suffixes=("", "_kept"))
    assert (both["part"] == both["part_kept"]).all()


def test_rows_without_a_molecule_or_a_value_have_no_part(tmp_path):
    rows = {"smiles": ["C", "nonsense", "CC", "CCC", "CO"], "y": [1.0, 2.0, None, 3.0, 4.0]}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    config = DataConfig(
        source=str(tmp_path / "t.csv"), target=("y",), encodings="zeros:1", lifting="skeleton",
        molecule_descriptors="none", fractions=(0.4, 0.3, 0.3),
    )  # fmt: skip
    split = told(gather(config), tmp_path)
    assert split["row"].tolist() == [0, 3, 4]
    assert sorted(split["part"]) == ["test", "train", "val"]


@pytest.mark.parametrize("alone", [True, False])
def test_cells_that_are_split_have_a_line_each(alone, tmp_path):
    sizes = (8,) if alone else (4, 5, 3)
    targets = [np.arange(size) + 10.0 for size in sizes]
    targets[0][1] = np.nan
    parts = None if alone else {"train": [0], "val": [1], "test": [2]}
    task = Task("regression", ("y",), "mae", rank=0)
    config = DataConfig(encodings="zeros:1", molecule_descriptors="none")
    config = replace(config, fractions=(0.5, 0.25, 0.25)) if alone else config
    found = complex_set([cycle(size) for size in sizes], targets, task, parts)
    split = told(gather(config, source=found), tmp_path)
    if alone:
        assert split["cell"].tolist() == [0, 2, 3, 4, 5, 6, 7]
        assert set(split["part"]) == {"train", "val", "test"}
    else:
        assert split.to_numpy().tolist() == [[0, "train"], [1, "val"], [2, "test"]]
