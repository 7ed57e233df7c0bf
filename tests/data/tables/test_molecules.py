import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cellformer.data.dataset import Task
from cellformer.data.join import join
from cellformer.data.tables.molecules import molecules, smiles_of
from cellformer.data.tables.table import Table, read_table


def table(tmp_path, text, name="set.csv", encoding="utf-8"):
    (tmp_path / name).write_text(text, encoding=encoding, newline="")
    return read_table(tmp_path / name)


def test_numbers_are_a_regression_and_blanks_are_missing(tmp_path):
    text = "id,SMILES,logS,note\n1,CCO,0.5,a\n2,C,,b\n3,O,-1e2,\n4,N,NaN,d\n"
    graphs = molecules(table(tmp_path, text), ["logS"])
    assert graphs.task == Task("regression", ("logS",), "mae")
    np.testing.assert_array_equal(graphs.targets[:, 0], np.float32([0.5, np.nan, -100, np.nan]))
    assert graphs.smiles == ("CCO", "C", "O", "N")
    assert graphs.graph(0).num_edges == 2
    assert graphs.name == "set"


@pytest.mark.parametrize(
    ("cells", "kind", "labels", "numbers"),
    [
        (["0", "1", "0"], "binary", (0, 1), [0, 1, 0]),
        (["0.0", "1.0", "0"], "binary", (0, 1), [0, 1, 0]),
        (["1", "1", "1"], "binary", (0, 1), [1, 1, 1]),
        (["-1", "1", ""], "binary", (-1, 1), [0, 1, np.nan]),
        (["yes", "no", "yes"], "binary", ("no", "yes"), [1, 0, 1]),
        (["red", "green", "blue"], "multiclass", ("blue", "green", "red"), [2, 1, 0]),
        (["1", "2", "3"], "regression", (), [1, 2, 3]),
        (["0.5", "1.5", "0.5"], "regression", (), [0.5, 1.5, 0.5]),
    ],
)
def test_the_kind_of_a_column_is_read_off_it(tmp_path, cells, kind, labels, numbers):
    lines = "\n".join(f"C,{cell}" for cell in cells)
    graphs = molecules(table(tmp_path, f"smiles,y\n{lines}\n"), ["y"])
    assert (graphs.task.kind, graphs.task.labels) == (kind, labels)
    np.testing.assert_array_equal(graphs.targets[:, 0], np.float32(numbers))


def test_a_kind_can_be_chosen(tmp_path):
    read = table(tmp_path, "smiles,y\nC,1\nC,2\nC,3\n")
    assert molecules(read, ["y"], kind="multiclass").task.labels == (1, 2, 3)


def test_a_word_among_numbers_is_named_with_its_row(tmp_path):
    read = table(tmp_path, "smiles,y\nC,1.5\nC,2.5\nC,oops\n")
    with pytest.raises(ValueError, match=r"set\.csv: column 'y'.*row 2 .*'oops'"):
        molecules(read, ["y"])
    with pytest.raises(ValueError, match=r"row 2 .*'oops', not a number"):
        molecules(read, ["y"], kind="regression")


def test_bad_molecules_keep_their_row_and_say_why(tmp_path):
    graphs = molecules(
        table(tmp_path, "smiles,y\nCCO,1.5\nnope,2.5\n,3.5\nC(C)(C)(C)(C)C,4\n"), ["y"]
    )
    assert len(graphs) == 4
    assert graphs.graph(0).num_vertices == 3
    for row, reason in ((1, "'nope' is not a SMILES"), (2, "empty"), (3, "valence")):
        with pytest.raises(ValueError, match=reason):
            graphs.graph(row)


@pytest.mark.parametrize(
    ("smiles", "atoms", "bonds"),
    [("C", 1, 0), ("[Na+].[Cl-]", 2, 0), ("[H][H]", 2, 1), ("CC.[K+]", 3, 1)],
)
def test_single_atoms_and_salts_are_molecules(tmp_path, smiles, atoms, bonds):
    graph = molecules(table(tmp_path, f"smiles\n{smiles}\n")).graph(0)
    assert (graph.num_vertices, graph.num_edges) == (atoms, bonds)


