"""Fitted state as JSON and arrays, and back.

What can be written: None, booleans, numbers, strings, lists, tuples, dicts, numpy arrays and
scalars, CSR and CSC matrices, numeric pandas dataframes, and objects of the classes in
`concordant.io.registry`, as their attributes. JSON says the first kinds itself; every other
value is an object with an entry ``"is"``. Arrays stand apart, referred to by number.

Reading builds these kinds only. No constructor, no method and no import that a file could
choose runs: an object is made empty and its attributes are put in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.io.errors import ModelFileError
from concordant.io.registry import class_of, key_of

#: Kinds of array whose bytes are their values: booleans, numbers, fixed-width text.
PLAIN_KINDS = "biufSU"
_SPARSE = {"csr_array", "csr_matrix", "csc_array", "csc_matrix"}
_KEY_TYPES = (str, int, float, bool, type(None))
_ATOMS = (bool, int, str, type(None))
MAX_DIGITS = 4000  # Python's own limit for integers in text is 4300


class Encoder:
    """Values to JSON; what cannot be written raises a TypeError that names the attribute."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}
        self._open: list[int] = []
        self._path: list[str] = ["model"]

    def value(self, value: Any) -> Any:
        """The JSON of one value."""
        if type(value) in _ATOMS:
            return self._atom(value)
        if type(value) is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"is": "scalar", "value": self._array(np.asarray(value))}
        with self._inside(value):
            return self._composite(value)

    def _atom(self, value: Any) -> Any:
        if type(value) is int and abs(value) >= 10**MAX_DIGITS:
            raise TypeError(f"{self._where()} is too large an integer for a model file")
        return value

    def _composite(self, value: Any) -> Any:
        if type(value) is list:
            return [self._at(f"[{i}]", v) for i, v in enumerate(value)]
        if type(value) is tuple:
            return {"is": "tuple", "items": [self._at(f"[{i}]", v) for i, v in enumerate(value)]}
        if type(value) is dict:
            return self._dict(value)
        if type(value).__name__ in _SPARSE and sp.issparse(value):
            return self._sparse(value)
        if _is_frame(value):
            return self._frame(value)
        return self._object(value)

    def _dict(self, value: dict[Any, Any]) -> Any:
        if all(type(key) is str for key in value):
            return {"is": "dict", "items": {k: self._at(f"[{k!r}]", v) for k, v in value.items()}}
        pairs = []
        for key, v in value.items():
            if not _can_be_key(key):
                raise TypeError(f"{self._where()} has a key of type {type(key).__name__}")
            pairs.append([self.value(key), self._at(f"[{key!r}]", v)])
        return {"is": "pairs", "items": pairs}

    def _array(self, value: np.ndarray) -> Any:
        if type(value) is not np.ndarray:
            raise TypeError(f"{self._where()} is a {type(value).__name__}, not a plain array")
        if value.dtype.kind == "O":
            items = [self._at(f"[{i}]", v) for i, v in enumerate(value.ravel().tolist())]
            return {"is": "objects", "shape": list(value.shape), "items": items}
        if value.dtype.kind not in PLAIN_KINDS or value.dtype.itemsize == 0:
            raise TypeError(f"{self._where()} is an array of {value.dtype}")
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.arrays)
            self.arrays.append(value)  # kept, so that no other gets its id
        return {"is": "array", "number": number}

    def _sparse(self, value: Any) -> Any:
        parts = {name: self._array(getattr(value, name)) for name in ("data", "indices", "indptr")}
        kind = type(value).__name__
        return {"is": "sparse", "kind": kind, "shape": list(map(int, value.shape)), **parts}

    def _frame(self, value: Any) -> Any:
        values = value.to_numpy()
        if values.dtype.kind not in "biuf" or value.index.nlevels + value.columns.nlevels != 2:
            raise TypeError(f"{self._where()} is a dataframe that does not hold numbers only")
        names = {"index": value.index.tolist(), "columns": value.columns.tolist()}
        return {"is": "frame", "values": self._array(values)} | {
            name: self.value(labels) for name, labels in names.items()
        }

    def _object(self, value: Any) -> Any:
        key = key_of(type(value))
        if key is None:
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            what = f"a function ({kind})" if _is_function(value) else f"of type {kind}"
            raise TypeError(
                f"{self._where()} is {what}: model files hold data of known kinds and no code. "
                "Replace it (a kernel by name, a random state by its seed), or pickle the model "
                "for yourself"
            )
        if isinstance(value, tuple):  # NamedTuple
            fields = [self._at(f".{name}", v) for name, v in zip(value._fields, value)]  # type: ignore[attr-defined]
            return {"is": "record", "class": key, "fields": fields}
        state = {name: self._at(f".{name}", v) for name, v in vars(value).items()}
        return {"is": "object", "class": key, "state": state}

    def _at(self, step: str, value: Any) -> Any:
        self._path.append(step)
        encoded = self.value(value)
        self._path.pop()
        return encoded

    @contextmanager
    def _inside(self, value: Any) -> Iterator[None]:
        if id(value) in self._open:
            raise TypeError(f"{self._where()} contains itself")
        self._open.append(id(value))
        yield
        self._open.pop()

    def _where(self) -> str:
        return "".join(self._path)


