import numpy as np
import pytest
from rdkit import Chem

from cellformer.chemistry.canonical import canonical_smiles
from cellformer.chemistry.fingerprints import morgan_counts
from cellformer.chemistry.fragments import largest_fragment
from cellformer.chemistry.limits import (
    MAX_ATOMS,
    MAX_CHARACTERS,
    MAX_DRAWN_ATOMS,
    MAX_WRITTEN_ATOMS,
    check_text,
)
from cellformer.chemistry.smiles import atoms_and_bonds, parse_smiles
from cellformer.data.splitting.molecule_keys import molecule_keys
from cellformer.data.splitting.splits import scaffold_groups, scaffold_of
from cellformer.drawing.molecule import atom_symbols, molecule_positions

NEIGHBORS = "*" + "(C)" * 129 + "C"
IMPOSSIBLE = {
    "[CH999]": "999 hydrogens",
    "[CH256]": "256 hydrogens",  # which RDKit takes for none
    "[CH200]": "200 hydrogens",
    "[UH128]": "128 hydrogens",
    "[C+999]": "999 charges",  # which RDKit takes for -25
    "[Fe-128]": "128 charges",
    NEIGHBORS: "130 neighbors",
    "*" + "(C)" * 255 + "C": "256 neighbors",  # which RDKit takes for none
    "[UH120](C)(C)(C)(C)(C)(C)(C)(C)C": "RDKit fails on",
    "[#999]": "Atomic number not found",
    "C\ud800": "surrogates",
    "C" * (MAX_CHARACTERS + 1): "longer than 100,000 characters",
    "C1CC1" * 3400: "has 10,200 atoms",
    "[CH4]." * 10_001 + "C": "has 10,002 atoms",
}


@pytest.mark.parametrize(
    "smiles", IMPOSSIBLE, ids=lambda text: text[:12].encode("ascii", "replace")
)
def test_whatever_rdkit_cannot_hold_has_one_line_that_says_why(smiles):
    reason = IMPOSSIBLE[smiles]
    for function in (
        parse_smiles,
        atoms_and_bonds,
        lambda text: atoms_and_bonds(text, "ogb"),
        lambda text: atoms_and_bonds(text, "zinc"),
        lambda text: morgan_counts([text]),
        molecule_positions,
        atom_symbols,
    ):
        with pytest.raises(ValueError, match=reason) as error:
            function(smiles)
        assert len(str(error.value).splitlines()) == 1
        assert len(str(error.value)) < 400
    assert canonical_smiles(smiles) is None
    assert scaffold_of(smiles) is None
    assert largest_fragment(f"{smiles}.C") == f"{smiles}.C"  # told where it is used


def test_such_a_row_equals_no_other_row(tmp_path):
    smiles = ["C", "[CH999]", "[CH999]", NEIGHBORS, "C"]
    keys = molecule_keys(smiles, tmp_path)
    assert keys[0] == keys[4]
    assert len(set(keys.tolist())) == 4
    groups = scaffold_groups(smiles)
    assert groups[0] == groups[4] == 0
    assert (groups[1:4] < 0).all()


def test_the_largest_numbers_are_taken():
    check_text("[UH127]")
    check_text("[U+127]")
    check_text("[123CH3:4567]C-123.C-123")  # isotopes, map numbers and ring bonds are no counts
    parse_smiles("[H]" + "*" + "(C)" * 120 + "C")


def test_a_text_over_a_limit_is_never_given_to_rdkit(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr(Chem, "MolFromSmiles", refuse)
    for smiles in ("C" * (MAX_CHARACTERS + 1), "C1CC1" * 4000, "[CH999]"):
        with pytest.raises(ValueError, match=r"longer|atoms|hydrogens"):
            parse_smiles(smiles)


def test_what_follows_a_smiles_counts_as_characters_only():
    assert parse_smiles("CCO " + "1" * 20_000).GetNumAtoms() == 3
    assert parse_smiles("CCO " + "[CH999]").GetNumAtoms() == 3


def test_a_chain_may_be_as_long_as_it_can_be_written_and_bonds_are_counted_once(monkeypatch):
    def refuse(_):
        raise AssertionError("RDKit's own sequence of bonds takes quadratic time")

    monkeypatch.setattr(Chem.Mol, "GetBonds", refuse)
    atoms, bonds, features = atoms_and_bonds("C" * 40_000)
    assert len(atoms) == 40_000
    np.testing.assert_array_equal(bonds, np.stack([np.arange(39_999), np.arange(1, 40_000)], 1))
    assert len(features) == 39_999
    tree = "C(C)" * 10_000 + "C"
    assert len(atoms_and_bonds(tree)[1]) == 20_000


def test_what_takes_quadratic_or_cubic_time_stops_at_smaller_molecules():
    long, drawn = "C" * (MAX_ATOMS + 1), "C" * (MAX_DRAWN_ATOMS + 1)
    with pytest.raises(ValueError, match="10,001 atoms; fingerprints"):
        morgan_counts([long])
    far = f"O{'C' * MAX_WRITTEN_ATOMS}"
    assert canonical_smiles(far) == canonical_smiles(f" {far}") == far
    assert canonical_smiles(far[:-1]) == far[-2:0:-1] + "O"
    for refused in (lambda: atoms_and_bonds(far, "zinc"), lambda: largest_fragment(f"{far}.O")):
        with pytest.raises(ValueError, match=r"5,00\d atoms; RDKit writes SMILES of up to 5,000"):
            refused()
    assert scaffold_of(drawn) == drawn
    assert scaffold_of(drawn[1:30]) == ""
    with pytest.raises(ValueError, match="1,001 atoms and 0 rings; structural formulas"):
        molecule_positions(drawn)
    hoop = "C%10" + "Cc1ccc(cc1)" * 11 + "C%10"
    with pytest.raises(ValueError, match=r"79 atoms and 2,0\d\d rings; structural formulas"):
        molecule_positions(hoop)
