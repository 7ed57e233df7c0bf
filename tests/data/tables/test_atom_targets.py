"""Lists in the cells of a table of molecules become targets of atoms or bonds."""

import logging

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem

from cellformer.data.fragments import keep_fragments
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import Table, read_table


def opened(rows, names=("q",), **options):
    frame = pd.DataFrame(rows, columns=["smiles", *names])
    return molecules(Table.of_frame(frame), list(names), **options)


def test_lists_are_values_of_the_atoms_in_the_order_of_the_smiles():
    graphs = opened([("CCO", "[0.1, 0.2, 0.5]"), ("C", "[-1.5]"), ("N", None), ("OC", "1;null")])
    assert (graphs.task.rank, graphs.task.kind, graphs.task.metric) == (0, "regression", "mae")
    assert graphs.cell_offsets.tolist() == [0, 3, 4, 5, 7]
    wanted = np.float32([0.1, 0.2, 0.5, -1.5, np.nan, 1, np.nan])
    np.testing.assert_array_equal(graphs.targets[:, 0], wanted)
    assert graphs.has_target().tolist() == [True, True, False, True]


def test_lengths_tell_bonds_from_atoms():
    rows = [("CCO", "0;1"), ("c1ccccc1", "1;1;1;1;1;1"), ("C", "[]")]
    graphs = opened(rows)
    assert (graphs.task.rank, graphs.task.kind) == (1, "binary")
    assert np.diff(graphs.cell_offsets).tolist() == [2, 6, 0]
    with pytest.raises(ValueError, match=r"fit atoms as well as bonds; set data\.targets_of to"):
        opened(rows[1:2])
    assert opened(rows[1:2], targets_of="atoms").task.rank == 0
    with pytest.raises(ValueError, match=r"no list of column 'q' has as many .* has 4 for 3 atoms"):
        opened([("CCO", "[1, 2, 3, 4]")])
    with pytest.raises(ValueError, match=r"as its molecule has atoms: row 0 .* has 1 for 3 atoms"):
        opened([("CCO", 1.5), ("CC", 2.5)], targets_of="atoms")
    with pytest.raises(
        ValueError, match=r"only in 1 of 3 rows a list .* row 1 .* has 1 for 3 atoms"
    ):
        opened([("C", 1.5), ("CCO", 1.5), ("CC", 2.5)], targets_of="atoms")


def test_words_are_classes_of_atoms():
    graphs = opened([("CO", '["sp3", "sp3"]'), ("C=O", "[sp2, sp2]"), ("CN", "[sp3, ]")])
    assert graphs.task.labels == ("sp2", "sp3")
    np.testing.assert_array_equal(graphs.targets[:, 0], np.float32([1, 1, 0, 0, 1, np.nan]))


def test_hydrogens_that_are_written_have_values_which_are_left_out(caplog):
    caplog.set_level(logging.INFO)
    graphs = opened([("[H]C([H])([H])O", "[9, 1, 9, 9, 2]"), ("CO", "[3, 4]")])
    assert graphs.targets[:, 0].tolist() == [1, 2, 3, 4]
    assert "3 values of hydrogens are left out" in caplog.text
    heavy = opened([("[H]OC", "[1, 2.5]"), ("CO", "[3, 4]")], targets_of="atoms")
    assert heavy.faults[0].endswith(
        "list of 2 values for 3 atoms, with the hydrogens that are written"
    )


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("[0.1, 0.2]", "column 'q' has a list of 2 values for 3 atoms"),
        ("[0.1, 0.2, >5]", "value 2 (counted from 0) of the list is '>5', not a finite number"),
        ("[0.1, 0.2, inf]", "value 2 (counted from 0) of the list is inf, not a finite number"),
        ("[0.1, 0.2, [1]]", "value 2 (counted from 0) of the list is '[1]', not a finite number"),
    ],
)
def test_a_list_of_no_use_is_the_reason_of_its_row_alone(cell, reason):
    graphs = opened([("CCC", "[0.1, 0.2, 0.5]"), ("CCO", cell), ("C", "[0.5]")])
    assert list(graphs.faults) == [1]
    assert reason in graphs.faults[1]
    assert np.diff(graphs.cell_offsets).tolist() == [3, 0, 1]


def test_a_trained_model_says_which_lists_it_reads():
    task = opened([("CO", "[a, b]"), ("CCO", "[a, b, a]")]).task
    again = opened([("c1ccccc1", "[b, b, b, b, b, a]"), ("CO", "[a, x]")], task=task)
    np.testing.assert_array_equal(again.targets[:, 0], np.float32([1, 1, 1, 1, 1, 0]))
    assert "'x', no class that the model knows" in again.faults[1]


def test_several_columns_are_several_targets_of_one_kind_of_cell():
    rows = [("CCO", "1.5;2;3", [4.0, 5.0, 6.0]), ("C", "[7]", np.array([8.5]))]
    assert opened(rows, ("q", "r")).targets.tolist() == [[1.5, 4], [2, 5], [3, 6], [7, 8.5]]
    with pytest.raises(ValueError, match=r"targets are of atoms and of bonds \('q' of at"):
        opened([("CCO", "[1, 2, 3]", "[1, 2]")], ("q", "r"))
    with pytest.raises(ValueError, match="column 'q' has a list in each cell, 'r' has one value"):
        opened([("CCO", "[1, 2, 3]", 1.5)], ("q", "r"))


def test_properties_of_atoms_that_rdkit_writes_into_an_sdf_are_lists(tmp_path):
    with Chem.SDWriter(str(tmp_path / "set.sdf")) as writer:
        for smiles, values in (("OC=O", [1.5, 2.5, 3.5]), ("OCC", [4.5, None, 6.5])):
            molecule = Chem.MolFromSmiles(smiles)
            for atom, value in zip(molecule.GetAtoms(), values, strict=True):
                if value is not None:
                    atom.SetDoubleProp("charge", value)
            Chem.CreateAtomDoublePropertyList(molecule, "charge")
            writer.write(molecule)
    graphs = molecules(read_table(tmp_path / "set.sdf"), ["atom.dprop.charge"])
    assert graphs.smiles == ("O=CO", "CCO")
    assert graphs.task.rank == 0
    wanted = np.float32([3.5, 2.5, 1.5, 6.5, np.nan, 4.5])
    np.testing.assert_array_equal(graphs.targets[:, 0], wanted)


def test_what_would_put_atoms_into_another_order_is_refused():
    rows = [("CCO", "[1, 2, 3.5]")]
    with pytest.raises(ValueError, match=r"set data\.features to standard"):
        opened(rows, features="zinc")
    with pytest.raises(ValueError, match=r"set data\.fragments to all"):
        keep_fragments(opened(rows), "largest")
    with pytest.raises(ValueError, match=r"data\.censored is of no use to values in lists"):
        opened(rows, censored="bound")
