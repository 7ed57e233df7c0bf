import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cellformer.data.dataset import Task
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
    read = table(tmp_path, "smiles,y\nC,1.5\nC,2.5\nC,>10\n")
    with pytest.raises(ValueError, match=r"set\.csv: column 'y'.*row 2 .*'>10'"):
        molecules(read, ["y"])
    with pytest.raises(ValueError, match=r"row 2 .*'>10', not a number"):
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
    "name", ["smiles", "SMILES", " Smiles", "canonical_smiles", "mol", "Structure"]
)
def test_the_smiles_column_is_found_by_its_usual_names(tmp_path, name):
    graphs = molecules(table(tmp_path, f"x,{name}\n1,CCO\n"))
    assert graphs.smiles == ("CCO",)
    assert graphs.task_or_none is None


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
        (",", ["1.5 mM", "2 mM", "3e1 mM"], r"something beside them: row 0 .*'1.5 mM'"),
        (",", ["5", "12 nM", "> 3 nM"], r"numbers with something beside them: row 1 .*'12 nM'"),
        (",", [">5", "<1", "~3"], r"row 0 .*'>5'.*data.kind to multiclass"),
        (";", ["1,5 mM", "2,25 mM"], r"row 0 .*'1,5 mM'"),
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
