"""Pickles of arrays, read without running anything that they name.

A pickle is a program: it names functions, and unpickling calls them. Here every name that a file
may use stands for a class of this module, which only records what it is given; any other name is
refused. What is recorded is turned into arrays of plain numbers, or refused, afterwards.
"""

import io
import pickle
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class RefusedPickleError(ValueError):
    """A pickle asks for something other than the arrays that it should hold."""


class Record:
    """What a pickle says of one object; the base of all that it may build."""

    def __init__(self, *given: Any):
        self.given = given
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class ArrayRecord(Record):
    """A numpy array."""

    def array(self) -> NDArray[Any]:
        """The numbers; raises RefusedPickleError unless they are plain ones."""
        _, shape, dtype, fortran, raw = self._state()
        kind = dtype.numeric()
        if not isinstance(raw, bytes) or len(raw) != kind.itemsize * _product(shape):
            raise RefusedPickleError("an array's bytes do not fill its shape")
        flat = np.frombuffer(raw, kind)
        return flat.reshape(shape, order="F" if fortran else "C")

    def items(self) -> list[Any]:
        """The objects of an array of objects, still as recorded."""
        _, shape, dtype, _, objects = self._state()
        if dtype.code() != "O" or not isinstance(objects, list) or len(objects) != _product(shape):
            raise RefusedPickleError("an array of objects was expected")
        return objects

    def _state(self) -> tuple[Any, tuple[int, ...], "DtypeRecord", Any, Any]:
        match self.state:
            case (version, tuple(shape), DtypeRecord() as dtype, fortran, raw) if all(
                isinstance(length, int) and length >= 0 for length in shape
            ):
                return version, shape, dtype, fortran, raw
        raise RefusedPickleError("an array has no valid description")


class DtypeRecord(Record):
    """The type of an array's numbers."""

    def code(self) -> str:
        """Such as "f4", or "O" for objects."""
        code = self.given[0] if self.given else None
        if not isinstance(code, str) or not re.fullmatch(r"b1|[iu][1248]|f[248]|O8?", code):
            raise RefusedPickleError(f"arrays of type {code!r} are not read")
        return code[:1] if code.startswith("O") else code

    def numeric(self) -> np.dtype[Any]:
        """The type, with its byte order; raises RefusedPickleError if it is not of numbers."""
        code = self.code()
        if code == "O":
            raise RefusedPickleError("an array of numbers was expected, not of objects")
        order = self.state[1] if isinstance(self.state, tuple) and len(self.state) > 1 else "|"
        return np.dtype(f"{order if order in ('<', '>') else '|'}{code}")


class SparseRecord(Record):
    """A scipy matrix: its arrays by name."""

    def part(self, name: str) -> Any:
        """One of ``data``, ``indices``, ``indptr`` and ``_shape``, as recorded."""
        if not isinstance(self.state, dict) or name not in self.state:
            raise RefusedPickleError(f"a sparse matrix has no {name}")
        return self.state[name]


class _Reconstruct(Record):
    """``numpy.core.multiarray._reconstruct(ndarray, (0,), b"b")``: an array to be filled."""

    def __new__(cls, *given: Any) -> Any:
        return ArrayRecord()


class _Encode(Record):
    """``_codecs.encode(text, "latin1")``: how protocol 2 writes bytes."""

    def __new__(cls, text: Any = "", encoding: Any = "") -> Any:
        if not isinstance(text, str) or encoding != "latin1":
            raise RefusedPickleError("bytes are written in an unknown way")
        return text.encode("latin1")


Names = Mapping[tuple[str, str], type]

NUMPY_NAMES: Names = {
    **{
        (module, "_reconstruct"): _Reconstruct
        for module in ("numpy.core.multiarray", "numpy._core.multiarray")
    },
    ("numpy", "ndarray"): ArrayRecord,
    ("numpy", "dtype"): DtypeRecord,
    ("_codecs", "encode"): _Encode,
    **{
        (module, "csr_matrix"): SparseRecord for module in ("scipy.sparse.csr", "scipy.sparse._csr")
    },
}
"""What a pickle of numpy arrays and scipy CSR matrices names, of any version of both."""


class RestrictedUnpickler(pickle.Unpickler):
    """Builds only what ``names`` knows; references to the outside stay what they are."""

    def __init__(self, stream: io.BytesIO, names: Names):
        super().__init__(stream)
        self._names = names

    def persistent_load(self, reference: Any) -> Any:
        """A reference, as it is written."""
        return reference

    def find_class(self, module: str, name: str) -> type:
        """The record that stands for a name; raises RefusedPickleError if there is none."""
        known = self._names.get((module, name))
        if known is None:
            raise RefusedPickleError(
                f"it asks for {module}.{name}, which arrays do not need and which could run code"
            )
        return known


def read_pickle(content: bytes, names: Names = NUMPY_NAMES) -> Any:
    """What a pickle holds, with records in the place of arrays.

    Raises RefusedPickleError if it names anything else, or is damaged. Nothing that it names is
    imported or called.
    """
    try:
        return RestrictedUnpickler(io.BytesIO(content), names).load()
    except RefusedPickleError:
        raise
    except Exception as error:  # a damaged pickle raises nearly any kind
        raise RefusedPickleError(f"it is damaged ({type(error).__name__}: {error})") from None


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total
