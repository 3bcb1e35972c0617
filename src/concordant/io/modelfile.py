"""Model files: one file, arrays and JSON, with a checksum; loading runs no code.

The bytes, in order:

====================  =============================================================
``concordant model``  and a blank and the format's number, ended by a newline
64 hex digits         SHA-256 of everything behind them and their newline
16 digits             length of the JSON in bytes, ended by a newline
JSON                  ``format``, ``library``, ``about``, ``arrays``, ``model``
arrays                each at the next multiple of 64 bytes, little-endian
====================  =============================================================

``arrays`` lists dtype, shape and order of each; their places follow from that, and together they
must fill the file exactly. `concordant.io.state` says what ``model`` is.

The checksum finds damage, not malice: a file made to deceive can hold any numbers, but nothing
in it is ever executed or imported.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from concordant.io.atomic import write_atomically
from concordant.io.errors import ModelFileError
from concordant.io.state import PLAIN_KINDS, Decoder, Encoder, _shape

MAGIC = b"concordant model "
FORMAT = 1
ALIGN = 64
_DIGEST, _LENGTH = 64, 16


def save(model: Any, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None) -> Path:
    """Write a model, or a pipeline with one, to a file that holds data and no code.

    A file that exists is replaced in one step: a process killed at any moment leaves the old
    one or the new one.

    Parameters
    ----------
    model : estimator
        An estimator of the library, or a scikit-learn ``Pipeline`` of scalers and one.
    path : str or path
    about : dict, default=None
        Notes of your own that travel with the model: plain values that ``json`` can write.

    Raises
    ------
    TypeError
        If the model holds what data cannot express, such as a kernel that is a function; the
        message names the attribute.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import concordant as cc
    >>> model = cc.Classifier("absolute").fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "grades.model"
    >>> again = cc.load(cc.save(model, path))
    >>> again.predict([[5.0]])
    array(['c'], dtype='<U1')
    """
    encoder = Encoder()
    coded = encoder.value(model)
    if not isinstance(coded, dict) or coded.get("is") != "object":
        raise TypeError(f"save needs an estimator, got {type(model).__name__}")
    return write_atomically(path, _pieces(coded, encoder.arrays, about or {}))


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file written by `save`.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or comes from a newer version.
    """
    header, payload = _read(path)
    try:
        return Decoder(_arrays(header["arrays"], payload)).value(header["model"])
    except ModelFileError:
        raise
    except _DAMAGE as error:
        raise ModelFileError(f"damaged model file: {_short(error)}") from error


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself without building the model.

    Returns
    -------
    dict
        ``format``, ``library`` (the version that wrote it), ``about``, ``bytes``, ``arrays``.
    """
    header, _ = _read(path)
    about, arrays = header.get("about"), header["arrays"]
    if not isinstance(about, dict) or not isinstance(arrays, list):
        raise ModelFileError("damaged model file: its description is missing")
    return {
        "format": FORMAT,
        "library": str(header.get("library")),
        "about": about,
        "arrays": len(arrays),
        "bytes": os.path.getsize(path),
    }


#: What a wrong value in well-formed JSON can raise while it is read.
_DAMAGE = (
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


def _short(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]


# ---------------------------------------------------------------- writing


def _pieces(
    coded: Any, arrays: list[np.ndarray], about: dict[str, Any]
) -> Iterator[bytes | memoryview]:
    from concordant import __version__

    table, bodies = [], []
    for array in arrays:
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        order: Any = "F" if little.flags.f_contiguous and not little.flags.c_contiguous else "C"
        table.append({"dtype": little.dtype.str, "shape": list(array.shape), "order": order})
        bodies.append(np.ravel(little, order=order))
    header = {
        "format": FORMAT,
        "library": __version__,
        "about": about,
        "arrays": table,
        "model": coded,
    }
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    start = len(MAGIC) + len(f"{FORMAT}\n") + _DIGEST + 1 + _LENGTH + 1
    body: list[bytes | memoryview] = [f"{len(text):0{_LENGTH}d}\n".encode(), text]
    at = start + len(text)
    for flat in bodies:
        body.append(b"\0" * (-at % ALIGN))
        body.append(flat.view(np.uint8).data)
        at += -at % ALIGN + flat.nbytes
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    yield MAGIC + f"{FORMAT}\n{digest.hexdigest()}\n".encode()
    yield from body


# ---------------------------------------------------------------- reading


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], memoryview]:
    """The header, and the bytes behind it counted from the file's beginning."""
    with open(path, "rb") as file:
        _check_magic(file, path)
        stated = file.read(_DIGEST + 1)
        body = file.read()
    if hashlib.sha256(body).hexdigest().encode() + b"\n" != stated:
        raise ModelFileError(f"damaged model file {os.fspath(path)!r}: its checksum is wrong")
    length = body[:_LENGTH]
    if not length.isdigit() or body[_LENGTH : _LENGTH + 1] != b"\n":
        raise ModelFileError("damaged model file: the length of its header is missing")
    end = _LENGTH + 1 + int(length)
    if end > len(body):
        raise ModelFileError("damaged model file: its header is longer than the file")
    try:
        header = json.loads(body[_LENGTH + 1 : end].decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"damaged model file: {_short(error)}") from error
    if not isinstance(header, dict) or not {"arrays", "model"} <= set(header):
        raise ModelFileError("damaged model file: its header holds no model")
    return header, memoryview(body)[end:]


