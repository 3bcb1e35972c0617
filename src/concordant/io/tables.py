"""Tables from files: CSV, TSV, Parquet, SVMlight; what their columns are; the labels.

Rows are counted from 1, the header line of a text file not included.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from concordant.io.encoding import Column, category_texts
from concordant.io.errors import DataFileError

#: Cells that mean "no value"; all else is text.
EMPTY = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
MAX_CATEGORIES = 100
MAX_LABELS = 100
#: A column in which this share of the texts are numbers is one of numbers with mistakes in it.
MOSTLY = 0.5

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
FORMATS = ("csv", "tsv", "parquet", "svmlight")
_PACKED = {".gz", ".bz2", ".xz", ".zst"}


def format_of(path: str, given: str | None = None) -> str:
    """The format asked for, else the one the name ends with; CSV for standard input."""
    if given is not None:
        return given
    if path == "-":
        return "csv"
    suffixes = [s.lower() for s in Path(path).suffixes]
    kept = [s for s in suffixes if s not in _PACKED]
    found = _SUFFIXES.get(kept[-1] if kept else "")
    if found is None:
        raise DataFileError(
            f"cannot tell the format of {path!r} from its name; say --format "
            f"{'|'.join(FORMATS)} (names like data.csv, .tsv, .parquet, .svm need no option)"
        )
    return found


# ---------------------------------------------------------------- reading


def read_frame(
    path: str,
    kind: str = "csv",
    *,
    encoding: str = "utf-8",
    empty: Sequence[str] = EMPTY,
    categories: Sequence[str] = (),
) -> Any:
    """A whole table as a pandas dataframe; raises DataFileError in words."""
    if kind == "parquet":
        return _read_parquet(path)
    (frame,) = read_chunks(
        path, kind, encoding=encoding, empty=empty, categories=categories, rows=None
    )
    return frame


def read_chunks(
    path: str,
    kind: str = "csv",
    *,
    encoding: str = "utf-8",
    empty: Sequence[str] = EMPTY,
    categories: Sequence[str] = (),
    rows: int | None = 10_000,
) -> Iterator[Any]:
    """A text table piece by piece, in order."""
    import pandas as pd

    _check_readable(path)
    separator = "\t" if kind == "tsv" else ","
    options: dict[str, Any] = {
        "sep": separator,
        "encoding": encoding,
        "na_values": list(empty),
        "keep_default_na": False,
        "dtype": dict.fromkeys(categories, str),
        "low_memory": False,
        "skipinitialspace": True,
    }
    found = False
    source: Any = sys.stdin.buffer if path == "-" else path
    try:
        if rows is None:
            frames: Any = [pd.read_csv(source, **options)]
        else:
            frames = pd.read_csv(source, chunksize=rows, **options)
        for frame in frames:
            _check_header(frame, path, separator)
            if len(frame) or not found:
                found = True
                yield frame.reset_index(drop=True)
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{path!r} is not {encoding}: byte {error.object[error.start]:#04x} at position "
            f"{error.start} of a block; name its encoding, for example --encoding latin-1"
        ) from error
    except pd.errors.EmptyDataError:
        raise DataFileError(f"{path!r} is empty: it has no header line and no rows") from None
    except pd.errors.ParserError as error:
        raise DataFileError(f"{path!r} is no proper table: {str(error).strip()}") from error


def _check_readable(path: str) -> None:
    if path == "-":
        return
    if not os.path.exists(path):
        raise DataFileError(f"there is no file {path!r}")
    if os.path.isdir(path):
        raise DataFileError(f"{path!r} is a folder, not a file")


def _check_header(frame: Any, path: str, separator: str) -> None:
    if frame.shape[1] == 1 and len(frame.columns):
        only = str(frame.columns[0])
        other = next((c for c in ",;\t|" if c != separator and c in only), None)
        if other is not None:
            raise DataFileError(
                f"{path!r} has a single column, {only[:60]!r}, which looks separated by "
                f"{other!r}; this reader takes commas (csv) or tabs (--format tsv)"
            )
    if isinstance(frame.index, range) or frame.index.dtype.kind in "iu":
        return
    raise DataFileError(f"{path!r}: its rows have more cells than its header line has names")


def _read_parquet(path: str) -> Any:
    import pandas as pd

    _check_readable(path)
    try:
        import pyarrow
    except ImportError:
        raise DataFileError("Parquet needs pyarrow: pip install 'concordant[parquet]'") from None
    try:
        return pd.read_parquet(path)
    except (pyarrow.ArrowException, ValueError) as error:
        raise DataFileError(f"{path!r} is no Parquet file: {error}") from error


def read_svmlight(path: str, n_features: int | None = None) -> tuple[Any, np.ndarray]:
    """Sparse features and labels; whole numbers as integers."""
    from sklearn.datasets import load_svmlight_file

    _check_readable(path)
    try:
        x, y = load_svmlight_file(path, n_features=n_features)
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise DataFileError(f"{path!r} is no SVMlight file: {error}") from error
    if len(y) == 0:
        raise DataFileError(f"{path!r} is empty: it has no rows")
    return x, _whole(y)


# ---------------------------------------------------------------- columns


@dataclass(frozen=True)
class Schema:
    """What a table was taken for: columns of features, and labels."""

    columns: tuple[Column, ...]
    target: str
    labels: tuple[Any, ...]
    rows: int
    ordered: bool = False

    def describe(self) -> list[tuple[str, str, str]]:
        """Name, kind and remarks of each column, the target last."""
        lines = [(c.name, c.kind, _remark(c)) for c in self.columns]
        what = "ordered labels" if self.ordered else "labels"
        shown = [str(label) for label in self.labels[:10]]
        more = [f"and {len(self.labels) - 10} more"] if len(self.labels) > 10 else []
        return [*lines, (self.target, what, (" < " if self.ordered else ", ").join(shown + more))]


def _remark(column: Column) -> str:
    parts = [column.note] if column.note else []
    if column.kind == "category":
        shown = ", ".join(column.categories[:6])
        more = len(column.categories) - 6
        parts.append(f"{shown}, and {more} more" if more > 0 else shown)
    if column.missing:
        parts.append(f"{column.missing:,} missing")
    return "; ".join(parts)


def infer_columns(
    frame: Any, categories: Sequence[str] = (), ignored: Sequence[str] = ()
) -> tuple[Column, ...]:
    """What each column of features is."""
    for name in [*categories, *ignored]:
        check_column(frame, name)
    if frame.columns.duplicated().any():
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataFileError(f"two columns are called {twice!r}")
    return tuple(
        Column(str(name), "ignored", note="as asked")
        if name in ignored
        else _infer(frame[name], str(name), name in categories)
        for name in frame.columns
    )


def _infer(values: Any, name: str, as_category: bool) -> Column:
    missing = int(values.isna().sum())
    if missing == len(values):
        return Column(name, "ignored", missing=missing, note="empty")
    if not as_category and values.dtype.kind in "iuf":
        return _number(values, name, missing)
    if values.dtype.kind == "M":
        return Column(name, "ignored", missing=missing, note="dates")
    texts = category_texts(values.dropna())
    if not as_category and values.dtype.kind not in "b":
        _refuse_mixed(values, name)
    found = np.unique(texts.astype(str))
    if len(found) > MAX_CATEGORIES:
        note = f"{len(found):,} different texts in {len(values):,} rows"
        return Column(name, "ignored", missing=missing, note=note)
    if len(found) == 1 and not missing:
        return Column(name, "ignored", note=f"always {found[0]!r}")
    return Column(name, "category", tuple(found.tolist()), missing)


def _number(values: Any, name: str, missing: int) -> Column:
    least, largest = float(values.min()), float(values.max())
    if not np.isfinite([least, largest]).all():
        row = int(np.isinf(values.to_numpy(dtype=float)).argmax())
        raise DataFileError(f"column {name!r} holds an infinite number in row {row + 1}")
    if least == largest and not missing:
        return Column(name, "ignored", note=f"always {least:g}")
    return Column(name, "number", (), missing, f"{least:g} to {largest:g}")


def _refuse_mixed(values: Any, name: str) -> None:
    """Mostly numbers, with texts between: a mistake in the file more often than a category."""
    import pandas as pd

    present = values.dropna()
    parsed = pd.to_numeric(present.astype(str), errors="coerce").isna().to_numpy()
    if parsed.all() or parsed.mean() > 1 - MOSTLY:
        return
    if not parsed.any():  # numbers that came as text
        return
    row = int(present.index[int(parsed.argmax())])
    text = present.iloc[int(parsed.argmax())]
    raise DataFileError(
        f"column {name!r} mixes numbers and text: {int(parsed.sum()):,} of {len(present):,} values "
        f"are no numbers, the first {text!r} in row {row + 1}; say --missing-value {str(text)!r} "
        f"if that means no value, --category {name} if these are categories, or --ignore {name}"
    )


def check_column(frame: Any, name: str) -> None:
    """The column exists; else an error that names near misses."""
    if name in frame.columns:
        return
    names = [str(c) for c in frame.columns]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    raise DataFileError(f"there is no column {name!r}{hint} Columns: {shown}")


# ---------------------------------------------------------------- labels


def labels_of(frame: Any, target: str, max_labels: int = MAX_LABELS) -> np.ndarray:
    """The target column as labels: texts, or integers where all are whole."""
    check_column(frame, target)
    values = frame[target]
    empty = values.isna().to_numpy()
    if len(values) == 0:
        raise DataFileError("the table has a header line but no rows")
    if empty.any():
        raise DataFileError(
            f"the target {target!r} is empty in {int(empty.sum()):,} rows, first in row "
            f"{int(empty.argmax()) + 1}; remove those rows"
        )
    y = _whole(values.to_numpy()) if values.dtype.kind in "iuf" else _texts(values, target)
    different = len(np.unique(y))
    if different > max_labels:
        raise DataFileError(
            f"the target {target!r} has {different:,} different values in {len(y):,} rows: that is "
            "a measurement or a name rather than a label. Bin it into grades, choose another "
            f"column, or allow as many with --max-labels {different}"
        )
    return y


def _texts(values: Any, target: str) -> np.ndarray:
    if values.dtype.kind == "b":
        return np.where(values.to_numpy(), "True", "False")
    items = values.tolist()
    if hasattr(values, "cat"):
        items = list(values.astype(object))
        if all(isinstance(v, (int, np.integer)) for v in items):
            return np.array(items)
    _refuse_mixed(values, target)
    return np.array([str(v) for v in items])


def _whole(y: np.ndarray) -> np.ndarray:
    """Integers where all values are whole numbers."""
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y == np.round(y)).all():
        return y.astype(np.int64)
    return y


def given_order(frame: Any, target: str) -> list[str] | None:
    """The order that an ordered categorical column (from Parquet) brings along."""
    categories = getattr(frame[target].dtype, "categories", None)
    if categories is None or not frame[target].dtype.ordered:
        return None
    return list(categories)