@pytest.mark.parametrize(
    "name",
    [
        "smiles",
        "SMILES",
        " Smiles",
        "canonical_smiles",
        "Canonical SMILES",
        "mol-smiles",
        "mol",
        "Structure",
    ],
)
def test_the_smiles_column_is_found_by_its_usual_names(tmp_path, name):
    graphs = molecules(table(tmp_path, f"x,{name}\n1,CCO\n"))
    assert graphs.smiles == ("CCO",)
    assert graphs.task_or_none is None


NAMELESS = "Nr;Struktur;Land;Farbe;Bild\n" + "".join(
    f"{row};{smiles};{land};{color};\n"
    for row, (smiles, land, color) in enumerate(
        [("CCO ", "CN", "rot"), ("c1ccccc1", "NO", "on"), ("", "CO", "blau"),
         ("CC(=O)O", "SC", "rot"), ("CCCN", "FI", "No"), ("O=C1CCCC1", "BO", "In stock")]
    )
)  # fmt: skip


def test_a_column_of_another_name_is_known_by_its_cells(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    graphs = molecules(table(tmp_path, NAMELESS))
    assert graphs.smiles == ("CCO", "c1ccccc1", "", "CC(=O)O", "CCCN", "O=C1CCCC1")
    assert "column 'Struktur' holds SMILES: these are the molecules" in caplog.text
    two = NAMELESS
    for color, smiles in {"rot": "CCCl", "on": "CC#N", "blau": "CCBr", "No": "CCS",
                          "In stock": "CCCC"}.items():  # fmt: skip
        two = two.replace(f";{color};", f";{smiles};")
    with pytest.raises(ValueError, match="but SMILES in 'Struktur', 'Farbe'; say which"):
        molecules(table(tmp_path, two))
    assert molecules(table(tmp_path, two), smiles_column="Farbe").smiles[4] == "CCS"


def test_numbers_and_classes_are_not_learned_together(tmp_path):
    rows = "".join(f"{'C' * row},{row / 4},{'ab'[row % 2]}\n" for row in range(1, 12))
    told = "'y' has numbers and 'kind' has classes, which are not learned together"
    with pytest.raises(ValueError, match=told):
        molecules(table(tmp_path, f"smiles,y,kind\n{rows}"), ["y", "kind"])


def test_missing_columns_are_named_with_the_nearest_one(tmp_path):
    read = table(tmp_path, "drug,Solubility\nCCO,1\n")
    with pytest.raises(ValueError, match=r"no column named like smiles.*'drug', 'Solubility'"):
        molecules(read)
    assert molecules(read, smiles_column="drug").smiles == ("CCO",)
    with pytest.raises(ValueError, match="no column 'solubilty'; did you mean 'Solubility'"):
        molecules(read, ["solubilty"], "drug")
    with pytest.raises(ValueError, match="no column 'weight'; its columns are"):
        molecules(read, ["weight"], "drug")


def test_a_split_column_is_read(tmp_path):
    text = "smiles,y,Split\nC,1.5,train\nC,2.5,valid\nC,1,TEST\nC,2,\nC,3,validation\n"
    split = molecules(table(tmp_path, text), ["y"]).split
    assert {part: rows.tolist() for part, rows in split.items()} == {
        "train": [0], "val": [1, 4], "test": [2]}  # fmt: skip
    with pytest.raises(ValueError, match=r"'Split', row 0 .* 'maybe'"):
        molecules(table(tmp_path, "smiles,y,Split\nC,1.5,maybe\n"), ["y"])


def test_a_trained_models_task_keeps_its_numbers_and_may_be_absent(tmp_path):
    task = Task("binary", ("y",), "rocauc", ("bad", "good"))
    assert molecules(table(tmp_path, "smiles,y\nC,good\n"), task=task).targets.tolist() == [[1.0]]
    assert molecules(table(tmp_path, "smiles\nC\n"), task=task).task_or_none is None
    with pytest.raises(ValueError, match=r"row 0 .* 'ugly'; the known classes are 'bad', 'good'"):
        molecules(table(tmp_path, "smiles,y\nC,ugly\n"), task=task)


def test_several_targets_with_missing_values(tmp_path):
    text = "smiles,a,b\nC,1,\nC,,0\nC,0,1\n"
    graphs = molecules(table(tmp_path, text), ["a", "b"])
    assert graphs.task == Task("binary", ("a", "b"), "rocauc", (0, 1))
    assert graphs.labeled().tolist() == [2, 2]
    with pytest.raises(ValueError, match="named twice"):
        molecules(table(tmp_path, text), ["a", "a"])


def test_the_digest_is_that_of_the_molecules(tmp_path):
    one = molecules(table(tmp_path, "smiles,y\nC,1.5\nO,2.5\n"), ["y"]).digest
    assert molecules(table(tmp_path, "y,smiles\n3.5,C\n,O\n")).digest == one
    assert molecules(table(tmp_path, "smiles\nO\nC\n")).digest != one


@pytest.mark.skipif(not os.environ.get("CELLFORMER_DATA"), reason="CELLFORMER_DATA is not set")
def test_real_tables():
    folder = Path(os.environ["CELLFORMER_DATA"])
    esol = read_table(folder / "extra/esol_delaney-processed.csv.gz")
    name = "measured log solubility in mols per litre"
    values = molecules(esol, [name]).targets[:, 0]
    assert len(values) == 1128
    assert values.mean() == pytest.approx(-3.050, abs=1e-3)
    molhiv = molecules(read_table(folder / "molhiv/molhiv.csv.gz"), ["HIV_active"])
    assert len(molhiv) == 41127
    assert molhiv.task.kind == "binary"
    assert int(molhiv.targets.sum()) == 1443
    assert [len(molhiv.split[p]) for p in ("train", "val", "test")] == [32901, 4113, 4113]


def test_words_are_labels_as_they_are_written_and_numbers_need_not_be(tmp_path):
    read = table(tmp_path, "smiles,y\nC,01\nC,high\nC, low \nC,1.0\nC,low\n")
    graphs = molecules(read, ["y"])
    assert graphs.task.labels == ("01", "1.0", "high", "low")
    assert graphs.targets[:, 0].tolist() == [0, 2, 3, 1, 3]


def test_a_decimal_comma_is_read_where_commas_do_not_separate(tmp_path):
    graphs = molecules(table(tmp_path, "smiles;y\nC;-0,5\nO;1,25e1\nN;\nS;3\n"), ["y"])
    np.testing.assert_array_equal(graphs.targets[:, 0], np.float32([-0.5, 12.5, np.nan, 3]))
    assert graphs.task.kind == "regression"


def test_marks_of_a_missing_number_are_blanks_among_numbers_only(tmp_path):
    for mark in ("-", "n.d.", "?", "#N/A", "unknown"):
        graphs = molecules(table(tmp_path, f"smiles;y\nC;-0,5\nO;{mark}\nN;1,5\n"), ["y"])
        np.testing.assert_array_equal(graphs.targets[:, 0], np.float32([-0.5, np.nan, 1.5]))
    labels = molecules(table(tmp_path, "smiles,y\nC,+\nO,-\nN,+\n"), ["y"]).task.labels
    assert labels == ("+", "-")


@pytest.mark.parametrize(
    ("separator", "cells", "message"),
    [
        (";", ["0,5", "1,5", "-2,5", "oops"], r"holds numbers but row 3 .*'oops'"),
        (",", ["1.5 mM", "2 uM", "3e1 mM"], r"several units .*row 0 is '1.5 mM', row 1 is '2 uM'"),
        (",", ["5", "12 nM", "3 nM"], r"several units .*: row 0 is '5', row 1 is '12 nM'"),
        (",", [">5", "<1", "3"], r"2 values of .*row 0 .*'>5', row 1 '<1'.*data.kind to multi"),
        (";", ["1,5 mM", "<0,1 mM"], r"1 values of which only a bound .*: row 1 .*'<0,1 mM'"),
        (",", [">=5 h", "not done", "7 h (n=2)"], r"something beside them: row 0 .*'>=5 h'"),
        (",", ["~3", "~4", "5 x 10-6"], r"something beside them: row 0 .*'~3'"),
        (",", ["3.5", "4.5", "later", "later", "later"], r"holds numbers but row 2 .*'later'"),
        (",", ['"1,234"', '"5,678"'], r"something beside them: row 0 .*'1,234'"),
        (",", list("abcdef"), r"6 different words in 6 rows"),
        (",", ["True", "TRUE", "False"], r"differ only in case: row 0 .*'True', row 1 'TRUE'"),
        (",", [f"{'abcdefghijkl'[n]}x" for n in range(12)], r"12 different words in 12 rows"),
    ],
)  # fmt: skip
def test_no_classification_is_guessed_of_what_are_numbers_or_names(
    tmp_path, separator, cells, message
):
    lines = [f"C{separator}{cell}" for cell in cells]
    read = table(tmp_path, "\n".join([f"smiles{separator}y", *lines, ""]))
    with pytest.raises(ValueError, match=rf"set\.csv: column 'y'.*{message}"):
        molecules(read, ["y"])
    chosen = molecules(read, ["y"], kind="multiclass" if len(set(cells)) > 2 else "binary")
    assert len(chosen.task.labels) == len(set(cells))


def test_numbers_with_commas_and_with_points_are_not_mixed(tmp_path):
    read = table(tmp_path, "smiles;y\nC;1,5\nO;1.25\n")
    message = r"decimal commas and points: row 0 .*'1,5', and row 1 .*'1.25'"
    for kind in (None, "regression"):
        with pytest.raises(ValueError, match=message):
            molecules(read, ["y"], kind=kind)


@pytest.mark.parametrize(
    "mark", ["n.d.", "NA", "-", "\u2013", "?", "missing", "k.A.", "#NV", "n. d."]
)
@pytest.mark.parametrize("separator", [";", ","])
def test_decimal_commas_beside_a_mark_are_a_regression_and_the_marks_are_counted(
    tmp_path, caplog, mark, separator
):
    cells = [f"{n},{n}5" for n in range(20)] + [mark, mark]
    lines = [f'C{separator}"{cell}"' for cell in cells]
    with caplog.at_level("INFO"):
        read = table(tmp_path, "\n".join([f"smiles{separator}y", *lines, ""]))
        graphs = molecules(read, ["y"])
    assert graphs.task == Task("regression", ("y",), "mae")
    expected = [float(cell.replace(",", ".")) for cell in cells[:20]]
    np.testing.assert_allclose(graphs.targets[:20, 0], np.float32(expected))
    assert np.isnan(graphs.targets[20:]).all()
    assert f"column 'y': 2 of 22 cells are missing: {mark!r} (2)" in caplog.text
    assert "20 have a decimal comma" in caplog.text


@pytest.mark.parametrize(
    ("separator", "cells", "unit", "values"),
    [
        (",", ["12.5 nM", "3 nM", "-", "1e2 nM"], "nM", [12.5, 3, np.nan, 100]),
        (";", ["3,4 mg/L", "12,5 mg/L", "n.d."], "mg/L", [3.4, 12.5, np.nan]),
        (",", ["5 %", "7%"], "%", [5, 7]),
        (",", ["1.5 µM", "2 \u03bcM"], "µM", [1.5, 2]),
        (",", ["-5 °C", "\u22127 °C"], "°C", [-5, -7]),
        (",", ["2 M^-1 s^-1", "3 M^-1 s^-1"], "M^-1 s^-1", [2, 3]),
        (",", ["$3", "$4.5"], "$", [3, 4.5]),
    ],
)  # fmt: skip
def test_numbers_with_one_unit_throughout_are_read_and_the_unit_is_told(
    tmp_path, caplog, separator, cells, unit, values
):
    lines = "\n".join(f"C{separator}{cell}" for cell in cells)
    with caplog.at_level("INFO"):
        graphs = molecules(table(tmp_path, f"smiles{separator}y\n{lines}\n"), ["y"])
    assert graphs.task == Task("regression", ("y",), "mae", units=(unit,))
    assert graphs.task.unit("y") == unit
    np.testing.assert_allclose(graphs.targets[:, 0], np.float32(values))
    assert f"its numbers are in {unit}" in caplog.text


def test_the_bounds_of_censored_values_can_be_learned(tmp_path, caplog):
    read = table(tmp_path, "smiles;y;T\nC;>5;3\nO;<0,1;>4\nN;>= 3;5\nS;=7,5;\n")
    with pytest.raises(ValueError, match=r"3 values of which .*row 0 .*'>5', row 1 '<0,1', row 2"):
        molecules(read, ["y"], kind="regression")
    with caplog.at_level("INFO"):
        graphs = molecules(read, ["y"], columns=("T",), censored="bound")
    np.testing.assert_array_equal(graphs.targets[:, 0], np.float32([5, 0.1, 3, 7.5]))
    np.testing.assert_array_equal(graphs.columns[:, 0], np.float32([3, 4, 5, np.nan]))
    assert "3 bounds are taken as values" in caplog.text
    refused = molecules(read, columns=("T",))
    assert refused.faults == {
        1: "column 'T' is '>4', only a bound of its value (data.censored=bound takes it)"
    }


def test_a_trained_models_unit_is_that_of_new_values_too(tmp_path):
    task = Task("regression", ("y",), "mae", units=("nM",))
    for cells in ("5 nM\nO,7 nM", "5\nO,7"):
        graphs = molecules(table(tmp_path, f"smiles,y\nC,{cells}\n"), task=task)
        assert graphs.targets[:, 0].tolist() == [5, 7]
    with pytest.raises(ValueError, match="'y' is in uM, but the model has learned it in nM"):
        molecules(table(tmp_path, "smiles,y\nC,5 uM\n"), task=task)
    plain = Task("regression", ("y",), "mae")
    with pytest.raises(ValueError, match="'y' is in uM, but the model has learned it in plain num"):
        molecules(table(tmp_path, "smiles,y\nC,5 uM\n"), task=plain)


def test_descriptors_have_one_unit_and_new_rows_that_have_another_say_so(tmp_path):
    read = table(tmp_path, "smiles,T\nC,20 K\nO,30.5 K\nN,n.d.\n")
    opened = molecules(read, columns=("T",))
    assert opened.column_units == ("K",)
    np.testing.assert_array_equal(opened.columns[:, 0], np.float32([20, 30.5, np.nan]))
    mixed = table(tmp_path, "smiles,T\nC,20 K\nO,5 °C\nN,7\n")
    with pytest.raises(
        ValueError, match=r"'T' is in several units .*'20 K', row 1 is '5 °C', row 2"
    ):
        molecules(mixed, columns=("T",))
    new = molecules(mixed, columns=("T",), column_units=("K",))
    assert new.faults == {1: "column 'T' is '5 °C', in another unit than learned from (K)"}
    np.testing.assert_array_equal(new.columns[:, 0], np.float32([20, np.nan, 7]))


def test_a_mark_among_classes_is_missing_and_a_sign_among_signs_is_not(tmp_path, caplog):
    caplog.set_level("INFO")
    graphs = molecules(table(tmp_path, "smiles,y\nC,yes\nO,no\nN,?\nS,n.d.\n"), ["y"])
    assert (graphs.task.kind, graphs.task.labels) == ("binary", ("no", "yes"))
    assert np.isnan(graphs.targets[2:]).all()
    assert "column 'y': 2 of 4 cells are missing: '?' (1), 'n.d.' (1)" in caplog.text
    signs = molecules(table(tmp_path, "smiles,y\nC,++\nO,-\nN,+\n"), ["y"])
    assert signs.task.labels == ("+", "++", "-")


def test_a_cell_of_a_hundred_thousand_characters_is_read_at_once(tmp_path):
    long = "1 " + "a b" * 40_000
    read = table(tmp_path, f"smiles,y\nC,1.5\nO,2.5\nN,{long}\n")
    with pytest.raises(ValueError, match="holds numbers but row 2"):
        molecules(read, ["y"])


def test_a_number_that_is_not_finite_is_named(tmp_path):
    for text in ("inf", "1e300"):
        read = table(tmp_path, f"smiles,y\nC,1.5\nC,{text}\n")
        with pytest.raises(ValueError, match=r"target 'y': row 1 .*no finite float32"):
            molecules(read, ["y"])


def test_a_column_that_is_blank_in_every_row_is_named(tmp_path):
    with pytest.raises(ValueError, match="'y' is blank in every row"):
        molecules(table(tmp_path, "smiles,y\nC,\nC,NA\n"), ["y"])


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1.5, None, 2], "regression", [1.5, np.nan, 2]),
        ([True, False, True], "binary", [1, 0, 1]),
        (["b", None, "a"], "binary", [1, np.nan, 0]),
        ([1, 0, 1], "binary", [1, 0, 1]),
        (pd.array([1, None, 0], "Int64"), "binary", [1, np.nan, 0]),
        ([1, "x", 2.0], "multiclass", [0, 2, 1]),
    ],
)
def test_targets_of_a_data_frame_keep_their_types(values, kind, expected):
    frame = pd.DataFrame({"smiles": ["C", "CC", "O"], "y": values}, index=[7, 3, 3])
    graphs = molecules(Table.of_frame(frame), ["y"], kind=kind if kind == "multiclass" else None)
    assert graphs.task.kind == kind
    np.testing.assert_array_equal(graphs.targets[:, 0], np.float32(expected))
    assert graphs.smiles == ("C", "CC", "O")


