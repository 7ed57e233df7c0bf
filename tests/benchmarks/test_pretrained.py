import pandas as pd
from benchmarks.accuracy.pretrained import fewer, summary
from benchmarks.accuracy.table import Score


def test_fewer_rows_are_among_more_and_tests_stay(tmp_path):
    parts = ["train"] * 90 + ["val"] * 10 + ["test"] * 20
    frame = pd.DataFrame({"smiles": [f"C{n}" for n in range(120)], "y": range(120), "split": parts})
    frame.to_csv(tmp_path / "rows-0.csv", index=False)
    whole = tmp_path / "rows-0.csv"
    kept = {count: pd.read_csv(fewer(whole, count, 0)) for count in (20, 50)}
    for count, rows in kept.items():
        counts = rows["split"].value_counts()
        assert counts.to_dict() == {"train": count * 0.9, "val": count * 0.1, "test": 20}
    assert set(kept[20]["smiles"]) <= set(kept[50]["smiles"])
    assert fewer(whole, 0, 0) == whole
    assert fewer(whole, 100, 0) is None


def test_ratios_are_to_what_starts_from_nothing():
    def row(*errors):
        names = ("nothing", "pretrained")
        return {who: [Score(error, 1.0)] for who, error in zip(names, errors, strict=True)}

    told = summary(
        {"A, 50 rows": row(2.0, 1.0), "B, 50 rows": row(1.0, 2.0), "A, all rows": row(1.0, 0.5)}
    )
    assert told[2] == "| A, 50 rows | 2.000 | 1.000 |"
    assert told[-2:] == ["| 50 rows | 1.000 | 1.000 |", "| all rows | 1.000 | 0.500 |"]
