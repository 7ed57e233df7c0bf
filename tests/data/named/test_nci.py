import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles, rdMolDescriptors

from cellformer.data.named.nci import _read_smiles, open_nci, penalized_logp
from cellformer.data.splitting.splits import scaffold_of


def test_there_are_4999_molecules_with_a_scaffold_split(tmp_path, capfd):
    graphs = open_nci(tmp_path)
    assert "Computing the targets of nci" in capfd.readouterr().err
    assert len(graphs) == 4999
    assert graphs.labeled()[0] >= 4980
    chosen = {part: len(rows) for part, rows in graphs.split.items()}
    assert chosen["train"] == pytest.approx(4000, abs=20)
    assert chosen["val"] == pytest.approx(500, abs=10)
    assert chosen["test"] == pytest.approx(500, abs=10)
    everything = np.concatenate(list(graphs.split.values()))
    assert np.isfinite(graphs.targets[everything]).all()
    train = {scaffold_of(graphs.smiles[row]) for row in graphs.split["train"][:200]}
    assert not train & {scaffold_of(graphs.smiles[row]) for row in graphs.split["test"]}


def test_targets_are_kept_and_a_damaged_file_is_made_again(tmp_path, capfd, monkeypatch):
    some = _read_smiles()[:100]
    monkeypatch.setattr("cellformer.data.named.nci._read_smiles", lambda: some)
    first = open_nci(tmp_path)
    capfd.readouterr()
    again = open_nci(tmp_path)
    assert capfd.readouterr().err == ""
    np.testing.assert_array_equal(first.targets, again.targets)
    (file,) = (tmp_path / "sources").iterdir()
    file.write_bytes(file.read_bytes()[:300])
    np.testing.assert_array_equal(open_nci(tmp_path, shown=False).targets, first.targets)


def test_penalized_logp_by_hand():
    score = penalized_logp()
    # A ring of eight costs two more than a ring of six.
    for smiles, excess in (("CCO", 0), ("C1CCCCC1", 0), ("C1CCCCCCC1", 2)):
        logp = rdMolDescriptors.CalcCrippenDescriptors(MolFromSmiles(smiles))[0]
        accessibility = logp - excess - score(smiles)
        assert 1 <= accessibility <= 10
    assert score("CCO") == pytest.approx(-0.0014 - 1.9802570, abs=1e-3)
    assert np.isnan(score("not a molecule"))
