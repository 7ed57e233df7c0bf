import math

import pytest

from cellformer.training.runs.curve import read_curve, seconds_of


def test_rows_are_numbers_and_blanks_are_not(tmp_path):
    (tmp_path / "curve.csv").write_text("epoch,val_mae,seconds\n0,0.5,1.25\n1,,2.0\n")
    rows = read_curve(tmp_path / "curve.csv")
    assert rows[0] == {"epoch": 0, "val_mae": 0.5, "seconds": 1.25}
    assert math.isnan(rows[1]["val_mae"])
    assert seconds_of(rows) == 3.2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"epoch,x\n0,a\n", "line 2: could not convert"),
        (b"epoch,x\n0,1\n1\n", "line 3 has 1 cells for 2 names"),
        (b"epoch,x\n0,1,2\n", "line 2 has 3 cells"),
        (b"epocj,x\n0,1\n", "no column epoch"),
        (b"epoch,x\n0,\xff\n", "it is no table"),
    ],
)
def test_a_damaged_curve_names_file_and_line(tmp_path, content, told):
    (tmp_path / "curve.csv").write_bytes(content)
    with pytest.raises(ValueError, match=rf"curve\.csv is damaged.*{told}"):
        read_curve(tmp_path / "curve.csv")
