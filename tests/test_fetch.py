"""Downloads, against a server of our own that can misbehave."""

from __future__ import annotations

import gzip
import hashlib
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from concordant.datasets import fetch as module
from concordant.datasets.fetch import Remote, RemoteFile, fetch
from concordant.io.errors import DataFileError

CONTENT = np.random.default_rng(0).bytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves `content` with ranges; drops the connection after `cut` bytes of an answer."""

    def do_GET(self):
        server = self.server
        server.ranges.append(self.headers.get("Range"))
        if server.status != 200:
            self.send_error(server.status)
            return
        start = 0
        if server.resumes and (wanted := self.headers.get("Range")):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(server.content):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(server.content) - start))
        self.end_headers()
        rest = server.content[start:]
        self.wfile.write(rest[: server.cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.content, http.cut, http.status, http.resumes, http.ranges = (
            CONTENT,
            None,
            200,
            True,
            [],
        )
        http.url = f"http://127.0.0.1:{http.server_port}/file.bin"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield http
        http.shutdown()
        thread.join()


def remote(server, **changes):
    file = {"name": "file.bin", "url": server.url, "sha256": DIGEST, "size": len(CONTENT)} | changes
    return Remote("sample", "free for tests", (RemoteFile(**file),))


def test_a_download_shows_its_licence_is_checked_and_kept(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CONCORDANT_DATA", str(tmp_path))
    where = fetch(remote(server))
    assert where == tmp_path / "sample"
    assert (where / "file.bin").read_bytes() == CONTENT
    assert "licence: free for tests" in capsys.readouterr().err
    assert [path.name for path in where.iterdir()] == ["file.bin"]
    fetch(remote(server))  # the second time there is nothing to do
    assert len(server.ranges) == 1
    assert capsys.readouterr().err == ""


def test_an_interrupted_download_goes_on_where_it_stopped(server, tmp_path):
    server.cut = 100_000
    for missing in (100_000, 200_000):
        with pytest.raises(DataFileError, match=f"ended after {missing:,} bytes.*goes on where"):
            fetch(remote(server), tmp_path)
        assert not (tmp_path / "file.bin").exists()
    server.cut = None
    fetch(remote(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100000-", "bytes=200000-"]


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.cut = 100_000
    with pytest.raises(DataFileError):
        fetch(remote(server), tmp_path)
    server.cut, server.resumes = None, False
    fetch(remote(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_whole_part_needs_no_more_bytes(server, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(CONTENT)
    fetch(remote(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_not_continued(server, tmp_path):
    with pytest.raises(DataFileError, match=r"is not the file\.bin we know: 300,000 bytes"):
        fetch(remote(server, sha256="0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_never_ends_is_stopped(server, tmp_path):
    small = Remote("sample", "free", remote(server).files, largest=1000)
    with pytest.raises(DataFileError, match="more than the 1,000 bytes allowed"):
        fetch(small, tmp_path)


@pytest.mark.parametrize("status", [404, 500])
def test_what_the_server_refuses(status, server, tmp_path):
    server.status = status
    with pytest.raises(DataFileError, match=f"answered {status}"):
        fetch(remote(server), tmp_path)


def test_no_network(tmp_path):
    import socket

    with socket.socket() as taken:  # a port where nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/file.bin"
        lonely = Remote("sample", "free", (RemoteFile("file.bin", url, DIGEST, 1),))
        with pytest.raises(DataFileError, match=r"cannot download .* pass its folder"):
            fetch(lonely, tmp_path)


def test_a_folder_of_ones_own_needs_no_network(tmp_path):
    nowhere = Remote("s", "free", (RemoteFile("a.txt", "http://0.0.0.0:1/", DIGEST, 1),))
    with pytest.raises(DataFileError, match=r"lacks a\.txt; get them from"):
        fetch(nowhere, tmp_path, download=False)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(CONTENT))
    assert fetch(nowhere, tmp_path, download=False) == tmp_path
    assert module.content(tmp_path / "a.txt") == CONTENT
    (tmp_path / "a.txt").write_bytes(b"something else")
    with pytest.raises(DataFileError, match=r"a\.txt is not the a\.txt we know.*remove it"):
        fetch(nowhere, tmp_path, download=False)


def packed(**members):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"in/{name}", content)
    return raw.getvalue()


def test_an_archive_gives_its_checked_members_only(server, tmp_path):
    server.content = packed(a=CONTENT, b=b"not asked for")
    fetch(remote(server, name="a", member="in/a"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", "is not the archive we know"),
        (packed(b=b""), "is not the archive we know"),
        (packed(a=b"short"), "another size than we know"),
        (packed(a=bytes(len(CONTENT))), "is not the file.bin we know"),
    ],
)
def test_archives_that_are_not_the_one_we_know(content, message, server, tmp_path):
    server.content = content
    with pytest.raises(DataFileError, match=message):
        fetch(remote(server, member="in/a"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_parsers_read_what_the_real_files_look_like(tmp_path, monkeypatch):
    """Tiny files of the same form, known by their own checksums."""

    def stand_in(remote, files):
        entries = []
        for file in remote.files:
            raw = files[file.name].encode("latin-1")
            (tmp_path / file.name).write_bytes(raw)
            digest = hashlib.sha256(raw).hexdigest()
            entries.append(RemoteFile(file.name, file.url, digest, len(raw), file.member))
        return Remote(remote.name, remote.licence, tuple(entries))

    chunks = "He PRP B-NP\nruns VBZ B-VP\n\nYes UH O\n\n"
    text = {"train.txt": chunks, "test.txt": chunks}
    monkeypatch.setattr(module, "CONLL2000", stand_in(module.CONLL2000, text))
    found = module.fetch_conll2000(tmp_path, download=False)
    first, second = found.train
    assert first == [("He", "PRP", "B-NP"), ("runs", "VBZ", "B-VP")]
    assert second == [("Yes", "UH", "O")]
    text = {"train.data": chunks, "test.data": chunks, "template": "U00:%x[0,0]\nB\n"}
    monkeypatch.setattr(module, "BASENP", stand_in(module.BASENP, text))
    assert module.fetch_basenp(tmp_path, download=False).template == "U00:%x[0,0]\nB\n"
    text = {
        "u.data": "1\t3\t5\t881250949\n943\t1682\t2\t881250949\n",
        "u.user": "1|24|M|technician|85711\n2|53|F|other|94043\n",
        "u.item": "1|Caf\xe9 (1995)|01-Jan-1995||x|0\n",
    }
    monkeypatch.setattr(module, "MOVIELENS", stand_in(module.MOVIELENS, text))
    films = module.fetch_movielens(tmp_path, download=False)
    assert films.ratings[0, 2] == 5
    assert films.ratings[942, 1681] == 2
    assert np.isfinite(films.ratings).sum() == 2
    assert films.people == [(24, "M", "technician"), (53, "F", "other")]
    assert films.films == ["Café (1995)"]
    assert "no redistribution" in films.DESCR