def test_smiles_that_are_absent_are_empty_and_numbers_are_refused():
    frame = pd.DataFrame({"smiles": ["C", None, " O "], "x": [1, 2, 3]})
    assert smiles_of(Table.of_frame(frame)) == ("C", "", "O")
    with pytest.raises(ValueError, match="'x' does not hold SMILES strings"):
        smiles_of(Table.of_frame(frame), "x")


def test_another_split_column_can_be_named(tmp_path):
    text = "smiles,y,split,Fold\nC,1.5,train,test\nC,2.5,test,train\nC,2.5,test,val\n"
    split = molecules(table(tmp_path, text), ["y"], split_column="Fold").split
    assert {part: rows.tolist() for part, rows in split.items()} == {
        "train": [1], "val": [2], "test": [0]}  # fmt: skip


def test_columns_describe_rows_and_a_blank_is_unknown(tmp_path):
    opened = molecules(
        table(tmp_path, "smiles;y;T;pH\nCCO;1,5;20;7\nC;2;;6,5\nN;3;30;NA\n"),
        ["y"],
        columns=("pH", "T"),
        descriptors="morgan",
    )
    np.testing.assert_array_equal(
        opened.columns, np.float32([[7, 20], [6.5, np.nan], [np.nan, 30]])
    )
    assert opened.faults == {}
    assert opened.graphs.descriptors == "morgan"


