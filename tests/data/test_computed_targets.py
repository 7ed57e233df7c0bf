import numpy as np
from rdkit import Chem
from rdkit.Chem import Descriptors

import cellformer as cf
from cellformer.chemistry.computed import computed_names, computed_values
from cellformer.data.computed_targets import REACH, with_computed_targets
from tiny import SMILES


def opened(*smiles):
    return cf.Preparation().open(list(smiles))


def test_descriptors_are_those_of_rdkit():
    values = computed_values(SMILES[:8])
    for text, row in zip(SMILES, values, strict=False):
        told = Descriptors.CalcMolDescriptors(Chem.MolFromSmiles(text))
        expected = np.array([told[name] for name in computed_names()], np.float32)
        np.testing.assert_array_equal(row, expected)
    assert "Ipc" not in computed_names()


def test_what_has_no_descriptors_has_none():
    values = computed_values(("no molecule", "C" * 301, "C"))
    assert np.isnan(values[:2]).all()
    assert np.isfinite(values[2]).any()


def test_targets_are_deviations_within_reach_and_the_same_ones_are_left_out():
    source = opened(*SMILES, "CCC", "CCCC", "nothing", "C" * 200)
    found = with_computed_targets(source)
    task, targets = found.task, found.targets
    assert task.kind == "regression"
    assert "NumRadicalElectrons" not in task.targets  # none of these molecules has any
    assert {"MolWt", "TPSA", "fr_benzene"} <= set(task.targets)
    assert np.isnan(targets[-2]).all()
    assert np.nanmax(np.abs(targets)) == REACH
    raw = computed_values((*SMILES, "CCC", "CCCC", "nothing", "C" * 200))
    column = raw[:, computed_names().index("TPSA")].astype(float)
    expected = (column - np.nanmean(column)) / np.nanstd(column)
    place = task.targets.index("TPSA")
    np.testing.assert_allclose(targets[:, place], np.clip(expected, -REACH, REACH), rtol=1e-5)


def test_graphs_have_their_sizes():
    graphs = [cf.Graph.from_edges([(i, i + 1) for i in range(n)]) for n in range(1, 5)]
    found = with_computed_targets(cf.in_memory(graphs, name="paths"))
    assert found.task.targets == ("log_vertices", "log_edges")
    edges = np.log1p(np.arange(1, 5))
    expected = (edges - edges.mean()) / edges.std()
    np.testing.assert_allclose(found.targets[:, 1], expected, rtol=1e-5)
