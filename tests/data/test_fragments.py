import logging

import numpy as np
import pytest

from cellformer.chemistry.fragments import largest_fragment
from cellformer.complexes.graph import Graph
from cellformer.data.flat import in_memory
from cellformer.data.fragments import keep_fragments
from cellformer.data.splitting.molecule_keys import molecule_keys
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import read_table


@pytest.mark.parametrize(
    ("smiles", "kept"),
    [
        ("CCO", "CCO"),
        ("OCC", "OCC"),  # as it was written
        ("CC(=O)[O-].[Na+]", "CC(=O)[O-]"),
        ("[Na+].[Cl-]", "[Cl-]"),  # the heavier of equally large ones
        ("Cl.CCN.O", "CCN"),
        ("C1.C1", "C1.C1"),  # a bond joins what a point parts
        ("C1CC.O", "C1CC.O"),  # no molecule: the reason is told where it is used
        ("", ""),
        ("bad.worse", "bad.worse"),
    ],
)
def test_the_largest_fragment_is_kept_and_all_else_is_left_alone(smiles, kept):
    assert largest_fragment(smiles) == kept


def test_the_choice_does_not_depend_on_the_order_of_fragments():
    parts = ["CCN", "CCO", "CNC", "Br", "[Na+]"]
    rng = np.random.default_rng(0)
    chosen = {largest_fragment(".".join(rng.permutation(parts))) for _ in range(20)}
    assert len(chosen) == 1


def test_a_set_follows_its_fragments_and_says_how_many_it_lost(tmp_path, caplog):
    path = tmp_path / "salts.csv"
    path.write_text("smiles,y\nCCN.Cl,1\nNCC,2\nCCO,3\nC1CC.O,4\n")
    opened = molecules(read_table(path), ["y"])
    assert keep_fragments(opened, "all") is opened
    with caplog.at_level(logging.INFO):
        kept = keep_fragments(opened, "largest")
    assert "the largest fragment was taken of 1 of 4 molecules" in caplog.text
    assert kept.graph(0).num_vertices == 3
    assert opened.graph(0).num_vertices == 4
    assert kept.digest != opened.digest
    np.testing.assert_array_equal(kept.targets, opened.targets)
    with pytest.raises(ValueError, match="C1CC"):
        kept.graph(3)
    before, after = molecule_keys(opened.smiles), molecule_keys(kept.smiles)
    assert before[0] != before[1]
    assert after[0] == after[1]  # now duplicates
    assert keep_fragments(kept, "largest").digest == kept.digest


def test_sets_without_smiles_are_refused():
    graphs = in_memory([Graph.from_edges([(0, 1)])], name="pairs")
    with pytest.raises(ValueError, match="pairs does not consist of SMILES"):
        keep_fragments(graphs, "largest")


def test_a_row_that_rdkit_cannot_choose_from_is_its_own_fault(tmp_path, monkeypatch):
    from rdkit.Chem.MolStandardize import rdMolStandardize

    class Failing:
        def choose(self, molecule):
            raise RuntimeError("Pre-condition Violation\n\tno choice\n")

    (tmp_path / "t.csv").write_text("smiles,y\nCCO,1\nC.CC,2\nC,3\n")
    monkeypatch.setattr(rdMolStandardize, "LargestFragmentChooser", Failing)
    kept = keep_fragments(molecules(read_table(tmp_path / "t.csv"), ["y"]), "largest")
    assert kept.smiles == ("CCO", "C.CC", "C")
    assert kept.faults == {1: "RDKit fails on 'C.CC': Pre-condition Violation: no choice"}
