import numpy as np
import pytest

from cellformer.data.preparing import molecule_values as module
from cellformer.data.preparing.molecule_values import molecule_values

CALLS = []


def lengths(smiles):
    CALLS.append(tuple(smiles))
    if "stop" in smiles:
        raise KeyboardInterrupt
    return np.array([[len(text)] for text in smiles])


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    CALLS.clear()
    monkeypatch.setattr(module, "STRETCH", 3)


def test_values_are_computed_once_and_what_was_done_is_kept(tmp_path):
    texts = ["C" * n for n in range(8)]
    with pytest.raises(KeyboardInterrupt):
        molecule_values("T", lengths, [*texts[:6], "stop"], cache_dir=tmp_path)
    assert len(CALLS) == 3
    found = molecule_values("T", lengths, texts, cache_dir=tmp_path)
    assert found.tolist() == [[n] for n in range(8)]
    assert CALLS[3:] == [("CCCCCC", "CCCCCCC")]
    assert molecule_values("T", lengths, texts, cache_dir=tmp_path).tolist() == found.tolist()
    assert len(CALLS) == 4


def test_what_is_damaged_is_computed_anew(tmp_path):
    first = molecule_values("T", lengths, ["C", "CC"], cache_dir=tmp_path)
    (file,) = tmp_path.rglob("*.npz")
    file.write_bytes(file.read_bytes()[:50])
    assert molecule_values("T", lengths, ["C", "CC"], cache_dir=tmp_path).tolist() == first.tolist()


def test_processes_compute_the_same(tmp_path):
    texts = ["C" * n for n in range(1, 8)]
    one = molecule_values("T", computed, texts, cache_dir=tmp_path / "one")
    several = molecule_values("T", computed, texts, workers=2, cache_dir=tmp_path / "several")
    np.testing.assert_array_equal(one, several)


def computed(smiles):
    return np.array([len(text) ** 2 for text in smiles])


def test_none_are_none(tmp_path):
    assert molecule_values("T", lengths, [], cache_dir=tmp_path).shape == (0,)
