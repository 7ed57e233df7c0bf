import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

import cellformer as cf
from cellformer.basics.stopping import StopSignal
from cellformer.chemistry import computed
from cellformer.chemistry.computed import computed_fragments, computed_names, computed_values
from cellformer.chemistry.fingerprints import morgan_counts
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


def test_a_signal_to_stop_is_no_missing_value(monkeypatch):
    def interrupted(molecule):
        raise StopSignal(15)

    functions = [(name, interrupted if name == "qed" else f) for name, f in Descriptors.descList]
    monkeypatch.setattr(Descriptors, "descList", functions)
    computed._computed_by.cache_clear()
    try:
        with pytest.raises(StopSignal):
            computed_values(SMILES[:1])
    finally:
        computed._computed_by.cache_clear()


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


def test_fragments_are_counted_where_molecules_differ_most():
    texts = [*SMILES, "CCC", "CCCC", "nothing", "C" * 301]
    counts = computed_fragments(texts)
    np.testing.assert_array_equal(counts[: len(SMILES)], morgan_counts(SMILES))
    assert not counts[-2:].any()
    found = with_computed_targets(opened(*texts), fragments=6)
    plain = with_computed_targets(opened(*texts))
    assert found.task.targets[:-6] == plain.task.targets
    np.testing.assert_array_equal(found.targets[:, :-6], plain.targets)
    assert np.isnan(found.targets[-2:]).all()
    columns = [int(name.removeprefix("fragment_")) for name in found.task.targets[-6:]]
    apart = [min(share, 1 - share) for share in (counts > 0).mean(axis=0)]
    assert min(apart[column] for column in columns) >= sorted(apart)[-6]
    raw = counts[:-2, columns].astype(float)
    expected = np.clip((raw - raw.mean(axis=0)) / raw.std(axis=0), -REACH, REACH)
    np.testing.assert_allclose(found.targets[:-2, -6:], expected, rtol=1e-5, atol=1e-6)


def test_graphs_have_their_sizes():
    graphs = [cf.Graph.from_edges([(i, i + 1) for i in range(n)]) for n in range(1, 5)]
    found = with_computed_targets(cf.in_memory(graphs, name="paths"))
    assert found.task.targets == ("log_vertices", "log_edges")
    edges = np.log1p(np.arange(1, 5))
    expected = (edges - edges.mean()) / edges.std()
    np.testing.assert_allclose(found.targets[:, 1], expected, rtol=1e-5)
