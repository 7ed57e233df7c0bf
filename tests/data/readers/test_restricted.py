import pickle

import numpy as np
import pytest
from scipy import sparse

from cellformer.data.readers.gcb_npz import is_gcb_archive, read_gcb
from cellformer.data.readers.restricted import (
    ArrayRecord,
    RefusedPickleError,
    SparseRecord,
    read_pickle,
)
from cellformer.data.sources import open_source
from raw_sets import Evil, gcb_file


@pytest.mark.parametrize("protocol", range(2, 5))  # those that numpy and its users wrote
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "u1", "<i8", "?"])
def test_arrays_are_read_as_pickle_reads_them(protocol, dtype):
    array = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
    for one in (array, np.asfortranarray(array)):
        found = read_pickle(pickle.dumps(one.copy(order="K"), protocol))
        assert isinstance(found, ArrayRecord)
        np.testing.assert_array_equal(found.array(), one)


def test_sparse_matrices_give_their_parts():
    matrix = sparse.csr_matrix(np.eye(3))
    found = read_pickle(pickle.dumps(matrix, 3))
    assert isinstance(found, SparseRecord)
    np.testing.assert_array_equal(found.part("indptr").array(), matrix.indptr)
    with pytest.raises(RefusedPickleError, match="has no format_"):
        found.part("format_")


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_malicious_pickle_is_never_run(protocol, tmp_path):
    content = pickle.dumps([Evil(tmp_path / "made")], protocol)
    with pytest.raises(RefusedPickleError, match=r"asks for (posix|nt)\.mkdir"):
        read_pickle(content)
    assert not (tmp_path / "made").exists()
    pickle.loads(content)  # the test would notice
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy\nndarray.__class__\n.",
        b"ccopyreg\n_reconstructor\n.",
        b"",
        b"garbage",
        pickle.dumps(np.arange(3))[:-20],
        b"c_codecs\nencode\n(S'x'\nS'rot13'\ntR.",
    ],
)
def test_anything_else_is_refused(content):
    with pytest.raises(RefusedPickleError):
        read_pickle(content)


def test_arrays_that_do_not_add_up_are_refused():
    state = (1, (2,), np.dtype("f4"), False, b"\0" * 7)
    record = ArrayRecord()
    recorded = read_pickle(pickle.dumps(np.zeros(2, "f4"), 2))
    record.state = (*state[:2], recorded.state[2], *state[3:])
    with pytest.raises(RefusedPickleError, match="do not fill"):
        record.array()
    objects = read_pickle(pickle.dumps(np.array([None, "x"], object), 2))
    with pytest.raises(RefusedPickleError, match="not of objects"):
        objects.array()
    assert objects.items() == [None, "x"]
    with pytest.raises(RefusedPickleError, match="has no valid description"):
        read_pickle(b"cnumpy\nndarray\n(tR.").array()


def test_the_original_layout_of_gcb_opens_by_path(tmp_path):
    path = gcb_file(tmp_path / "mine.npz")
    assert is_gcb_archive(path)
    opened = open_source(path)
    assert opened.targets[:, 0].tolist() == [0, 1, 2, 0, 1, 0]
    assert {part: rows.tolist() for part, rows in opened.split.items()} == {
        "train": [0, 1, 2], "val": [3, 4], "test": [5]}  # fmt: skip
    assert opened.graph(5).edges.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert opened.graph(0).vertex_features.discrete[:, 0].tolist() == [0, 1, 2, 4]


def test_a_malicious_set_is_refused_and_named(tmp_path):
    path = gcb_file(tmp_path / "evil.npz", Evil(tmp_path / "made"))
    with pytest.raises(ValueError, match=r"evil\.npz: array val_adj: .*mkdir.*could run code"):
        open_source(path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("poison", [sparse.csr_matrix(np.eye(3)), np.eye(4), None, "text"])
def test_other_things_in_the_place_of_a_matrix_are_refused(poison, tmp_path):
    path = gcb_file(tmp_path / "odd.npz", poison if poison is not None else 7)
    with pytest.raises(ValueError, match="val, graph 1"):
        read_gcb(path, "odd")


@pytest.mark.parametrize("name", ["hard_small", "easy_small"])
def test_the_published_files_equal_their_lossless_conversion(name, real_data):
    ours = read_gcb(real_data / f"gcb/{name}.npz", name)
    flat = open_source(real_data / f"gcb/{name}_flat.npz")
    assert ours.digest == flat.digest
    np.testing.assert_array_equal(ours.targets, flat.targets)
    for part, rows in ours.split.items():
        np.testing.assert_array_equal(rows, flat.split[part])
