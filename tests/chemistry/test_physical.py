import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Crippen, Descriptors, rdMolDescriptors

from cellformer.chemistry.physical import PROPERTIES, VALUES, physical_values
from tiny import SMILES


def test_values_are_those_of_rdkits_functions():
    rows = physical_values(SMILES)
    assert rows.shape == (len(SMILES), VALUES)
    told = np.sign(rows) * np.expm1(np.abs(rows))
    for row, text in zip(told, SMILES, strict=True):
        molecule = Chem.MolFromSmiles(text)
        for name, value in {
            "CrippenClogP": Crippen.MolLogP(molecule),
            "exactmw": Descriptors.ExactMolWt(molecule),
            "tpsa": rdMolDescriptors.CalcTPSA(molecule),
        }.items():
            assert row[PROPERTIES.index(name)] == pytest.approx(value, rel=1e-4, abs=1e-5)
        np.testing.assert_allclose(row[-42:], rdMolDescriptors.MQNs_(molecule), atol=1e-3)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(SMILES), st.randoms(use_true_random=False))
def test_they_do_not_depend_on_the_order_of_the_atoms(text, random):
    molecule = Chem.MolFromSmiles(text)
    order = list(range(molecule.GetNumAtoms()))
    random.shuffle(order)
    other = Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)
    np.testing.assert_allclose(*physical_values([text, other]), rtol=1e-4, atol=1e-5)


def test_odd_molecules_have_values_too():
    rows = physical_values(["[Na+].[Cl-]", "[H][H]", "*C", "[Fe]", "C" * 1200])
    assert np.isfinite(rows).all()
    assert np.abs(rows).max() < 20
    with pytest.raises(ValueError, match="C1CC"):
        physical_values(["C1CC"])
