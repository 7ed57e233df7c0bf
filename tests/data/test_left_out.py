"""No molecule that is to be judged is learned, whatever the files are."""

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem

import cellformer as cf
from cellformer.data.left_out import among, repeated
from cellformer.training.config import DataConfig
from cellformer.training.materials.materials import gather
from tiny import SMILES

JUDGED = ["CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "CCN(CC)CCOC(=O)c1ccc(N)cc1",
          "CC(=O)CC(C)=O", "Cc1cnc[nH]1", "CCCCN"]  # fmt: skip
FORMS = ["O=C(O[Na])c1ccccc1OC(C)=O", "[NH3+][C@@H](C)C(=O)[O-]",
         "Cl.[13CH3]CN(CC)CCOC(=O)c1ccc(N)cc1", "CC(O)=CC(C)=O", "[H]n1cnc(C)c1[H]",
         "CCCC[NH3+].Cc1ccc(cc1)S(=O)(=O)[O-]"]  # fmt: skip
"""Of each of these molecules another one."""
ENDINGS = ("csv", "sdf", "smi")


def opened(*smiles):
    return cf.Preparation().open(list(smiles))


def write(path, smiles):
    if path.suffix == ".csv":
        pd.DataFrame({"smiles": smiles, "y": np.arange(len(smiles))}).to_csv(path, index=False)
    elif path.suffix == ".smi":
        path.write_text("\n".join(smiles) + "\n")
    else:
        with Chem.SDWriter(str(path)) as file:
            for number, text in enumerate(smiles):
                molecule = Chem.AddHs(Chem.MolFromSmiles(text))
                molecule.SetProp("y", str(number))
                file.write(molecule)
    return path


@pytest.mark.parametrize("learned_as", ENDINGS)
@pytest.mark.parametrize("judged_as", ENDINGS)
def test_no_judged_molecule_stays_in_any_part(learned_as, judged_as, tmp_path):
    rows = [*SMILES[:6], *FORMS, *SMILES[6:12]]
    learned = write(tmp_path / f"learned.{learned_as}", rows)
    judged = write(tmp_path / f"judged.{judged_as}", [*JUDGED, "C#CC#CC#C"])
    config = DataConfig(
        source=str(learned),
        computed_targets=True,
        leave_out=(str(judged),),
        molecule_descriptors="none",
    )
    materials = gather(config)
    assert materials.left_out == len(FORMS)
    kept = {int(row) for part in materials.split.values() for row in materials.rows[part]}
    assert kept == {row for row, text in enumerate(rows) if text not in FORMS}


def test_a_mixture_has_the_molecules_that_are_its_fragments():
    rows = opened("CCCCCC.CCN", "CCCCCC", "CCCCCC.O", "CCN")
    assert among(rows, [opened("CCN")]).tolist() == [True, False, False, True]
    assert among(rows, [opened("CCCCCCC.CCN.O")]).tolist() == [True, False, False, True]
    assert among(rows, [opened("O")]).tolist() == [False] * 4  # of what has no carbon all are made


def test_other_molecules_and_none_are_kept():
    rows = opened("CCO", "COC", "nonsense", "")
    assert not among(rows, [opened("CCC", "nonsense", "")]).any()


def test_the_first_of_equal_molecules_stays():
    rows = opened("CCO", "nonsense", "OCC", "C", "nonsense", "[Na+].CC[O-]")
    assert repeated(rows).tolist() == [False, False, True, False, False, True]


def test_what_is_no_molecule_cannot_be_left_out():
    graphs = cf.in_memory([cf.Graph.from_edges([(0, 1)])], name="mine")
    with pytest.raises(ValueError, match=r"mine does not consist of SMILES.*leave data.leave_out"):
        among(graphs, [opened("C")])