def _is_function(value: Any) -> bool:
    return callable(value) and not hasattr(value, "get_params")  # losses can be called too


def _can_be_key(key: Any) -> bool:
    if type(key) is tuple:
        return all(_can_be_key(item) for item in key)
    return type(key) in _KEY_TYPES


def _is_frame(value: Any) -> bool:
    return type(value).__name__ == "DataFrame" and type(value).__module__.split(".")[0] == "pandas"


class Decoder:
    """JSON back to values; anything unexpected raises ModelFileError."""

    def __init__(self, arrays: list[np.ndarray]):
        self._arrays = arrays
        self._matrices: dict[str, Any] = {}

    def value(self, coded: Any) -> Any:
        """The value of one piece of JSON."""
        if type(coded) is list:
            return [self.value(item) for item in coded]
        if type(coded) is not dict:
            return coded
        kind = coded.get("is")
        if not isinstance(kind, str) or kind not in _READERS:
            raise ModelFileError(f"damaged model file: unknown kind of value {str(kind)[:40]!r}")
        return _READERS[kind](self, coded)

    def _float(self, coded: Any) -> float:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[coded["value"]]

    def _tuple(self, coded: Any) -> tuple[Any, ...]:
        return tuple(self.value(_list(coded["items"])))

    def _dict(self, coded: Any) -> dict[Any, Any]:
        return {key: self.value(item) for key, item in _mapping(coded["items"]).items()}

    def _pairs(self, coded: Any) -> dict[Any, Any]:
        pairs = [(self.value(key), self.value(item)) for key, item in _list(coded["items"])]
        if not all(_can_be_key(key) for key, _ in pairs):
            raise ModelFileError("damaged model file: a key of a dict cannot be one")
        return dict(pairs)

    def _array(self, coded: Any) -> np.ndarray:
        number = coded["number"]
        if type(number) is not int or not 0 <= number < len(self._arrays):
            raise ModelFileError("damaged model file: it refers to an array it does not hold")
        return self._arrays[number]

    def _scalar(self, coded: Any) -> Any:
        array = self._array(coded["value"])
        if array.shape != ():
            raise ModelFileError("damaged model file: a scalar has a shape")
        return array[()]

    def _objects(self, coded: Any) -> np.ndarray:
        items, shape = _list(coded["items"]), _shape(coded["shape"])
        if math.prod(shape) != len(items):
            raise ModelFileError("damaged model file: an array has too few or too many items")
        out = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            out[i] = self.value(item)
        return out.reshape(shape)

    def _sparse(self, coded: Any) -> Any:
        known = self._matrices.get(repr(coded))  # one matrix in two places stays one
        if known is not None:
            return known
        kind = coded["kind"]
        if not isinstance(kind, str) or kind not in _SPARSE:
            raise ModelFileError("damaged model file: unknown kind of sparse matrix")
        data, indices, indptr = (self.value(coded[k]) for k in ("data", "indices", "indptr"))
        matrix = getattr(sp, kind)((data, indices, indptr), shape=_shape(coded["shape"]))
        matrix.check_format(full_check=True)
        self._matrices[repr(coded)] = matrix
        return matrix

    def _frame(self, coded: Any) -> Any:
        import pandas as pd

        index, columns = self.value(coded["index"]), self.value(coded["columns"])
        return pd.DataFrame(self._array(coded["values"]), index=index, columns=columns)

    def _record(self, coded: Any) -> Any:
        kind = _known(coded["class"], is_record=True)
        return kind._make(self.value(_list(coded["fields"])))

    def _object(self, coded: Any) -> Any:
        kind = _known(coded["class"], is_record=False)
        new = kind.__new__(kind)
        state = {name: self.value(item) for name, item in _mapping(coded["state"]).items()}
        vars(new).update(state)
        return new


_READERS = {
    "float": Decoder._float,
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "pairs": Decoder._pairs,
    "array": Decoder._array,
    "scalar": Decoder._scalar,
    "objects": Decoder._objects,
    "sparse": Decoder._sparse,
    "frame": Decoder._frame,
    "record": Decoder._record,
    "object": Decoder._object,
}


def _known(key: Any, is_record: bool) -> Any:
    try:
        kind = class_of(str(key))
    except KeyError:
        raise ModelFileError(
            f"the model file holds a {str(key)[:60]!r}, which this version of the library does "
            "not know; it may come from a newer one"
        ) from None
    if issubclass(kind, tuple) is not is_record:
        raise ModelFileError(f"damaged model file: {key!r} is written the wrong way")
    return kind


def _list(items: Any) -> list[Any]:
    if type(items) is not list:
        raise ModelFileError("damaged model file: a list is missing")
    return items


def _mapping(items: Any) -> dict[str, Any]:
    if type(items) is not dict:
        raise ModelFileError("damaged model file: named values are missing")
    return items


def _shape(shape: Any) -> tuple[int, ...]:
    if len(_list(shape)) > 32 or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
        raise ModelFileError("damaged model file: an impossible shape")
    return tuple(shape)
