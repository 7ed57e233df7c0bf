import pytest

from cellformer.chemistry.bonds import bonds_of
from cellformer.chemistry.reasons import one_reason, quoted
from cellformer.chemistry.smiles import parse_smiles


def test_an_error_of_rdkit_becomes_one_line_that_names_the_molecule():
    said = "Pre-condition Violation\n\tbad valence\n\tViolation occurred on line 3\n"
    expected = "^RDKit fails on 'CCO': Pre-condition Violation: bad valence$"
    with pytest.raises(ValueError, match=expected), one_reason("CCO"):
        raise RuntimeError(said)
    with (
        pytest.raises(ValueError, match=r"^RDKit fails on 'CCO': OverflowError$"),
        one_reason("CCO"),
    ):
        raise OverflowError


@pytest.mark.parametrize("error", [ValueError("as it is"), MemoryError()])
def test_a_reason_stays_and_a_lack_of_memory_is_none(error):
    with pytest.raises(type(error)) as raised, one_reason("CCO"):
        raise error
    assert raised.value is error


def test_a_long_smiles_is_cut_in_messages():
    assert quoted("CCO") == "'CCO'"
    assert quoted("C" * 5000) == f"'{'C' * 80}'... (5000 characters)"


def test_bonds_come_in_the_order_of_their_numbers():
    for smiles in ("C", "CCO", "C1CCCCC1" * 60, "C(C)(C)" * 100 + "C"):
        molecule = parse_smiles(smiles)
        assert [b.GetIdx() for b in bonds_of(molecule)] == list(range(molecule.GetNumBonds()))
