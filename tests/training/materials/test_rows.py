import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cellformer.training.config import DataConfig
from cellformer.training.materials.materials import gather
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.materials.rows import find_leaks, open_rows, split_rows

SMILES = ["C", "CC", "CCC", "CCO", "OCC", "CO", "CN", "c1ccccc1", "CCCC", "Cc1ccccc1", "CCN", "CS"]


def write(path, smiles=SMILES, extra=(), **columns):
    names = ["smiles", "y", *columns]
    rows = [[text, str(n / 2), *(c[n] for c in columns.values())] for n, text in enumerate(smiles)]
    path.write_text("\n".join(",".join(row) for row in [names, *rows, *extra]) + "\n")
    return path


@pytest.fixture
def config(tmp_path):
    source = str(write(tmp_path / "set.csv"))
    return DataConfig(source=source, target=("y",), encodings="zeros:2", lifting="skeleton")


def parts_of(config):
    rows = open_rows(config, preparation_of(config, config.source))
    split = split_rows(config, rows)
    return {part: chosen.tolist() for part, chosen in split.items()}


def test_rows_of_one_molecule_stay_together_unless_told_apart(config):
    apart = [parts_of(replace(config, split_seed=s, duplicates="apart")) for s in range(12)]
    together = [parts_of(replace(config, split_seed=seed)) for seed in range(12)]
    assert any(len({3, 4} & set(rows)) == 1 for split in apart for rows in split.values())
    assert all(len({3, 4} & set(rows)) != 1 for split in together for rows in split.values())
    assert len({str(split) for split in together}) > 6


def test_files_make_the_split_and_their_rows_are_named(config, tmp_path, caplog):
    val = write(tmp_path / "val.csv", ["CCCN", "bad"])
    test = write(tmp_path / "test.csv", ["OCC", "CCS", "C"])
    config = replace(config, val_file=str(val), test_file=str(test))
    rows = open_rows(config, preparation_of(config, config.source))
    split = {part: chosen.tolist() for part, chosen in split_rows(config, rows).items()}
    assert split == {"train": list(range(12)), "val": [12, 13], "test": [14, 15, 16]}
    with caplog.at_level(logging.WARNING):
        materials = gather(config)
    assert materials.failures[0][0] == 13
    assert materials.failures[0][1].startswith(f"row 1 of {val}: 'bad'")
    assert f"row 2 of {test} is row 0 of {config.source}" in caplog.text
    assert [leak.rows for leak in materials.leaks] == [
        {"train": (0,), "test": (16,)},
        {"train": (3, 4), "test": (14,)},
    ]
    assert {part: len(chosen) for part, chosen in materials.split.items()} == {
        "train": 12, "val": 1, "test": 3}  # fmt: skip


def test_a_split_without_validation_rows_takes_some_from_training(config, tmp_path, caplog):
    test = write(tmp_path / "test.csv", ["CCCCC"])
    config = replace(config, test_file=str(test), fractions=(0.75, 0.25, 0.0))
    with caplog.at_level(logging.INFO):
        split = parts_of(config)
    assert split["test"] == [12]
    assert sorted(split["train"] + split["val"]) == list(range(12))
    assert 3 <= len(split["val"]) <= 4
    assert "of its 12 training rows" in caplog.text


def test_a_split_column_can_be_named(config, tmp_path):
    words = ["test", "val", *["train"] * 10]
    source = str(write(tmp_path / "named.csv", fold=words))
    split = parts_of(replace(config, source=source, split_column="fold"))
    assert (split["test"], split["val"]) == ([0], [1])
    with pytest.raises(ValueError, match="no column 'folds'; did you mean 'fold'"):
        parts_of(replace(config, source=source, split_column="folds"))


@pytest.mark.parametrize("split", ["auto", "scaffold"])
def test_folds_cover_all_rows(config, split):
    folds = [parts_of(replace(config, folds=4, fold=fold, split=split)) for fold in range(4)]
    assert sorted(row for its in folds for row in its["test"]) == list(range(12))
    assert all(len({3, 4} & set(its["test"])) != 1 for its in folds)
    if split == "scaffold":
        assert any(set(its["test"]) == {7, 9} for its in folds)


@pytest.mark.parametrize(
    "values",
    [
        {"split": "random", "split_column": "fold"},
        {"split_column": "fold", "test_file": "x.csv"},
        {"folds": 5, "test_file": "x.csv"},
    ],
)
def test_ways_to_split_that_contradict_each_other_are_refused(config, values):
    with pytest.raises(ValueError, match="contradict each other"):
        replace(config, **values)


def test_rows_without_any_value_belong_to_no_part_and_counts_are_told(config, tmp_path, caplog):
    source = tmp_path / "half.csv"
    lines = [f"{text},{n if n % 2 else ''},{'' if n % 3 else n}" for n, text in enumerate(SMILES)]
    source.write_text("smiles,a,b\n" + "\n".join(lines) + "\n")
    config = replace(config, source=str(source), target=("a", "b"), kind="regression")
    with caplog.at_level(logging.INFO):
        materials = gather(config)
    chosen = np.concatenate(list(materials.split.values()))
    assert sorted(chosen.tolist()) == [n for n in range(12) if n % 2 or n % 3 == 0]
    assert "a has a value in 6 of 12 rows: train" in caplog.text
    assert "b has a value in 4 of 12 rows: train" in caplog.text
    assert "more targets" not in caplog.text


def test_of_many_targets_those_with_the_fewest_values_are_told_of(config, tmp_path, caplog):
    source, names = tmp_path / "many.csv", [f"t{n}" for n in range(23)]
    table = pd.DataFrame({"smiles": SMILES} | {name: np.arange(12.0) for name in names})
    table.loc[3, "t7"] = np.nan
    table.to_csv(source, index=False)
    config = replace(config, source=str(source), target=tuple(names), kind="regression")
    with caplog.at_level(logging.INFO):
        gather(config)
    told = [name for name in names if f"{name} has a value in" in caplog.text]
    assert told == names[:20]
    assert "t7 has a value in 11 of 12 rows" in caplog.text
    assert "3 more targets have at least as many values" in caplog.text


def test_graphs_that_are_no_molecules_have_no_leaks(molecules_npz):
    config = DataConfig(source=str(molecules_npz))
    rows = open_rows(config, preparation_of(config, config.source))
    assert find_leaks(rows, split_rows(config, rows)) == ()