def test_text_in_a_descriptor_is_the_fault_of_its_row(tmp_path):
    text = "smiles,T\nC,20\nCC,warm\nCCO,30\nN,inf\nO,1\n"
    opened = molecules(table(tmp_path, text), columns=("T",))
    assert opened.faults == {
        1: "column 'T' is 'warm', not a finite number",
        3: "column 'T' is 'inf', not a finite number",
    }


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("t",), "has no column 't'; did you mean 'T'"),
        (("T", "T"), "the descriptor 'T' is named twice"),
        (("y",), "the descriptor 'y' is a target"),
        (("note",), "the descriptor 'note' is no column of numbers: row 0 .* is 'a'"),
    ],
)
def test_descriptors_that_cannot_be_are_named(tmp_path, columns, message):
    given = table(tmp_path, "smiles,y,T,note\nC,1,2,a\nO,2,3,b\nN,2.5,3,c\n")
    with pytest.raises(ValueError, match=message):
        molecules(given, ["y"], columns=columns)


def test_bounds_stand_beside_the_values_that_are_known(tmp_path, caplog):
    file = tmp_path / "bounds.csv"
    file.write_text(
        "smiles,y,z\nC,>5,1\nCC,<=0.1,\nCCC,2,3\nCCCC,\u2265 7 ,<2\nCCCCC,<3,1\nCCCCCC,=4,1\n",
        "utf-8",
    )
    read = read_table(file)
    with caplog.at_level("INFO"):
        found = molecules(read, ["y", "z"], censored="learn")
    assert "4 bounds are learned, and scores are without them" in caplog.text
    nan = np.nan
    np.testing.assert_array_equal(found.targets[:, 0], [nan, nan, 2, nan, nan, 4])
    np.testing.assert_array_equal(found.targets[:, 1], [1, nan, 3, nan, 1, 1])
    expected = [[5, nan, nan, nan], [nan, nan, 0.1, nan], [nan] * 4, [7, nan, nan, 2],
                [nan, nan, 3, nan], [nan] * 4]  # fmt: skip
    np.testing.assert_allclose(found.bounds, expected)
    assert found.has_target().all()
    exact = molecules(read, ["y", "z"], censored="bound")
    assert exact.bounds is None
    both = join([found, exact])
    np.testing.assert_allclose(both.bounds[:6], expected)
    assert np.isnan(both.bounds[6:]).all()
    with pytest.raises(ValueError, match=r"set data\.censored to learn"):
        molecules(read, ["y"])
