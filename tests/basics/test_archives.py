import io
import zipfile

import numpy as np
import pytest

from cellformer.basics.archives import check_archive, kept_arrays, one_line, read_arrays

ARRAYS = {"a": np.arange(300), "b": np.random.default_rng(0).random((40, 3)), "c": np.array("word")}


@pytest.fixture(params=[np.savez, np.savez_compressed])
def file(request, tmp_path):
    request.param(tmp_path / "x.npz", **ARRAYS)
    return tmp_path / "x.npz"


def test_arrays_come_back(file):
    found = read_arrays(file)
    assert set(found) == set(ARRAYS)
    assert all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)


def test_every_damage_is_found_or_has_no_effect(file):
    content = file.read_bytes()
    for place in [*range(0, len(content), 7), *range(len(content) - 60, len(content))]:
        data = bytearray(content)
        data[place] ^= 1 << (place % 8)
        file.write_bytes(data)
        try:
            found = read_arrays(file)
        except ValueError as error:
            message = str(error)
            assert str(file) in message
            assert "\n" not in message
        else:
            assert all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)


@pytest.mark.parametrize("length", [0, 1, 30, 200, -1, -30])
def test_a_file_that_is_cut_is_named(file, length):
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"x\.npz is not an \.npz file"):
        read_arrays(file)
    with pytest.raises(ValueError, match=r"x\.npz is damaged"):
        check_archive(file)


def header(text):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.zeros(3))
    content = stream.getvalue()
    return content[:10] + text.encode().ljust(len(content) - 35, b" ") + b"\n" + bytes(24)


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': 7, 'fortran_order': 2, 'shape': 3}",
        "'''",
        "\0",
    ],
)
def test_a_header_of_nonsense_is_named_in_a_line(tmp_path, text):
    file = tmp_path / "x.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", header(text))
    with pytest.raises(ValueError, match=r"x\.npz: array 'a' ") as told:
        read_arrays(file)
    assert "\n" not in str(told.value)


def test_more_than_the_shape_needs_is_damage(tmp_path):
    file, stream = tmp_path / "x.npz", io.BytesIO()
    np.lib.format.write_array(stream, np.zeros(3))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", stream.getvalue() + b"more")
    with pytest.raises(ValueError, match="longer than its shape"):
        read_arrays(file)


def test_a_file_of_the_cache_is_told_if_it_is_damaged_and_not_if_it_is_absent(file, caplog):
    assert kept_arrays(file.with_name("absent.npz")) is None
    assert caplog.text == ""
    assert kept_arrays(file) is not None
    file.write_bytes(file.read_bytes()[:-9])
    assert kept_arrays(file) is None
    assert "x.npz is damaged and is made again" in caplog.text


def test_an_error_is_one_line():
    assert one_line(ValueError("a\nb")) == "ValueError: a"
    assert one_line(EOFError()) == "EOFError"
    assert one_line(ValueError("off: <ast.Name object at 0x7f8e>")) == "ValueError: off: ast.Name"


def test_a_damaged_array_is_not_told_to_be_loaded_unsafely(tmp_path):
    (tmp_path / "a.npy").write_bytes(bytes(64))
    with pytest.raises(ValueError, match="pickled") as raised:
        np.load(tmp_path / "a.npy", allow_pickle=False)
    assert one_line(raised.value) == "ValueError: This file contains pickled (object) data"
