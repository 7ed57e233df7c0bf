import numpy as np
import pytest
from rdkit import Chem

from cellformer.chemistry.canonical import canonical_smiles
from cellformer.data.splitting.molecule_keys import leaks, molecule_keys


def test_ways_to_write_a_molecule_have_one_key_and_others_have_another():
    same = ["OCC", "CCO", "C(C)O", "[CH3][CH2][OH]"]
    different = ["CC(=O)O", "C[C@H](N)O", "C[C@@H](N)O", "CC(N)O", "F/C=C/F", "F/C=C\\F",
                 "CC(=O)[O-]", "[13CH4]", "C", "C.Cl"]  # fmt: skip
    keys = molecule_keys([*same, *different], shown=False)
    assert len(set(keys[:4].tolist())) == 1
    assert len(set(keys.tolist())) == 1 + len(different)


def test_rows_without_a_molecule_equal_no_other():
    assert len(set(molecule_keys(["bad", "bad", "", "", "C1CC"], shown=False).tolist())) == 5


def test_keys_are_kept_and_a_damaged_file_is_made_again(tmp_path, monkeypatch):
    smiles = ["CCO", "C", "OCC"]
    first = molecule_keys(smiles, tmp_path)
    (file,) = (tmp_path / "molecule-keys").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(Chem, "MolToSmiles", None)  # would fail if it were called
        assert np.array_equal(molecule_keys(smiles, tmp_path), first)
    file.write_bytes(b"nonsense")
    assert np.array_equal(molecule_keys(smiles, tmp_path), first)


def test_molecules_in_several_parts_are_found_with_their_rows():
    smiles = ["CCO", "C", "OCC", "N", "C", "O", "CCO", "O"]
    split = {"train": np.array([0, 1, 3]), "val": np.array([2, 5, 7]), "test": np.array([4, 6])}
    found = leaks(split, molecule_keys(smiles, shown=False))
    assert [leak.rows for leak in found] == [
        {"train": (0,), "val": (2,), "test": (6,)},
        {"train": (1,), "test": (4,)},
    ]
    assert leaks({**split, "val": np.array([5]), "test": np.zeros(0, int)},
                 molecule_keys(smiles, shown=False)) == ()  # fmt: skip


@pytest.mark.parametrize("text", ["", "bad", "C1CC"])
def test_what_is_no_molecule_has_no_canonical_form(text):
    assert canonical_smiles(text) is None
