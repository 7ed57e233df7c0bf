import math
import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import paired


def numbers(*predictions, truth=(1.0, 2.0, 4.0)):
    return pd.DataFrame({"row": [5, 6, 9], "part": "test", "truth": truth,
                         "prediction": predictions})  # fmt: skip


def test_the_difference_of_errors_and_its_standard_error():
    (found,) = paired.differences(numbers(1.5, 2.0, 3.0), numbers(1.0, 2.5, 4.0))
    apart = np.array([0.5, -0.5, 1.0])
    assert (found.first, found.second) == pytest.approx((0.5, 0.5 / 3))
    assert found.difference == pytest.approx(apart.mean())
    assert found.standard_error == pytest.approx(apart.std(ddof=1) / math.sqrt(3))
    (back,) = paired.differences(numbers(1.0, 2.5, 4.0), numbers(1.5, 2.0, 3.0).iloc[::-1])
    assert back.difference == pytest.approx(-found.difference)  # rows are found by their numbers


def test_the_same_offset_on_every_row_is_certain():
    (found,) = paired.differences(numbers(2.0, 3.0, 5.0), numbers(1.5, 2.5, 4.5))
    assert (found.difference, found.standard_error) == pytest.approx((0.5, 0.0))


def test_classes_are_right_or_wrong_and_blank_ones_do_not_count():
    table = pd.DataFrame({
        "row": [0, 1, 2], "part": "test", "truth_a": ["x", "y", None], "truth_b": [1, 0, 1],
        "prediction_a": ["x", "x", "x"], "probability_a": 0.5, "prediction_b": [1, 0, 1],
        "probability_b": 0.5,
    })  # fmt: skip
    other = table.assign(prediction_a=["y", "x", "y"])
    a, b = paired.differences(table, other)
    assert (a.target, a.rows, a.first, a.second) == ("a", 2, 0.5, 1.0)
    assert (b.target, b.rows, b.difference) == ("b", 3, 0.0)
    one = pd.DataFrame({"row": [0, 1], "part": "test", "truth": [0, 2], "prediction": [0, 1],
                        "probability_0": 0.5})  # fmt: skip
    (found,) = paired.differences(one, one)
    assert (found.error, found.first) == ("share of wrong classes", 0.5)


def test_other_rows_or_other_truths_are_refused():
    with pytest.raises(ValueError, match="only 2 rows are in both, of 3 and 2"):
        list(paired.differences(numbers(1, 2, 3), numbers(1, 2, 3).iloc[:2]))
    with pytest.raises(ValueError, match="the values of truth are others"):
        list(paired.differences(numbers(1, 2, 3), numbers(1, 2, 3, truth=(1.0, 2.0, 5.0))))


def test_the_command_reads_run_folders(tmp_path, monkeypatch, capsys):
    for name, table in (("a", numbers(1.5, 2.0, 3.0)), ("b", numbers(1.0, 2.5, 4.0))):
        (tmp_path / name).mkdir()
        table.to_csv(tmp_path / name / "predictions.csv", index=False)
    monkeypatch.setattr(sys, "argv", ["paired", str(tmp_path / "a"), str(tmp_path / "b")])
    paired.main()
    assert capsys.readouterr().out == (
        "absolute error over 3 test rows 0.5000 and 0.1667: +0.3333 ± 0.4410\n"
    )
    monkeypatch.setattr(sys, "argv", ["paired", str(tmp_path / "a"), str(tmp_path / "c")])
    with pytest.raises(SystemExit, match="train the run again"):
        paired.main()
