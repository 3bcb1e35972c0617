"""Model files: what goes in comes out, and nothing else can happen."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import concordant as cc
from concordant.io import atomic, modelfile, registry
from concordant.io.state import Decoder, Encoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=60), [-0.5, 0.5])
TEXT = np.array(["low", "mid", "high"])[Y]
FRAME = pd.DataFrame(
    {"low": [0, 9.0, 2], "mid": [1, 0, 2], "high": [8, 3, 2]}, index=list("abc"), dtype=float
)

MODELS = {
    "default": cc.Classifier(random_state=0),
    "abstain": cc.Classifier(cc.losses.Abstain(cost=0.3), "log"),
    "frame": cc.Classifier(cc.losses.CostMatrix(FRAME)),
    "kernel": cc.Classifier("absolute", kernel="rbf", random_state=0),
    "nystroem": cc.Classifier("absolute", kernel="rbf", n_components=8, random_state=0),
    "warm": cc.Classifier("squared", warm_start=True, random_state=0),
    "hybrid": cc.Classifier(surrogate=cc.surrogates.Hybrid(alpha=0.3), max_iter=50, tol=1e-2),
    "pipeline": make_pipeline(StandardScaler(), MinMaxScaler(), cc.Classifier("absolute", "log")),
    "scalers": make_pipeline(RobustScaler(), MaxAbsScaler(), cc.Classifier(surrogate="quadratic")),
    "ordinal": cc.OrdinalClassifier(categories=["low", "mid", "high"], random_state=0),
    "ordinal kernel": cc.OrdinalClassifier(
        surrogate=cc.surrogates.AllThreshold(base="hinge"), categories=["low", "mid", "high"],
        kernel="rbf", random_state=0,
    ),
}  # fmt: skip
MODELS |= {
    f"route {name}": cc.Classifier(
        cc.losses.Abstain(0.3) if name in cc.surrogates.REJECTING else "absolute", name
    )
    for name in cc.surrogates.ROUTES
}


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(X, TEXT) for name, model in MODELS.items()}


def same(a, b):
    if isinstance(a, np.ndarray):
        same_kind = type(b) is type(a) and a.dtype == b.dtype and a.shape == b.shape
        return same_kind and all(same(x, y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist()))
    if sp.issparse(a):
        return type(a) is type(b) and a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, pd.DataFrame):
        return a.equals(b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, BaseEstimator):
        return type(a) is type(b) and same(vars(a), vars(b))
    if type(a) is float and np.isnan(a):
        return type(b) is float and np.isnan(b)
    return type(a) is type(b) and (a == b if not hasattr(a, "__dict__") else same(vars(a), vars(b)))


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", MODELS)
def test_every_attribute_and_every_bit_comes_back(name, fitted, tmp_path):
    model = fitted[name]
    again = cc.load(cc.save(model, tmp_path / "model"))
    assert same(vars(model), vars(again))
    new = RNG.normal(size=(20, 4))
    methods = ("predict", "decision_function", "predict_proba", "strategy")
    for method in methods:
        assert hasattr(model, method) == hasattr(again, method)
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(model, method)(new), getattr(again, method)(new))
    first, second = (tmp_path / name for name in ("one", "two"))
    cc.save(model, first)
    cc.save(again, second)
    assert first.read_bytes() == second.read_bytes()  # and writing is deterministic


def test_a_second_process_predicts_the_same(fitted, tmp_path):
    path = cc.save(fitted["pipeline"], tmp_path / "model")
    code = (
        "import sys, json, concordant as cc\n"
        "print(json.dumps(cc.load(sys.argv[1]).predict(json.loads(sys.argv[2])).tolist()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), json.dumps(X.tolist())],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == fitted["pipeline"].predict(X).tolist()


VALUES = [
    None, True, 0, -1, 2**70, 1.5, -0.0, float("nan"), float("inf"), -float("inf"), "", "ünï\n\0",
    "\ud800", [], [1, [2.0, "x"]], (), (1, (2,)), {}, {"a": 1, "": None}, {1: "x", (1, "a"): 2.0},
    {"is": "array", "number": 0}, {"is": 3},
    np.float64(0.1), np.int32(-3), np.bool_(True), np.str_("text"), np.float32(1e-45),
    np.zeros(0), np.zeros((0, 3)), np.arange(6).reshape(2, 3), np.asfortranarray(X), X[::2, ::-1],
    np.array(5.0), np.array(["a", "longer"]), np.array([b"x", b"yz"]), np.array([True, False]),
    np.array(["a", 1, None, np.nan], dtype=object), np.float16([1, 2]), X.astype(">f8"),
    np.array([[["x"], [(1, 2)]]], dtype=object), np.array([], dtype="<U3"),
    sp.csr_matrix(X > 1), sp.csr_array(X * (X > 1)), sp.csc_matrix(X * (X > 1)), FRAME,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:30])
def test_every_kind_of_value(value, tmp_path):
    path = cc.save(cc.Classifier(loss=value), tmp_path / "model")
    again = cc.load(path).loss
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        value = value.astype(value.dtype.newbyteorder("<"))
    assert same(value, again)
    if isinstance(again, np.ndarray):
        assert again.flags.owndata or again.base.flags.owndata
        assert again.flags.writeable
        assert again.flags.f_contiguous == np.array(value, order="K").flags.f_contiguous


def test_an_array_in_two_places_is_written_once(tmp_path):
    big = RNG.normal(size=10_000)
    path = cc.save(cc.Classifier(loss=[big, big, (big,)]), tmp_path / "model")
    assert path.stat().st_size < 1.2 * big.nbytes
    assert all(same(a, big) for a in cc.load(path).loss[:2])


@pytest.mark.parametrize("kind", registry.KEYS)
def test_every_row_of_the_registry_is_a_class_of_its_name(kind):
    assert registry.class_of(kind).__name__ == kind
    assert registry.key_of(registry.class_of(kind)) == kind


def test_no_key_is_given_twice_and_every_public_choice_has_one():
    names = [name for row in registry._MODULES.values() for name in row]
    assert len(names) == len(set(names))
    for module in (cc.losses, cc.surrogates):
        for name in module.__all__:
            item = getattr(module, name)
            if isinstance(item, type) and issubclass(item, BaseEstimator) and not name.endswith(
                ("LabelLoss", "LatentRoute", "OutputLoss", "PairLoss", "Surrogate")
            ):  # fmt: skip
                assert registry.key_of(item) == name
    for name in cc.__all__:
        item = getattr(cc, name)
        if isinstance(item, type) and issubclass(item, BaseEstimator):
            assert registry.key_of(item) == name


class Stranger(cc.Classifier):
    """A subclass that a file could not bring back."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (cc.Classifier(kernel=np.dot), r"model\.kernel is a function"),
        (cc.Classifier(loss=[{"deep": {1, 2}}]), r"model\.loss\[0\]\['deep'\] is of type"),
        (cc.Classifier(random_state=np.random.RandomState(0)), "model.random_state .*by its seed"),
        (cc.Classifier(loss=np.zeros(2, dtype="M8[D]")), "model.loss is an array of datetime"),
        (cc.Classifier(loss=10**5000), "too large an integer"),
        (cc.Classifier(loss={frozenset(): 1}), "a key of type frozenset"),
        (cc.Classifier(loss=pd.DataFrame({"a": ["x"]})), "numbers only"),
        (cc.Classifier(loss=np.ma.array([1])), "MaskedArray"),
        (Stranger(), "Stranger"),
        ([1, 2], "save needs an estimator"),
        ("text", "save needs an estimator"),
    ],
)  # fmt: skip
def test_what_data_cannot_say_is_refused_by_name_and_leaves_no_file(model, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        cc.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_value_that_contains_itself_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(TypeError, match="contains itself"):
        Encoder().value(circle)


def test_describe_reads_no_model(fitted, tmp_path):
    path = cc.save(fitted["default"], tmp_path / "model", about={"data": "wines.csv", "rows": 60})
    found = modelfile.describe(path)
    assert found["about"] == {"data": "wines.csv", "rows": 60}
    assert found["library"] == cc.__version__
    assert found["bytes"] == path.stat().st_size


# ---------------------------------------------------------------- damage and strangers


@pytest.fixture(scope="module")
def sound(fitted, tmp_path_factory):
    """A small file with every kind of value."""
    kinds = [v for v in VALUES if not (isinstance(v, int) and v > 2**60)]
    model = make_pipeline(StandardScaler(), cc.Classifier(loss=kinds[::3])).set_params()
    path = cc.save(model, tmp_path_factory.mktemp("sound") / "model")
    return path.read_bytes()


def damaged(sound, rng):
    """A random change: bytes, bits, a cut, an insertion, a repetition, zeros, a swap."""
    raw = bytearray(sound)
    at, to = sorted(rng.integers(0, len(raw), 2).tolist())
    match rng.integers(8):
        case 0:
            raw[at] ^= 1 << int(rng.integers(8))
        case 1:
            raw[at] = (raw[at] + int(rng.integers(1, 256))) % 256
        case 2:
            del raw[at:]
        case 3:
            del raw[at : to + 1]
        case 4:
            raw[at:at] = rng.bytes(int(rng.integers(1, 50)))
        case 5:
            raw[at : at + 20] = bytes(20)
        case 6:
            raw += rng.bytes(int(rng.integers(1, 100)))
        case 7:
            raw[: len(raw) - at] = raw[at:]
    return bytes(raw)


def test_ten_thousand_corruptions_are_model_file_errors(sound, tmp_path):
    rng, path, changed = np.random.default_rng(1), tmp_path / "model", 0
    while changed < 10_000:
        raw = damaged(sound, rng)
        if raw == sound:
            continue
        changed += 1
        path.write_bytes(raw)
        with pytest.raises(cc.ModelFileError):
            cc.load(path)


def sealed(header, payload):
    """A file with a right checksum around any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = f"{len(text):016d}\n".encode() + text + payload
    return b"concordant model 1\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def parts(sound):
    body = sound[len(b"concordant model 1\n") + 65 :]
    end = 17 + int(body[:16])
    return json.loads(body[17:end]), body[end:]


WRONG = [
    None, True, -1, 0, 3, 2**62, 2**100, 1e308, "", "array", "object", "os", "<f8", "O", "|O", [],
    {}, [[]], {"is": "object"}, {"is": "object", "class": "Pipeline", "state": {"steps": 3}},
    {"is": "record", "class": "Rule", "fields": []}, {"is": "array", "number": -1},
    {"is": "object", "class": "Rule", "state": {}}, {"is": "pairs", "items": [[[], 1]]},
    {"is": "sparse", "kind": "csr_matrix"}, {"is": "frame"}, {"is": "nothing"}, {"is": []},
    {"is": "objects", "shape": [2**40, 2**40, 0], "items": []},
]  # fmt: skip


def mutated(tree, rng):
    """The same JSON with one node replaced, dropped or doubled."""
    tree = json.loads(json.dumps(tree))
    nodes = []

    def walk(node):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, child in list(items):
            nodes.append((node, key))
            if isinstance(child, (dict, list)):
                walk(child)

    walk(tree)
    node, key = nodes[int(rng.integers(len(nodes)))]
    match rng.integers(4):
        case 0:
            del node[key]
        case 1 if isinstance(node, dict):
            node[str(WRONG[int(rng.integers(len(WRONG)))])] = node.pop(key)
        case 2 if isinstance(node[key], int):
            node[key] = int(rng.integers(-5, 200))
        case _:
            node[key] = WRONG[int(rng.integers(len(WRONG)))]
    return tree


def test_a_right_checksum_around_a_wrong_header_does_no_harm(sound, tmp_path):
    rng, path, refused = np.random.default_rng(2), tmp_path / "model", 0
    header, payload = parts(sound)
    for _ in range(3000):
        path.write_bytes(sealed(mutated(header, rng), payload))
        try:
            cc.load(path)
        except cc.ModelFileError:
            refused += 1
    assert refused > 1000  # the others changed a value, and no kind


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[" * 100_000, b'{"model": ' * 30_000, b"null", b"[]", b'{"arrays": []}', b"\xff"],
)
def test_headers_that_are_no_header(text, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(sealed(text, b""))
    with pytest.raises(cc.ModelFileError):
        cc.load(path)


def test_a_huge_array_is_refused_before_it_is_allocated(sound, tmp_path):
    header, payload = parts(sound)
    header["arrays"] = [{"dtype": "<f8", "shape": [2**50], "order": "C"}]
    path = tmp_path / "model"
    path.write_bytes(sealed(header, payload))
    with pytest.raises(cc.ModelFileError, match="shorter than its arrays"):
        cc.load(path)


@pytest.mark.parametrize(
    "coded",
    [
        {"is": "object", "class": "os.system", "state": {}},
        {"is": "object", "class": "Popen", "state": {"args": "touch /tmp/x"}},
        {"is": "record", "class": "subprocess:Popen", "fields": ["ls"]},
    ],
)
def test_a_class_that_is_not_in_the_table_is_never_looked_up(coded, monkeypatch):
    expected = cc.ModelFileError
    monkeypatch.setattr(registry.importlib, "import_module", None)
    with pytest.raises(expected, match="does not know"):
        Decoder([]).value(coded)


def test_other_files_are_told_apart(tmp_path, fitted):
    path = tmp_path / "file"
    for raw in (b"", b"a,b\n1,2\n", pickle.dumps(fitted["default"]), b"concordant model"):
        path.write_bytes(raw)
        with pytest.raises(cc.ModelFileError, match="is not a model file"):
            cc.load(path)
    path.write_bytes(b"concordant model 7\n")
    with pytest.raises(cc.ModelFileError, match="has format 7"):
        cc.load(path)
    with pytest.raises(FileNotFoundError):
        cc.load(tmp_path / "none")


# ---------------------------------------------------------------- atomic


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch, fitted):
    path = cc.save(fitted["default"], tmp_path / "model")
    old = path.read_bytes()

    def broken(handle):
        raise OSError("no space left")

    monkeypatch.setattr(atomic.os, "fsync", broken)
    with pytest.raises(OSError, match="no space"):
        cc.save(fitted["kernel"], path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import sys
from concordant.io.atomic import write_atomically
print("ready", flush=True)
while True:
    for letter in (b"a", b"b"):
        write_atomically(sys.argv[1], [letter * 1000 for _ in range(200)])
"""


def test_killed_at_any_moment_the_file_is_one_of_the_two(tmp_path):
    path = tmp_path / "file"
    rng = np.random.default_rng(0)
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline() == "ready\n"
        time.sleep(float(rng.uniform(0.0, 0.05)))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if path.exists():
            assert path.read_bytes() in (b"a" * 200_000, b"b" * 200_000)


def test_new_files_have_the_permissions_of_others(tmp_path, fitted):
    other = tmp_path / "other"
    other.write_text("")
    path = cc.save(fitted["default"], tmp_path / "model")
    assert os.stat(path).st_mode == os.stat(other).st_mode


# ---------------------------------------------------------------- other ways


@pytest.mark.parametrize("name", ["abstain", "kernel", "frame", "nystroem"])
def test_pickle_and_skops_work_too(name, fitted):
    skops = pytest.importorskip("skops.io")
    model = fitted[name]
    expected = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    if name == "frame":  # skops writes no dataframes
        return
    raw = skops.dumps(model)
    unknown = set(skops.get_untrusted_types(data=raw))
    assert unknown <= set(cc.io.trusted_types())
    np.testing.assert_array_equal(skops.loads(raw, trusted=sorted(unknown)).predict(X), expected)
