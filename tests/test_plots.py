"""Displays: the numbers they hold against plain ones, and that they draw them."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import concordant as cc
from concordant import plots
from concordant.plots.calibration import reliability
from concordant.plots.coverage import coverage_curve, doubt_of

mpl.use("agg")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.7 * RNG.normal(size=80), [-0.5, 0.6])]
ABSTAIN = cc.losses.Abstain(cost=0.3)


@pytest.fixture(autouse=True)
def close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def models():
    log = make_pipeline(StandardScaler(), cc.Classifier(ABSTAIN, "log"))
    return {"log": log.fit(X, Y), "hinge": cc.Classifier("absolute", "hinge").fit(X, Y)}


def cost_of(action, truth):
    return 0.3 if action == "abstain" else float(action != truth)


def test_cost_map_adds_up_to_the_mean_loss(models):
    display = plots.CostMapDisplay.from_estimator(models["log"], X, Y)
    actions = models["log"].predict(X)
    for i, action in enumerate(display.actions):
        for j, label in enumerate(display.labels):
            both = (actions == action) & (label == Y)
            assert display.counts[i, j] == both.sum()
            assert display.costs[i, j] == cost_of(action, label)
    assert display.actions == ["a", "b", "c", "abstain"]
    assert display.share.sum() == pytest.approx(cc.metrics.mean_loss(Y, actions, ABSTAIN))
    texts = {text.get_text() for text in display.ax_.texts}
    assert any(text.endswith("× 0.3") for text in texts)


@pytest.mark.parametrize(("numbers", "found"), [("all", True), ("share", True), ("none", False)])
def test_cost_map_writes_as_much_as_asked(numbers, found):
    display = plots.CostMapDisplay.from_predictions(Y, Y[::-1], "absolute", numbers=numbers)
    assert bool(display.ax_.texts) is found


def test_another_loss_may_price_the_same_answers(models):
    display = plots.CostMapDisplay.from_estimator(models["hinge"], X, Y, loss="squared")
    expected = cc.metrics.mean_loss(Y, models["hinge"].predict(X), "squared")
    assert display.share.sum() == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_coverage_curve_is_the_mean_of_the_surest(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    cost, doubt = rng.random(n), rng.integers(0, 6, n).astype(float)
    coverage, loss = coverage_curve(cost, doubt)
    for c, mean, level in zip(coverage, loss, np.unique(doubt)):
        kept = doubt <= level
        assert c == pytest.approx(kept.mean())
        assert mean == pytest.approx(cost[kept].mean())
    assert coverage[-1] == 1.0
    assert len(coverage) == len(np.unique(doubt))


def test_doubt_is_expected_cost_or_the_lead_of_the_best_score(models):
    log = models["log"]
    costs, actions = ABSTAIN.resolve(log.classes_)
    rows = np.array([actions.tolist().index(a) for a in log.predict(X)])
    expected = [costs[row] @ p for row, p in zip(rows, log.predict_proba(X))]
    np.testing.assert_allclose(doubt_of(log, X, costs, rows), expected)
    hinge = models["hinge"]
    falling = -np.sort(-hinge.decision_function(X), axis=1)
    np.testing.assert_allclose(doubt_of(hinge, X, costs, rows), falling[:, 1] - falling[:, 0])
    two = cc.Classifier(surrogate="hinge").fit(X, Y == "a")
    np.testing.assert_allclose(doubt_of(two, X, costs, rows), -np.abs(two.decision_function(X)))


@pytest.mark.parametrize("name", ["log", "hinge"])
def test_coverage_ends_at_the_mean_loss(name, models):
    display = plots.CoverageDisplay.from_estimator(models[name], X, Y)
    loss = models[name][-1].loss if name == "log" else "absolute"
    mean = cc.metrics.mean_loss(Y, models[name].predict(X), loss)
    assert display.loss[-1] == pytest.approx(mean)
    assert display.line_.get_label() == "Classifier"


@pytest.mark.parametrize("seed", range(20))
def test_reliability_bins_hold_every_example_once(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    confidence = rng.choice(np.linspace(0.3, 1, int(rng.integers(1, 40))), n)
    right = rng.random(n) < confidence
    means, shares, counts = reliability(confidence, right)
    assert counts.sum() == n
    assert (np.diff(means) > 0).all()
    assert means @ counts == pytest.approx(confidence.sum())
    assert shares @ counts == pytest.approx(right.sum())
    if len(np.unique(confidence)) == n:
        assert counts.max() - counts.min() <= 1


def test_calibration_of_probabilities_that_are_right_is_good():
    X, y, proba = cc.datasets.make_uncertain(20_000, random_state=0)
    display = plots.CalibrationDisplay.from_predictions(y, proba, labels=[0, 1, 2])
    assert display.error < 0.02
    display = plots.CalibrationDisplay.from_predictions(y, proba**4, labels=[0, 1, 2])
    model = cc.Classifier(surrogate="log").fit(X[:500], y[:500])
    assert plots.CalibrationDisplay.from_estimator(model, X, y).error < 0.1


def test_convergence_shows_the_certificate(models):
    display = plots.ConvergenceDisplay.from_estimator(models["hinge"], name="hinge")
    model = models["hinge"]
    assert display.gap[-1] <= model.gap_ / model.objective_ * (1 + 1e-12)
    assert (np.diff(display.gap) <= 0).all()
    assert display.ax_.get_xscale() == "log"


def test_losses_from_a_comparison():
    found = cc.report.compare(X, Y, "absolute", routes=["log"], C=[0.1], cv=3, repeats=1, n_jobs=1)
    display = plots.LossDisplay.from_comparison(found)
    assert display.means == [o.mean for o in found.outcomes]
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert names == [o.title for o in found.outcomes[::-1]]


@pytest.mark.parametrize("surrogate", ["adversarial", "log", "hinge", cc.surrogates.Hybrid(0.3)])
def test_surfaces_are_the_surrogate(surrogate):
    display = plots.SurfaceDisplay.from_surrogate(surrogate, "absolute", truth=1, at=5, limit=2.0)
    for i, j in ((0, 0), (1, 3), (4, 2)):
        scores = [[display.axis[j], display.axis[i], 0.0]]
        value, _ = cc.surrogates.evaluate(surrogate, scores, [1], loss="absolute")
        assert display.values[i, j] == pytest.approx(value[0])
    assert plots.SurfaceDisplay.from_surrogate(surrogate, n_labels=2).values.shape == (121,)
    with pytest.raises(ValueError, match="2 or 3 labels"):
        plots.SurfaceDisplay.from_surrogate(surrogate, n_labels=4)


@pytest.mark.parametrize("name", plots.__all__)
def test_displays_draw_on_axes_of_ones_own_and_give_them_back(name, models):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    kind = getattr(plots, name)
    match name:
        case "LossDisplay":
            display = kind(["a"], [1.0], [(0.5, 1.5)]).plot(ax)
        case "SurfaceDisplay":
            display = kind.from_surrogate("log", at=5, ax=ax)
        case "MatchingDisplay":
            display = kind([[0.7, 0.3], [0.3, 0.7]], [0, -1], [1, 0]).plot(ax)
        case "PlaceDisplay":
            display = kind([[0, 0, 4, 4], [2, 2, 6, 6]], "a", 1, truth=0).plot(ax)
        case "ConvergenceDisplay":
            display = kind.from_estimator(models["log"], ax=ax, color="red")
        case _:
            display = kind.from_estimator(models["log"], X, Y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.plot().ax_ is not ax


@pytest.mark.parametrize("route", ["adversarial", "hinge"])
def test_matching_shows_confidence_answer_and_truth(route):
    pairs, partners = cc.datasets.make_pairs(6, 3, random_state=0)
    model = cc.Matcher(surrogate=route, tol=1e-2).fit(pairs, partners)
    display = plots.MatchingDisplay.from_estimator(model, pairs[0], partners[0])
    np.testing.assert_allclose(display.confidence.sum(axis=1), 1.0, atol=1e-3)
    truth, answer = display.ax_.lines
    assert truth.get_xdata().tolist() == partners[0].tolist()
    assert answer.get_xdata().tolist() == model.predict(pairs[:1])[0].tolist()


def test_place_draws_the_box_that_was_answered():
    bags = [cc.Bag(np.eye(2)[[i % 2, 1 - i % 2]], [[0, 0, 1, 1], [2, 2, 5, 4]]) for i in range(6)]
    model = cc.LatentClassifier(random_state=0).fit(bags, [0, 1] * 3)
    display = plots.PlaceDisplay.from_estimator(model, bags[0], truth=0)
    label, choice = model.predict_latent(bags[:1])[0]
    true, answered = display.ax_.patches
    assert true.get_bbox().extents.tolist() == [0, 0, 1, 1]
    assert answered.get_bbox().extents.tolist() == bags[0].boxes[choice].tolist()
    assert display.ax_.get_title() == str(label)
    with pytest.raises(ValueError, match="no boxes"):
        plots.PlaceDisplay.from_estimator(model, cc.Bag(np.eye(2)))


def test_predictions_that_do_not_pair_up_are_refused():
    with pytest.raises(ValueError, match="do not pair up"):
        plots.CostMapDisplay.from_predictions([1, 2], [1])
    with pytest.raises(ValueError, match="row 1: 'z' is not a known action"):
        plots.CostMapDisplay.from_predictions(["a", "b"], ["a", "z"])
