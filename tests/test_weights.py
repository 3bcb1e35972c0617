"""Ridge weights: exact, paths, left out, by features, weighted, indefinite."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from concordant.outputs import features as F
from concordant.outputs.base import indicators
from concordant.outputs.ridge import Spectrum, solve, warn_if_indefinite


def problem(n=30, d=3, r=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, rbf_kernel(x, gamma=0.4), rng.normal(size=(n, r)), rng


def alpha(gram, values, C, weight=None):
    """The formula: weights of each row of kernel values."""
    inverse = np.linalg.inv(gram + np.diag(1.0 / (C * (np.ones(len(gram)) if weight is None else
                                                       weight))))  # fmt: skip
    return values @ inverse


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("kind", ["dense", "sparse", "many"])
def test_sums_are_the_formula(C, kind):
    x, gram, targets, rng = problem()
    if kind == "sparse":
        targets = indicators(rng.integers(0, 5, 30), 5)
    if kind == "many":
        targets = sp.csr_matrix(rng.normal(size=(30, 50)))
    weight = rng.uniform(0.5, 3.0, 30)
    values = rbf_kernel(rng.normal(size=(7, 3)), x, gamma=0.4)
    for w in (np.ones(30), weight):
        expected = np.asarray(alpha(gram, values, C, w) @ targets)
        for found in (solve(gram.copy(), C, w, targets),
                      Spectrum(gram, w, targets).coefficients(C)):  # fmt: skip
            assert np.allclose(found.sums(values), expected, atol=1e-6 * np.abs(expected).max())


def test_a_weight_of_two_is_two_copies_and_duplicates_are_fine():
    x, gram, targets, rng = problem(n=12)
    rows = np.concatenate([np.arange(12), [3, 3, 7]])
    weight = np.bincount(rows).astype(float)
    values = rbf_kernel(rng.normal(size=(5, 3)), x, gamma=0.4)
    once = solve(gram.copy(), 2.0, weight, targets).sums(values)
    copies = solve(gram[np.ix_(rows, rows)].copy(), 2.0, np.ones(15), targets[rows])
    assert np.allclose(once, copies.sums(values[:, rows]), atol=1e-10)


@pytest.mark.parametrize("kind", ["dense", "many"])
def test_leaving_one_out_is_training_without_it(kind):
    _, gram, targets, rng = problem(n=15)
    if kind == "many":
        targets = sp.csr_matrix(rng.normal(size=(15, 20)))
    weight = rng.uniform(0.5, 2.0, 15)
    spectrum = Spectrum(gram, weight, targets)
    for C in (0.1, 10.0, 1e4):
        found = spectrum.left_out(C)
        for i in range(15):
            rest = np.delete(np.arange(15), i)
            without = solve(gram[np.ix_(rest, rest)].copy(), C, weight[rest], targets[rest])
            assert np.allclose(found[i], without.sums(gram[i : i + 1, rest])[0], atol=1e-6)


def test_single_precision_is_near():
    _, gram, targets, _ = problem()
    small = solve(gram.astype(np.float32), 10.0, np.ones(30), targets)
    assert small.matrix.dtype == np.float32
    large = solve(gram.copy(), 10.0, np.ones(30), targets)
    assert np.allclose(small.sums(gram.astype(np.float32)), large.sums(gram), atol=1e-3)


def test_an_indefinite_kernel_warns_with_its_smallest_eigenvalue():
    gram = np.diag([1.0, 1.0, -0.5])
    with pytest.warns(UserWarning, match="smallest eigenvalue .* is -0.5"):
        warn_if_indefinite(gram)
    # The weights are what the formula says, though Cholesky fails.
    found = solve(gram.copy(), 4.0, np.ones(3), np.eye(3)).matrix
    assert np.allclose(found, np.linalg.inv(gram + np.eye(3) / 4.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_indefinite(np.ones((4, 4)))  # singular, not indefinite


# ---- features ----


def test_the_gaussian_is_scikit_learns():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(9, 4)) * 10, rng.normal(size=(5, 4)) * 10
    assert np.allclose(F.Gaussian(0.01)(a, b), rbf_kernel(a, b, gamma=0.01), atol=1e-12)


@pytest.mark.parametrize("make", ["nystroem", "fourier"])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_both_ways_with_features_solve_the_normal_equations(make, C, monkeypatch):
    x, _, targets, rng = problem(n=300)
    monkeypatch.setattr(F, "BLOCK", 400)  # many blocks
    weight = rng.uniform(0.5, 2.0, 300)
    kernel = F.Gaussian(0.4)
    sample = np.arange(0, 300, 15)
    if make == "nystroem":
        maps = F.CentreFeatures(kernel, x[sample])
        penalty = kernel(x[sample], x[sample])
    else:
        maps = F.Fourier(0.4, 3, 20, 0, np.float64)
        penalty = np.eye(20)
    phi = maps(x)
    left = phi.T @ (weight[:, None] * phi) + penalty / C
    expected = phi @ np.linalg.solve(left, phi.T @ (weight[:, None] * targets))
    direct = F.Sums(maps, x, weight, targets, np.float64).coefficients(C)
    assert np.allclose(direct.sums(phi), expected, atol=1e-7)
    found, passes, left_over = F.conjugate_gradients(
        maps, x, weight, targets, C, sample, np.float64, 1e-10, 200
    )
    assert np.allclose(found.sums(phi), expected, atol=1e-6)
    assert left_over <= 1e-10
    assert passes < 60  # without the preconditioner it takes hundreds


def test_all_rows_as_centres_are_the_exact_weights():
    x, gram, targets, _ = problem(n=40)
    maps = F.CentreFeatures(F.Gaussian(0.4), x)
    found = F.Sums(maps, x, np.ones(40), targets, np.float64).coefficients(5.0)
    exact = solve(gram.copy(), 5.0, np.ones(40), targets)
    assert np.allclose(found.sums(gram), exact.sums(gram), atol=1e-6)


def test_fourier_features_tend_to_the_kernel():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3))
    z = F.Fourier(0.4, 3, 20000, 1, np.float64)(x)
    assert np.abs(z @ z.T - rbf_kernel(x, gamma=0.4)).max() < 0.05


def test_leverage_scores_prefer_rows_that_stand_alone():
    rng = np.random.default_rng(0)
    x = np.vstack([0.01 * rng.normal(size=(195, 2)), rng.normal(size=(5, 2)) * 50])
    chosen = np.zeros(200)
    for seed in range(30):
        rows = F.leverage_centres(
            F.Gaussian(1.0), x, np.ones(200), 10.0, 10, np.random.default_rng(seed)
        )
        assert len(np.unique(rows)) == 10
        chosen[rows] += 1
    assert chosen[195:].mean() > 10 * chosen[:195].mean()