def _check_magic(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    first = file.read(len(MAGIC))
    if first != MAGIC:
        raise ModelFileError(f"{os.fspath(path)!r} is not a model file of this library")
    number = file.readline(8)
    if number != f"{FORMAT}\n".encode():
        if number.strip().isdigit() and int(number) > FORMAT:
            raise ModelFileError(
                f"{os.fspath(path)!r} has format {int(number)}; this version of the library reads "
                f"up to {FORMAT}: install a newer one"
            )
        raise ModelFileError(f"damaged model file {os.fspath(path)!r}: no format number")


def _arrays(table: Any, payload: memoryview) -> list[np.ndarray]:
    """The arrays as copies of their own; every size is checked before anything is allocated."""
    if not isinstance(table, list):
        raise ModelFileError("damaged model file: the list of its arrays is missing")
    header = len(MAGIC) + len(f"{FORMAT}\n") + _DIGEST + 1
    total = header + len(payload.obj)  # type: ignore[arg-type]
    at, found = total - len(payload), []
    for row in table:
        kind, shape, order = _layout(row)
        at += -at % ALIGN
        size = kind.itemsize
        for n in shape:
            size *= n
        if size > total - at:
            raise ModelFileError("damaged model file: it is shorter than its arrays")
        offset = at - (total - len(payload))
        flat = np.frombuffer(payload[offset : offset + size], dtype=kind)
        _check_text(flat)
        found.append(flat.reshape(shape, order=order).copy(order=order))
        at += size
    if at != total:
        raise ModelFileError("damaged model file: bytes behind its last array")
    return found


def _layout(row: Any) -> tuple[np.dtype[Any], tuple[int, ...], Any]:
    if not isinstance(row, dict) or row.get("order") not in ("C", "F"):
        raise ModelFileError("damaged model file: an array without description")
    text = row["dtype"]
    if not isinstance(text, str) or len(text) > 16 or text[1:2] not in PLAIN_KINDS:
        raise ModelFileError(f"damaged model file: an array of {str(text)[:20]!r}")
    kind = np.dtype(text)
    if kind.kind not in PLAIN_KINDS or kind.itemsize == 0 or kind.str != text:
        raise ModelFileError(f"damaged model file: an array of {text!r}")
    return kind, _shape(row["shape"]), row["order"]


def _check_text(flat: np.ndarray) -> None:
    """numpy shows text as it is; code points that do not exist would surface much later."""
    if flat.dtype.kind == "U" and flat.size and flat.view("<u4").max() > 0x10FFFF:
        raise ModelFileError("damaged model file: text with impossible characters")
