import pandas as pd
import pytest
from benchmarks.accuracy import __main__ as module
from benchmarks.accuracy.rows import written
from benchmarks.accuracy.sets import DEVELOPMENT, JUDGING, TABLES, MoleculeTable
from benchmarks.accuracy.table import Score, geometric_mean, lines, ratios

from tiny import SMILES

FOUND = {
    "A": {"cellformer": [Score(1.0, 10), Score(3.0, 20)], "forest": [Score(4.0, 1)] * 2},
    "B": {"cellformer": [Score(1.0, 5)], "forest": [Score(0.5, 7)]},
}


def test_the_groups_share_no_table():
    assert not DEVELOPMENT.keys() & JUDGING.keys()
    assert len({each.file for each in TABLES.values()}) == len(TABLES) == 20


def test_ratios_are_those_of_mean_errors():
    assert ratios(FOUND, "forest") == [0.5, 2.0]
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert list(lines(FOUND))[2:] == [
        "| A | 2.000 ± 1.414, 15 s | 4.000 ± 0.000, 1 s |",
        "| B | 1.000, 5 s | 0.500, 7 s |",
        "| geometric mean of ratios | 1.000 | 1.000 |",
        "| worst ratio | 1.000 | 2.000 |",
    ]


def test_all_learn_the_same_rows(tmp_path, monkeypatch):
    molecules = [*SMILES, "C1CC", SMILES[3]]
    (tmp_path / "extra").mkdir()
    frame = pd.DataFrame({"smiles": molecules, "t": range(len(molecules))})
    frame.to_csv(tmp_path / "extra" / "some.csv", index=False)
    monkeypatch.setenv("CELLFORMER_DATA", str(tmp_path))
    path = written(MoleculeTable("some.csv", "t"), 0, tmp_path / "none", tmp_path / "rows")
    rows = pd.read_csv(path)
    assert "C1CC" not in rows["smiles"].tolist()
    assert rows.groupby("smiles")["split"].nunique().max() == 1
    assert set(rows["split"]) == {"train", "val", "test"}
    frame["split"] = ["test"] * 5 + ["train"] * (len(molecules) - 5)
    frame.to_csv(tmp_path / "own.csv", index=False)
    own = pd.read_csv(written(MoleculeTable("own.csv", "t"), 0, tmp_path, tmp_path / "other"))
    assert own["smiles"][own["split"] == "test"].tolist() == list(SMILES[:5])
    assert written(MoleculeTable("own.csv", "t"), 0, tmp_path, tmp_path / "other").exists()


def test_what_is_done_is_not_done_again(tmp_path):
    asked = []

    def learner(rows, seed, folder):
        asked.append(seed)
        return Score(0.5, 1.0, parameters=3)

    first = module.learned(learner, tmp_path / "rows.csv", 7, tmp_path / "one")
    assert module.learned(learner, tmp_path / "rows.csv", 7, tmp_path / "one") == first
    assert asked == [7]
