"""Data sets that are not ours to bundle: from a folder of yours, or downloaded and checked.

Files are kept in ``$CONCORDANT_DATA``, else ``~/.cache/concordant``. Each is known by the SHA-256
of its content; a file that does not match is never used. An interrupted download goes on where it
stopped.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from concordant.io.atomic import write_atomically
from concordant.io.errors import DataFileError

TIMEOUT = 30.0  # seconds without a byte
BLOCK = 1 << 16
_RAW = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class RemoteFile:
    """One file by its content. `member` is its path inside a zip archive at `url`."""

    name: str
    url: str
    sha256: str
    size: int
    member: str = ""


@dataclass(frozen=True)
class Remote:
    """A data set elsewhere. `largest` bounds a download in bytes."""

    name: str
    licence: str
    files: tuple[RemoteFile, ...]
    largest: int = 50_000_000


CONLL2000 = Remote(
    "conll2000",
    "none stated; Wall Street Journal text that the CoNLL-2000 shared task made freely available",
    tuple(
        RemoteFile(
            f"{part}.txt",
            f"{_RAW}/teropa/nlp/f89bc5a15b516208de1cfe2abe9692b7ed9a43e2/resources/corpora/"
            f"conll2000/{part}.txt",
            digest,
            size,
        )
        for part, digest, size in (
            ("train", "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea", 2842164),
            ("test", "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628", 639396),
        )
    ),
)
BASENP = Remote(
    "basenp",
    "repository BSD 3-clause or LGPL 2.1; the text is Wall Street Journal, as in CoNLL-2000",
    tuple(
        RemoteFile(
            name,
            f"{_RAW}/taku910/crfpp/c603ea6fc2cc8e5317d2754971bc787da383f7e5/example/basenp/{name}",
            digest,
            size,
        )
        for name, digest, size in (
            (
                "train.data",
                "eff25bc47150895e6234d439652efa8ebd598f69da28289d9f448468a2a0cba7",
                20424,
            ),
            (
                "test.data",
                "b85caf6b655c5600fa638754880bb524f7c0f0c3fdfd186f9dbd7f5839231885",
                206550,
            ),
            ("template", "ddbd16fe5459c5d5baf10932f7d938dc5e91a52558b1bac60ecfb43f702e5d7e", 372),
        )
    ),
)
MOVIELENS = Remote(
    "movielens-100k",
    "GroupLens research licence: no redistribution, no commercial use without permission; "
    "acknowledge Harper and Konstan (2015)",
    tuple(
        RemoteFile(
            name,
            "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
            digest,
            size,
            f"ml-100k/{name}",
        )
        for name, digest, size in (
            ("u.data", "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490", 1979173),
            ("u.user", "f120e114da2e8cf314fd28f99417c94ae9ddf1cb6db8ce0e4b5995d40e90e62c", 22628),
            ("u.item", "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701", 236344),
        )
    ),
)


def fetch_conll2000(
    folder: str | os.PathLike[str] | None = None, *, download: bool = True
) -> Bunch:
    """CoNLL-2000: phrases of 8,936 training and 2,012 test sentences.

    Parameters
    ----------
    folder : str or path, default=None
        Where ``train.txt`` and ``test.txt`` are, as they are or gzipped, or shall be put; by
        default the cache.
    download : bool, default=True
        Whether what is missing may be downloaded (3.5 MB); its licence is shown first.

    Returns
    -------
    Bunch
        ``train`` and ``test``: lists of sentences, each a list of (word, tag, chunk); ``folder``,
        ``DESCR``.
    """
    where = fetch(CONLL2000, folder, download=download)
    parts = {p: _sentences(content(where / f"{p}.txt").decode()) for p in ("train", "test")}
    return Bunch(**parts, folder=where, DESCR=_describe(CONLL2000))


def fetch_basenp(folder: str | os.PathLike[str] | None = None, *, download: bool = True) -> Bunch:
    """Base noun phrases of 77 training and 823 test sentences, as CRF++ ships them.

    Parameters and result are those of `fetch_conll2000`, with ``template``, the text of the CRF++
    feature template (0.2 MB).
    """
    where = fetch(BASENP, folder, download=download)
    parts = {p: _sentences(content(where / f"{p}.data").decode()) for p in ("train", "test")}
    template = content(where / "template").decode()
    return Bunch(**parts, template=template, folder=where, DESCR=_describe(BASENP))


def fetch_movielens(
    folder: str | os.PathLike[str] | None = None, *, download: bool = True
) -> Bunch:
    """MovieLens 100K: 100,000 ratings of 1,682 films by 943 people.

    Parameters
    ----------
    folder : str or path, default=None
        Where ``u.data``, ``u.user`` and ``u.item`` are, as they are or gzipped, or shall be put;
        by default the cache.
    download : bool, default=True
        Whether what is missing may be downloaded (5 MB); its licence is shown first.

    Returns
    -------
    Bunch
        ``ratings`` (943, 1682) with NaN where there is none; ``people``, a list of (age, sex,
        occupation); ``films``, titles; ``folder``, ``DESCR``.
    """
    where = fetch(MOVIELENS, folder, download=download)
    table = np.loadtxt(content(where / "u.data").decode().splitlines(), dtype=np.int64)
    ratings = np.full((943, 1682), np.nan)
    ratings[table[:, 0] - 1, table[:, 1] - 1] = table[:, 2]
    rows = [line.split("|") for line in content(where / "u.user").decode().splitlines()]
    people = [(int(age), sex, work) for _, age, sex, work, _ in rows]
    films = [
        line.split("|")[1] for line in content(where / "u.item").decode("latin-1").splitlines()
    ]
    return Bunch(
        ratings=ratings, people=people, films=films, folder=where, DESCR=_describe(MOVIELENS)
    )


def _describe(remote: Remote) -> str:
    places = sorted({file.url for file in remote.files})
    return f"{remote.name}\n\nFrom: {', '.join(places)}\nLicence: {remote.licence}\n"


def _sentences(text: str) -> list[list[tuple[str, ...]]]:
    """Columns separated by blanks, sentences by blank lines."""
    blocks = (block.splitlines() for block in text.replace("\r\n", "\n").split("\n\n"))
    return [[tuple(line.split()) for line in block if line.strip()] for block in blocks if block]


# ---------------------------------------------------------------- files


def cache_folder() -> Path:
    """Where downloads are kept."""
    given = os.environ.get("CONCORDANT_DATA")
    return Path(given) if given else Path.home() / ".cache" / "concordant"


def fetch(
    remote: Remote, folder: str | os.PathLike[str] | None = None, *, download: bool = True
) -> Path:
    """The folder with all files of the data set, each checked; raises DataFileError."""
    where = cache_folder() / remote.name if folder is None else Path(folder)
    missing = [file for file in remote.files if not _is_there(where, file)]
    if not missing:
        return where
    names = ", ".join(file.name for file in missing)
    if not download:
        raise DataFileError(
            f"{remote.name}: {where} lacks {names}; get them from {missing[0].url}, or allow "
            "download=True"
        )
    print(
        f"downloading {remote.name} ({names}) to {where}\nlicence: {remote.licence}",
        file=sys.stderr,
    )
    where.mkdir(parents=True, exist_ok=True)
    for url in dict.fromkeys(file.url for file in missing):
        _get(url, [file for file in missing if file.url == url], where, remote.largest)
    return where


def content(path: Path) -> bytes:
    """The bytes of a file, or of the gzipped one beside it."""
    if path.exists():
        return path.read_bytes()
    return gzip.decompress(path.with_name(path.name + ".gz").read_bytes())


def _is_there(where: Path, file: RemoteFile) -> bool:
    path = where / file.name
    if not path.exists() and not path.with_name(path.name + ".gz").exists():
        return False
    _check(content(path), file, str(path))
    return True


def _check(raw: bytes, file: RemoteFile, origin: str) -> None:
    found = hashlib.sha256(raw).hexdigest()
    if found != file.sha256:
        raise DataFileError(
            f"{origin} is not the {file.name} we know: {len(raw):,} bytes with SHA-256 "
            f"{found[:16]}…, expected {file.size:,} bytes with {file.sha256[:16]}…; remove it to "
            "download it again"
        )


def _get(url: str, files: list[RemoteFile], where: Path, largest: int) -> None:
    """Download `url`, take the files out of it, check them, put them in place."""
    part = where / f".{files[0].name}.part"
    _download(url, part, largest)
    try:
        if not files[0].member:
            (file,) = files
            _check(part.read_bytes(), file, url)
            os.replace(part, where / file.name)
            return
        with zipfile.ZipFile(part) as archive:
            for file in files:
                if archive.getinfo(file.member).file_size != file.size:
                    raise DataFileError(f"{url}: {file.member} has another size than we know")
                raw = archive.read(file.member)
                _check(raw, file, url)
                write_atomically(where / file.name, [raw])
        part.unlink()
    except (DataFileError, zipfile.BadZipFile, KeyError) as error:
        part.unlink(missing_ok=True)  # a damaged beginning must not be continued
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"{url} is not the archive we know: {error}") from error


def _download(url: str, part: Path, largest: int) -> None:
    """Add what is missing to `part`; the server decides whether it goes on or starts again."""
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "concordant"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            goes_on = answer.status == 206
            _copy(answer, part, start if goes_on else 0, largest)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # nothing is missing
            return
        raise DataFileError(f"{url} answered {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise DataFileError(
            f"cannot download {url}: {reason}. Try again (it goes on where it stopped), or get the "
            "file in another way and pass its folder"
        ) from error


def _copy(answer: object, part: Path, start: int, largest: int) -> None:
    expected = answer.headers.get("Content-Length")  # type: ignore[attr-defined]
    total = start
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        while block := answer.read(BLOCK):  # type: ignore[attr-defined]
            total += len(block)
            if total > largest:
                raise DataFileError(f"the server sends more than the {largest:,} bytes allowed")
            file.write(block)
    if expected is not None and total - start < int(expected):
        raise OSError(f"the connection ended after {total:,} bytes")
