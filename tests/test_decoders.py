"""Every decoder against enumeration or a fine grid, under weights of both signs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from concordant import losses
from concordant.losses.names import OUTPUT_LOSSES
from concordant.losses.outputs import OfLabels
from concordant.losses.reals import AbsoluteError, SquaredError
from concordant.outputs import DECODERS, Options, find_decoder

TRIALS = 2000


def sums_of(decoder, weights):
    """Weights as the decoder sees them."""
    return np.asarray(weights @ decoder.targets)


def signed(rng, trials, n):
    """Weights of both signs: peaked ones, small integers with ties, all positive, all negative."""
    kinds = [
        rng.normal(size=(trials, n)),
        rng.integers(-2, 3, (trials, n)).astype(float),
        rng.exponential(size=(trials, n)) * rng.choice([-1, 1], (trials, n), p=[0.2, 0.8]),
        rng.dirichlet(np.full(n, 0.3), trials),
        -rng.dirichlet(np.full(n, 0.3), trials),
    ]
    out = np.concatenate([kind[: trials // len(kinds)] for kind in kinds])
    out[::97] = 0.0
    return out * 10.0 ** rng.integers(-3, 4, (len(out), 1))


def total(loss, answers, truths, weights):
    """``sum_i alpha_i loss(y, y_i)`` of each row, written out."""
    answers = loss.check_actions(answers)
    rows = [
        loss.pairs(np.repeat(answers[i : i + 1], len(truths), axis=0), truths) @ weights[i]
        for i in range(len(weights))
    ]
    return np.array(rows)


def scale(weights):
    return np.abs(weights).sum(axis=1)


# ---- real outputs ----

REALS = [
    SquaredError(),
    AbsoluteError(),
    losses.Pinball(0.8),
    losses.EpsilonInsensitive(0.3),
    losses.Huber(0.7),
    losses.Cauchy(0.5),
    losses.GemanMcClure(0.4),
    losses.Fair(0.6),
    losses.L2L1(),
]


@pytest.mark.parametrize("loss", REALS, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_real_outputs_against_a_fine_grid(loss, n):
    rng = np.random.default_rng(n)
    truths = loss.check(np.round(rng.normal(size=n), 1))  # rounded: some are equal
    for bounds in (None, (-2.0, 1.5)):
        decoder = find_decoder(loss, truths, Options(bounds=bounds))
        weights = signed(rng, TRIALS // 2, n)
        answers = decoder.decode(sums_of(decoder, weights))
        lo, hi = bounds or (truths.min(), truths.max())
        assert ((answers >= lo) & (answers <= hi)).all()
        grid = np.unique(np.concatenate([np.linspace(lo, hi, 1501), truths.clip(lo, hi)]))
        values = weights @ loss.value(grid[None, :] - truths[:, None])
        found = total(loss, answers, truths, weights)
        # No grid point is lower, and the answer is not below what the grid can miss.
        assert (found - values.min(axis=1)).max() <= 1e-8 * scale(weights).max()
        relative = (found - values.min(axis=1)) / np.maximum(scale(weights), 1e-300)
        assert relative.max() <= 2e-8
        assert relative.min() >= -0.02


@pytest.mark.parametrize("loss", REALS, ids=repr)
def test_vectors_are_decoded_coordinate_by_coordinate(loss):
    rng = np.random.default_rng(0)
    truths = rng.normal(size=(9, 3))
    weights = signed(rng, 50, 9)
    decoder = find_decoder(loss, truths, Options())
    answers = decoder.decode(sums_of(decoder, weights))
    for j in range(3):
        alone = find_decoder(loss, truths[:, j], Options())
        expected = alone.decode(sums_of(alone, weights))
        # Where the weights nearly cancel the minimum is flat: compare values, not places.
        column = truths[:, j]
        ours = total(loss, answers[:, j], column, weights)
        assert np.allclose(ours, total(loss, expected, column, weights),
                           atol=1e-9 * scale(weights).max())  # fmt: skip


@pytest.mark.parametrize(
    "loss", [losses.Cauchy(0.01), losses.Cauchy(0.3), losses.GemanMcClure(3e-3)], ids=repr
)
def test_many_truths_and_a_small_scale(loss):
    """More truths than grid points, wiggles much finer than the range."""
    rng = np.random.default_rng(0)
    truths = np.sort(rng.uniform(-1, 1, 3000))
    weights = rng.normal(size=(4, 3000))
    decoder = find_decoder(loss, truths, Options())
    answers = decoder.decode(sums_of(decoder, weights))
    found = total(loss, answers, truths, weights)
    grid = np.linspace(-1, 1, 20001)
    lowest = np.min(
        [(weights @ loss.value(g[None, :] - truths[:, None])).min(axis=1)
         for g in np.array_split(grid, 40)], axis=0,
    )  # fmt: skip
    assert (found <= lowest + 1e-9 * scale(weights)).all()


@pytest.mark.parametrize("loss", [losses.Cauchy(0.1), losses.GemanMcClure(0.05)], ids=repr)
def test_the_search_does_not_depend_on_its_first_grid(loss, monkeypatch):
    """Four cells hide most minima: only the bound finds them again."""
    from concordant.outputs.reals import Search

    monkeypatch.setattr(Search, "_grid", lambda self, lo, hi: np.linspace(lo, hi, 5))
    rng = np.random.default_rng(0)
    truths = np.sort(rng.uniform(-1, 1, 12))
    weights = signed(rng, 300, 12)
    decoder = find_decoder(loss, truths, Options())
    found = total(loss, decoder.decode(sums_of(decoder, weights)), truths, weights)
    grid = np.linspace(truths[0], truths[-1], 8001)
    lowest = (weights @ loss.value(grid[None, :] - truths[:, None])).min(axis=1)
    assert (found <= lowest + 1e-6 * scale(weights)).all()


@pytest.mark.parametrize("loss", [losses.LogisticLoss(), losses.HingeLoss()], ids=repr)
def test_functions_of_the_margin(loss):
    rng = np.random.default_rng(0)
    truths = loss.check([1, -1, 1, 1, -1])
    for bounds in (None, (-3.0, 4.0)):
        decoder = find_decoder(loss, truths, Options(bounds=bounds))
        weights = signed(rng, TRIALS, 5)
        answers = decoder.decode(sums_of(decoder, weights))
        lo, hi = bounds or (-1.0, 1.0)
        grid = np.linspace(lo, hi, 1001)
        values = weights @ loss.value(truths[:, None] * grid)
        found = total(loss, answers, truths, weights)
        assert ((answers >= lo) & (answers <= hi)).all()
        assert (found <= values.min(axis=1) + 1e-12 * scale(weights)).all()
        assert (found >= values.min(axis=1) - 8e-3 * scale(weights)).all()


# ---- finite sets ----


def all_rows(values, length):
    return np.array(list(itertools.product(values, repeat=length)))


def lowest_of_all(loss, actions, truths, weights):
    return (weights @ loss.table(loss.check_actions(actions), truths).T).min(axis=1)


def all_permutations(m):
    return np.array(list(itertools.permutations(range(m))))


def exact_cases():
    rng = np.random.default_rng(5)
    sets = rng.integers(0, 2, (9, 4))
    sets[0] = 0
    orders = np.array([rng.permutation(4) for _ in range(7)])
    grades = rng.integers(1, 6, (7, 4)).astype(float)
    holes = np.where(rng.uniform(size=grades.shape) < 0.4, np.nan, grades)
    holes[0] = np.nan
    labels = np.array(["b", "a", "c", "a", "b"])
    return {
        "hamming": (losses.Hamming(), all_rows("xyz", 3)[rng.integers(0, 27, 8)],
                    all_rows("xyz", 3)),
        "hamming of one entry": (losses.Hamming(True), np.array([[3], [3], [5]]), [[3], [5]]),
        "f measure": (losses.FMeasure(), sets, all_rows((0, 1), 4)),
        "f2 measure": (losses.FMeasure(2.0), sets, all_rows((0, 1), 4)),
        "jaccard": (losses.Jaccard(), sets, all_rows((0, 1), 4)),
        "rank": (losses.Rank(), grades, all_permutations(4)),
        "rank, holes": (losses.Rank(), holes, all_permutations(4)),
        "normalised rank, holes": (losses.Rank(True), holes, all_permutations(4)),
        "kendall": (losses.Kendall(), orders, all_permutations(4)),
        "spearman": (losses.Spearman(), orders, all_permutations(4)),
        "footrule": (losses.Spearman("footrule"), orders, all_permutations(4)),
        "hamming of permutations": (losses.Hamming(permutations=True), orders,
                                    all_permutations(4)),
        "labels": (OfLabels(losses.CostMatrix([[0, 1, 5], [2, 0, 1], [1, 4, 0]]),
                            np.array(["a", "b", "c"])), labels, np.array(["a", "b", "c"])),
        "abstaining": (OfLabels(losses.Abstain(0.3), np.array(["a", "b", "c"])), labels,
                       np.array(["a", "b", "c", "abstain"])),
        "graph": (losses.Diffusion(np.eye(5)[[1, 2, 3, 4, 0]] + np.eye(5)[[4, 0, 1, 2, 3]], 0.5),
                  np.array([0, 3, 3, 1]), np.arange(5)),
    }  # fmt: skip


EXACT = exact_cases()


@pytest.mark.parametrize("name", EXACT)
def test_exact_decoders_against_enumeration(name):
    loss, outputs, actions = EXACT[name]
    truths = loss.check(outputs)
    decoder = find_decoder(loss, truths, Options())
    assert decoder.exact
    weights = signed(np.random.default_rng(1), TRIALS, len(truths))
    answers = decoder.decode(sums_of(decoder, weights))
    lowest = lowest_of_all(loss, actions, truths, weights)
    table = loss.table(loss.check_actions(actions), truths)
    cost = {tuple(np.ravel(a)): row for a, row in zip(np.asarray(actions).tolist(), table)}
    found = np.array([cost[tuple(np.ravel(a))] @ w for a, w in zip(answers.tolist(), weights)])
    assert np.allclose(found, lowest, rtol=0, atol=1e-9 * scale(weights).max())
    assert ((found - lowest) <= 1e-9 * scale(weights) + 1e-300).all()


def test_jaccard_of_many_labels_is_a_local_minimum_no_worse_than_training_sets():
    rng = np.random.default_rng(0)
    loss = losses.Jaccard()
    truths = loss.check((rng.uniform(size=(20, 15)) < 0.3).astype(int))
    decoder = find_decoder(loss, truths, Options())
    assert not decoder.exact
    weights = signed(rng, 100, 20)
    answers = decoder.decode(sums_of(decoder, weights))
    found = total(loss, answers, truths, weights)
    assert (found <= lowest_of_all(loss, truths, truths, weights) + 1e-9 * scale(weights)).all()
    for flip in range(15):
        changed = answers.copy()
        changed[:, flip] ^= 1
        assert (found <= total(loss, changed, truths, weights) + 1e-9 * scale(weights)).all()


def test_jaccard_search_finds_most_optima_of_small_sets(monkeypatch):
    """The search, on sets small enough to look at all: how often it misses."""
    from concordant.outputs import sets

    monkeypatch.setattr(sets, "MOST_LABELS", 0)
    rng = np.random.default_rng(0)
    loss = losses.Jaccard()
    truths = loss.check(rng.integers(0, 2, (9, 6)))
    decoder = find_decoder(loss, truths, Options())
    weights = signed(rng, 400, 9)
    found = total(loss, decoder.decode(sums_of(decoder, weights)), truths, weights)
    lowest = lowest_of_all(loss, all_rows((0, 1), 6), truths, weights)
    assert np.mean(found <= lowest + 1e-9 * scale(weights)) >= 0.95


# ---- histograms ----


def simplex_grid(entries, steps):
    rows = [r for r in itertools.product(range(steps + 1), repeat=entries) if sum(r) == steps]
    return np.array(rows) / steps


HISTOGRAMS = {
    "squared": losses.Hellinger(),
    "sum": losses.Hellinger("sum"),
    "root": losses.Hellinger("root"),
    "chi_squared": losses.ChiSquared(),
    "kullback_leibler": losses.KullbackLeibler(0.02),
}
#: How far above the grid an answer may be, in units of the sum of absolute weights, and in what
#: share of the cases. The exact ones are never above it.
ALLOWED = {"squared": (1e-9, 1.0), "kullback_leibler": (1e-9, 1.0), "sum": (2e-3, 0.9),
           "root": (2e-3, 0.97), "chi_squared": (2e-3, 0.97)}  # fmt: skip


@pytest.mark.parametrize("name", HISTOGRAMS)
@pytest.mark.parametrize("entries", [1, 2, 3])
def test_histograms_against_a_fine_grid(name, entries):
    loss = HISTOGRAMS[name]
    rng = np.random.default_rng(entries)
    truths = loss.check(rng.dirichlet(np.full(entries, 0.7), 6))
    decoder = find_decoder(loss, truths, Options())
    weights = signed(rng, TRIALS if decoder.exact else 600, 6)
    answers = decoder.decode(sums_of(decoder, weights))
    assert np.allclose(answers.sum(axis=1), 1.0)
    assert (answers >= 0.0).all()
    grid = simplex_grid(entries, {1: 1, 2: 400, 3: 80}[entries])
    if name == "kullback_leibler":
        grid = np.unique(0.02 + (1 - 0.02 * entries) * grid, axis=0)
        assert (answers >= 0.02 - 1e-12).all()
    away, share = ALLOWED[name]
    excess = total(loss, answers, truths, weights) - lowest_of_all(loss, grid, truths, weights)
    relative = excess / np.maximum(scale(weights), 1e-300)
    assert relative.max() <= (1e-9 if decoder.exact else 0.35)
    assert np.mean(relative <= away) >= share


def test_the_bound_of_the_summed_hellinger_decoder_is_one():
    rng = np.random.default_rng(0)
    loss = losses.Hellinger("sum")
    for entries, n in ((1, 3), (3, 6), (40, 12)):
        truths = loss.check(rng.dirichlet(np.full(entries, 0.5), n))
        decoder = find_decoder(loss, truths, Options())
        weights = signed(rng, 400, n)
        answers, bound = decoder.bounded(sums_of(decoder, weights))
        found = total(loss, answers, truths, weights)
        others = rng.dirichlet(np.full(entries, 0.5), 500)
        lowest = np.minimum(found, lowest_of_all(loss, others, truths, weights))
        assert (bound <= lowest + 1e-9 * scale(weights)).all()
        # Within the range of one entry of the bound.
        assert (found - bound <= 2.0 * scale(weights) + 1e-300).all()
        if entries == 40:  # one entry of many is little
            assert np.median((found - bound) / np.maximum(scale(weights), 1e-9)) < 0.02
            best = lowest_of_all(loss, truths, truths, weights)
            assert np.mean(found <= best + 1e-9 * scale(weights)) >= 0.97


# ---- kernels between outputs ----


def test_circle_against_a_fine_grid():
    rng = np.random.default_rng(0)
    for time in (0.01, 0.1, 2.0):
        loss = losses.Diffusion("circle", time)
        truths = loss.check(rng.uniform(0, 7, 6))
        decoder = find_decoder(loss, truths, Options())
        weights = signed(rng, 400, 6)
        answers = decoder.decode(sums_of(decoder, weights))
        grid = np.linspace(0, 2 * np.pi, 801)
        lowest = lowest_of_all(loss, grid, truths, weights)
        found = (weights * loss.table(answers, truths)).sum(axis=1)
        size = scale(weights) * loss.spectrum().sum()
        assert (found <= lowest + 1e-9 * size).all()
        assert (found >= lowest - 1e-3 * size).all()


def test_sphere_against_a_fine_grid():
    from concordant.outputs.induced import COVER, fibonacci

    rng = np.random.default_rng(0)
    loss = losses.Diffusion("sphere", 0.1)
    points = rng.normal(size=(5000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for count in (500, 2000):
        nearest = np.arccos(np.clip((points @ fibonacci(count).T).max(axis=1), -1, 1))
        assert nearest.max() <= COVER / np.sqrt(count)
    truths = loss.check(points[:6])
    decoder = find_decoder(loss, truths, Options())
    weights = signed(rng, 200, 6)
    answers = decoder.decode(sums_of(decoder, weights))
    assert np.allclose(np.linalg.norm(answers, axis=1), 1.0)
    found = (weights * loss.table(answers, truths)).sum(axis=1)
    lowest = lowest_of_all(loss, points, truths, weights)
    size = scale(weights) * loss.spectrum().sum()
    assert (found <= lowest + 1e-9 * size).all()


def test_heat_kernels_of_the_circle_and_of_a_long_cycle_agree():
    """The graph's kernel tends to the circle's as the cycle grows; independent formulas."""
    m = 400
    cycle = np.roll(np.eye(m), 1, axis=0) + np.roll(np.eye(m), -1, axis=0)
    step = 2 * np.pi / m
    graph = losses.Diffusion(cycle / step**2, 0.3)
    circle = losses.Diffusion("circle", 0.3)
    nodes = np.arange(0, m, 25)
    a = graph.heat(nodes, nodes) / step
    assert np.allclose(a, circle.heat(nodes * step, nodes * step), atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_pre_images_are_no_worse_than_candidates(kernel):
    rng = np.random.default_rng(0)
    loss = losses.KernelInduced(kernel, gamma=0.7, degree=2)
    truths = loss.check(rng.normal(size=(12, 3)))
    decoder = find_decoder(loss, truths, Options())
    weights = signed(rng, 500, 12)
    answers = decoder.decode(sums_of(decoder, weights))
    found = (weights * loss.table(answers, truths)).sum(axis=1)
    lowest = lowest_of_all(loss, truths, truths, weights)
    assert (found <= lowest + 1e-9 * (scale(weights) + np.abs(lowest))).all()
    if kernel == "rbf":
        improved = found < lowest - 1e-6 * scale(weights)
        assert improved.mean() > 0.5  # the fixed point does something
        # Nothing nearby is lower by much: the steps ended at a minimum.
        near = answers + 1e-3 * rng.normal(size=answers.shape)
        there = (weights * loss.table(near, truths)).sum(axis=1)
        assert np.mean(found <= there + 1e-6 * scale(weights)) > 0.95


# ---- strings, functions, candidates ----


def test_strings_are_local_medians():
    from concordant.outputs.strings import single_edits

    rng = np.random.default_rng(0)
    loss = losses.EditDistance()
    words = ["".join(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(8)]
    truths = loss.check(words)
    decoder = find_decoder(loss, truths, Options())
    weights = signed(rng, 60, 8)
    answers = decoder.decode(sums_of(decoder, weights))
    lowest = lowest_of_all(loss, truths, truths, weights)
    for answer, w, low in zip(answers, weights, lowest):
        value = loss.table(loss.check([answer]), truths)[0] @ w
        assert value <= low + 1e-9 * np.abs(w).sum()
        others = ["".join(edit) for edit in single_edits(list(answer), list("abc"), 5)]
        near = loss.table(loss.check(others), truths) @ w
        assert value <= near.min() + 1e-9 * np.abs(w).sum()


def test_a_function_is_decoded_over_candidates():
    rng = np.random.default_rng(0)
    loss = losses.FunctionLoss(lambda a, b: abs(a - b) % 3)
    truths = loss.check([0, 4, 4, 7, 2])
    for candidates in ("training", [1, 5, 9, 3]):
        decoder = find_decoder(loss, truths, Options(candidates))
        actions = [0, 4, 7, 2] if candidates == "training" else candidates
        weights = signed(rng, TRIALS, 5)
        answers = decoder.decode(sums_of(decoder, weights))
        table = np.array([[abs(a - b) % 3 for b in truths] for a in actions])
        found = np.array([table[actions.index(a)] @ w for a, w in zip(answers, weights)])
        assert (found <= (weights @ table.T).min(axis=1) + 1e-12 * scale(weights)).all()


def test_given_candidates_are_what_is_looked_at():
    decoder = find_decoder(losses.Hellinger(), np.eye(3), Options([[0.5, 0.25, 0.25]]))
    answer = decoder.decode(sums_of(decoder, np.array([[1.0, 0.0, 0.0]])))
    assert answer.tolist() == [[0.5, 0.25, 0.25]]


def test_every_named_loss_has_a_decoder_here():
    tested = {type(loss) for loss, _, _ in EXACT.values()} | {type(loss) for loss in REALS}
    tested |= {type(loss) for loss in HISTOGRAMS.values()}
    tested |= {losses.LogisticLoss, losses.HingeLoss, losses.EditDistance}
    assert set(OUTPUT_LOSSES.values()) <= tested
    for kind in DECODERS:
        assert any(issubclass(other, kind) for other in tested | {losses.KernelInduced}), kind
