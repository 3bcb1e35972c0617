"""Phrase scores against seqeval, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc


def test_phrase_scores_agree_with_seqeval() -> None:
    from seqeval.metrics import f1_score, precision_score, recall_score

    rng = np.random.default_rng(0)
    labels = np.array(["O", "B-NP", "I-NP", "B-VP", "I-VP", "E-NP", "S-VP"])
    for size in (5, 7):
        for _ in range(100):
            lengths = rng.integers(1, 8, 6)
            true = [labels[rng.integers(0, size, T)].tolist() for T in lengths]
            pred = [
                [p if rng.random() < 0.7 else labels[rng.integers(0, size)].item() for p in y]
                for y in true
            ]
            ours = cc.metrics.phrase_scores(true, pred)
            np.testing.assert_allclose(ours.precision, precision_score(true, pred, zero_division=0))
            np.testing.assert_allclose(ours.recall, recall_score(true, pred, zero_division=0))
            np.testing.assert_allclose(ours.f1, f1_score(true, pred, zero_division=0))


def test_labels_without_types() -> None:
    scores = cc.metrics.phrase_scores([["B", "I", "O", "B", "B"]], [["B", "I", "O", "B", "I"]])
    assert scores == (0.8, 0.5, pytest.approx(1 / 3), pytest.approx(0.4))


def test_lengths_that_differ_are_named() -> None:
    with pytest.raises(ValueError, match="sequence 1 has 2 labels"):
        cc.metrics.phrase_scores([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="1 sequences"):
        cc.metrics.phrase_scores([["O"]], [["O"], ["O"]])
