import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import AllChem

from cellformer.chemistry.fingerprints import FINGERPRINTS, fingerprint_counts, morgan_counts
from cellformer.data.dataset import SmilesList
from tiny import SMILES


def test_counts_are_those_of_rdkits_older_interface():
    rows = morgan_counts(SMILES)
    assert rows.shape == (len(SMILES), 2048)
    for row, text in zip(rows, SMILES, strict=True):
        old = AllChem.GetHashedMorganFingerprint(Chem.MolFromSmiles(text), 2, 2048)
        np.testing.assert_array_equal(np.flatnonzero(row), sorted(old.GetNonzeroElements()))
        assert row.sum() == sum(old.GetNonzeroElements().values())


def test_a_count_above_a_byte_is_its_largest_number():
    assert morgan_counts(["C" * 400]).max() == 255


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(SMILES), st.randoms(use_true_random=False))
def test_they_do_not_depend_on_the_order_of_the_atoms(text, random):
    molecule = Chem.MolFromSmiles(text)
    order = list(range(molecule.GetNumAtoms()))
    random.shuffle(order)
    other = Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)
    np.testing.assert_array_equal(*morgan_counts([text, other]))


def test_molecules_are_described_only_where_it_is_asked_for():
    plain = SmilesList(("CCO", "C1CC", "C"))
    described = SmilesList(plain.smiles, descriptors="morgan")
    assert plain.described(np.array([0])) is None
    found = described.described(np.array([2, 0]))
    np.testing.assert_array_equal(found.counts, morgan_counts(["C", "CCO"]))
    assert found.columns == (2048, 0)
    assert described.digest() != plain.digest()
    assert described.part(1, 3).descriptors == "morgan"
    with pytest.raises(ValueError, match="C1CC"):
        described.described(np.array([1]))


def test_four_fingerprints_stand_side_by_side():
    rows = fingerprint_counts(SMILES)
    assert rows.shape == (len(SMILES), FINGERPRINTS * 2048)
    np.testing.assert_array_equal(rows[:, :2048], morgan_counts(SMILES))
    chain, apart = fingerprint_counts(["CCCCO", "CC.CCO"])
    assert chain[4096:6144].sum() == 5 * 4 / 2
    assert apart[4096:6144].sum() == 1 + 3


def test_large_molecules_have_no_pairs(monkeypatch):
    monkeypatch.setattr("cellformer.chemistry.fingerprints.MAX_PAIRED_ATOMS", 3)
    rows = fingerprint_counts(["CCC", "CCCC"])
    assert rows[:, 4096:6144].any(1).tolist() == [True, False]
    assert rows[1, 6144:].any()
