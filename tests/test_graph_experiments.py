"""The experiments on graphs: trees by hand, and their quick forms on data made up here."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from experiments import hybrid_graphs, thesis_table8
from experiments.common import Options
from experiments.thesis_table8.features import head, of_node, path
from experiments.thesis_table8.trees import propositions

SENTENCE = """# id = made up 0
Dogs	NNS	(TOP(S(NP*)	-	-	(ARG0*)
chase	VBP	(VP*	chase	chase.01	(V*)
grey	JJ	(NP*	-	-	(ARG1*
cats	NNS	*)	-	-	*)
in	IN	(PP*	-	-	(ARGM-LOC*
gardens	NNS	(NP*)))	-	-	*)
.	.	*))	-	-	*

"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a tiny treebank and a tiny multi-label problem."""
    trees = tmp_path / "structured" / "srl_ewt_propbank"
    trees.mkdir(parents=True)
    for part in ("train", "dev", "test"):
        with gzip.open(trees / f"{part}.conll.gz", "wt") as file:
            file.write(40 * SENTENCE)
    labels = tmp_path / "structured" / "multilabel"
    labels.mkdir()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(130, 4))
    on = (x[:, :3] + 0.3 * rng.normal(size=(130, 3)) > 0).astype(int)
    parts = {"X_train": x[:60], "X_test": x[60:], "y_train": on[:60], "y_test": on[60:]}
    np.savez(labels / "scene.npz", **parts)
    monkeypatch.setenv("CONCORDANT_DATA", str(tmp_path))
    return tmp_path


def test_a_sentence_is_pruned_and_labelled(data: Path) -> None:
    folder = data / "structured" / "srl_ewt_propbank"
    (p,) = propositions(folder / "train.conll.gz", 1)
    found = [(n.category, n.start, n.stop, label) for n, label in zip(p.nodes, p.labels)]
    assert found == [
        ("TOP", 0, 7, "O"),
        ("S", 0, 7, "O"),
        ("NP", 0, 1, "A0"),
        (".", 6, 7, "O"),
        ("VP", 1, 6, "O"),
        ("NP", 2, 4, "A1"),
        ("PP", 4, 6, "R"),
        ("IN", 4, 5, "O"),
        ("NP", 5, 6, "O"),
        ("VBP", 1, 2, "V"),
    ]
    assert p.lost == 0
    subject, leaf = p.nodes[2], p.nodes[-1]
    assert path(subject, leaf) == "NP^S!VP!VBP"
    assert [p.words[head(node)] for node in p.nodes[:3]] == ["chase", "chase", "Dogs"]
    names = of_node(p, leaf, subject)
    for name in ("lemma=chase", "side=before", "voice=active", "head_tag=NNS", "right=VP"):
        assert name in names


@pytest.mark.parametrize("module", [thesis_table8, hybrid_graphs])
def test_quick_forms_report(module: object, data: Path, tmp_path: Path) -> None:
    experiment = module.EXPERIMENT  # type: ignore[attr-defined]
    text = experiment.run(Options(quick=True, output=tmp_path / "out")).text()
    again = experiment.run(Options(quick=True, output=tmp_path / "out"), use_stored=True).text()
    assert "hinge" in text or "SSVM" in text
    assert text == again
