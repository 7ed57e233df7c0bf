import random

import pytest
from rdkit import Chem

from cellformer.chemistry.skeletons import skeletons
from tiny import SMILES

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
FORMS = [
    "O=C(C)Oc1ccccc1C(=O)O",
    "c1(C(O)=O)ccccc1OC(C)=O",
    "CC(=O)OC1=CC=CC=C1C(=O)O",
    "CC(=O)Oc1ccccc1C(=O)[O-].[Na+]",
    "CC(=O)Oc1ccccc1C(=O)O[Na]",
    "CC(=O)Oc1ccccc1C(=O)O[Ca]OC(=O)c1ccccc1OC(C)=O",
    "CC(=O)Oc1ccccc1C(=O)O.CCO",
    "[13CH3]C(=O)Oc1ccccc1C(=O)O",
    "[2H]OC(=O)c1ccccc1OC(=O)C([2H])([2H])[3H]",
    "[H]OC(=O)c1c([H])c([H])c([H])c([H])c1OC(=O)C([H])([H])[H]",
    "[CH3:7]C(=O)O[c:1]1ccccc1C(=O)O |$a;b$|",
    Chem.MolToInchi(Chem.MolFromSmiles(ASPIRIN)),
]


def skeleton(form):
    return next(skeletons(form), None)


@pytest.mark.parametrize("form", FORMS)
def test_a_molecule_is_the_same_in_any_form(form):
    assert skeleton(form) == skeleton(ASPIRIN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"),  # mirror images
        ("CC(N)C(=O)O", "C[C@@H](N)C(=O)O"),
        ("C/C=C/C", "C/C=C\\C"),
        ("Cc1cnc[nH]1", "Cc1c[nH]cn1"),  # a hydrogen that moves
        ("O=c1cccc[nH]1", "Oc1ccccn1"),
        ("CC(=O)CC(C)=O", "CC(O)=CC(C)=O"),
        ("O=C1CC(=O)NC(=O)N1", "Oc1cc(O)nc(O)n1"),
        ("NCC(=O)O", "[NH3+]CC(=O)[O-]"),
        ("CCN(CC)CCOC(=O)c1ccc(N)cc1", "[Cl-].CC[NH+](CC)CCOC(=O)c1ccc(N)cc1"),
        ("C[N+](C)(C)CC(=O)O", "C[N+](C)(C)CC(=O)[O-]"),
        ("c1ccccc1[N+](=O)[O-]", "c1ccccc1N(=O)=O"),
        ("C[S+](C)[O-]", "CS(C)=O"),
    ],
)
def test_forms_that_do_not_count(one, other):
    assert skeleton(one) == skeleton(other)


def test_the_order_of_the_atoms_does_not_count():
    lots = random.Random(0)
    for text in SMILES:
        molecule = Chem.MolFromSmiles(text)
        order = list(range(molecule.GetNumAtoms()))
        lots.shuffle(order)
        other = Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)
        assert skeleton(other) == skeleton(text)


def test_other_molecules_have_others():
    texts = ("CCO", "COC", "CCCO", "CC(C)O", "c1ccncc1", "c1ccccc1", "CC=O", "OB(O)C", "Cl", "[Na]")
    assert len({skeleton(text) for text in texts}) == len(texts)
    assert skeleton("nonsense") is None
    assert [*skeletons("")] == []


def test_all_fragments_with_carbon_are_known():
    acid, amine = "Cc1ccc(cc1)S(=O)(=O)O", "CCN"
    assert [*skeletons(f"{amine}.{acid}.[Na+].O.Cl")] == [skeleton(acid), skeleton(amine)]
    assert [*skeletons("CC[NH3+].CCN.CCN")] == [skeleton("CCN")]
    assert [*skeletons("C1.C1CO")] == [skeleton("CCCO")]  # a bond across the dot
    assert [*skeletons("O")] == [skeleton("O")]
