"""`LatentClassifier` as its users see it: answers, conventions, weights, bad input, data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import concordant as cc
from concordant.checks import check_structured_estimator
from tests.latent_problems import make_bags, make_boxes

ROUTES = ("dissimilarity", "latent_svm", "iterative_latent_svm", "latent_log")


def data(n=24, d=6, seed=0, sparse=False):
    """The right choice has its label's feature switched on; the others are noise."""
    rng = np.random.default_rng(seed)
    bags, target, latent = [], np.array(["b", "a", "c"])[np.arange(n) % 3], []
    for label in target:
        m = int(rng.integers(2, 6))
        x = 0.3 * rng.normal(size=(m, d))
        latent.append(int(rng.integers(m)))
        x[latent[-1], "abc".index(label)] += 2.0
        bags.append(cc.Bag(sp.csr_matrix(x) if sparse else x, make_boxes(m, rng)))
    return bags, target, np.array(latent)


BAGS, Y, LATENT = data()
NEW, Y_NEW, LATENT_NEW = data(seed=1)


def model(route="dissimilarity", loss="zero_one", **options):
    options = {"C": 1.0, "tol": 1e-3, "random_state": 0, "n_jobs": 1} | options
    return cc.LatentClassifier(loss, route, **options)


@pytest.mark.parametrize("route", ROUTES)
def test_conventions(route):
    check_structured_estimator(model(route), BAGS[:9], list(Y[:9]))


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("loss", ["zero_one", "overlap", cc.losses.LabelOnly()])
def test_finds_labels_and_choices(route, loss):
    fitted = model(route, loss).fit(BAGS, Y)
    answers = fitted.predict_latent(NEW)
    labels = np.array([label for label, _ in answers])
    choices = np.array([choice for _, choice in answers])
    assert np.array_equal(fitted.predict(NEW), labels)
    assert np.mean(labels == Y_NEW) > 0.9
    if not isinstance(loss, cc.losses.LabelOnly):
        assert np.mean(choices == LATENT_NEW) > 0.8
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert fitted.coef_.shape == (3, 6)
    assert hasattr(fitted, "conditional_coef_") == (route == "dissimilarity")
    assert len(fitted.history_["objective"]) == len(fitted.history_["step"])


def test_score_is_of_pairs_if_the_choices_are_given():
    fitted = model(loss="overlap").fit(BAGS, Y)
    answers = fitted.predict_latent(NEW)
    wrong, pair = [], []
    for bag, (label, choice), y, h in zip(NEW, answers, Y_NEW, LATENT_NEW):
        wrong.append(label != y)
        overlap = cc.losses.iou(bag.boxes[[choice]], bag.boxes[[h]])[0, 0]
        pair.append(1.0 if label != y else 1.0 - overlap)
    assert fitted.score(NEW, Y_NEW) == pytest.approx(1.0 - np.mean(wrong))
    assert fitted.score(NEW, Y_NEW, latent=LATENT_NEW) == pytest.approx(1.0 - np.mean(pair))
    only = np.zeros(len(NEW))
    only[3] = 2.0
    scored = fitted.score(NEW, Y_NEW, sample_weight=only, latent=LATENT_NEW)
    assert scored == pytest.approx(1.0 - pair[3])


@pytest.mark.parametrize("route", ROUTES)
def test_latent_proba(route):
    fitted = model(route).fit(BAGS, Y)
    p = fitted.latent_proba(NEW, Y_NEW)
    assert [len(each) for each in p] == [bag.n_choices for bag in NEW]
    assert np.allclose([each.sum() for each in p], 1.0)
    for bag, label, each in zip(NEW, Y_NEW, p):
        row = "abc".index(label)
        if route == "dissimilarity":
            logits = bag.features @ fitted.conditional_coef_[row]
        else:
            logits = bag.features @ fitted.coef_[row]
        if route in ("dissimilarity", "latent_log"):
            assert np.allclose(each, np.exp(logits) / np.exp(logits).sum())
        else:
            assert each[logits.argmax()] == 1.0
    with pytest.raises(ValueError, match="label of bag 1, 'x', was not seen"):
        fitted.latent_proba(NEW[:2], ["a", "x"])


def test_the_likelihood_acts_by_expected_loss():
    fitted = model("latent_log", "overlap", C=0.3).fit(BAGS, Y)
    proba = fitted.predict_proba(NEW)
    for i, bag in enumerate(NEW):
        joint = np.exp(bag.features @ fitted.coef_.T)
        joint /= joint.sum()
        assert np.allclose(proba[i], joint.sum(axis=0))
        overlap = cc.losses.iou(bag.boxes, bag.boxes)
        expected = 1.0 - overlap @ joint
        choice, label = np.unravel_index(expected.argmin(), expected.shape)
        assert fitted.predict_latent([bag])[0] == ("abc"[label], choice)
        assert np.allclose(fitted.decision_function([bag]), -expected.min(axis=0))
    assert not hasattr(model("latent_svm").fit(BAGS, Y), "predict_proba")


def test_two_classes_have_one_decision_value():
    two = np.isin(Y, ["a", "b"])
    fitted = model().fit([BAGS[i] for i in np.flatnonzero(two)], Y[two])
    value = fitted.decision_function(NEW)
    assert value.shape == (len(NEW),)
    assert np.array_equal(np.where(value > 0, "b", "a"), fitted.predict(NEW))


@pytest.mark.parametrize("route", ROUTES)
def test_sparse_features_and_threads_change_nothing(route):
    dense = model(route, n_init=2).fit(BAGS, Y)
    again = model(route, n_init=2, n_jobs=2).fit(BAGS, Y)
    assert np.array_equal(dense.coef_, again.coef_)
    sparse = model(route, n_init=2).fit(data(sparse=True)[0], Y)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=2e-3)
    assert np.array_equal(sparse.predict(NEW), dense.predict(NEW))


def test_single_precision_is_read_where_it_is(tmp_path):
    stored = np.memmap(
        tmp_path / "x", dtype=np.float32, mode="w+", shape=(sum(b.n_choices for b in BAGS), 6)
    )
    bags, at = [], 0
    for bag in BAGS:
        stored[at : at + bag.n_choices] = bag.features
        bags.append(cc.Bag(stored[at : at + bag.n_choices], bag.boxes))
        at += bag.n_choices
    fitted = model(loss="overlap").fit(bags, Y)
    double = model(loss="overlap").fit(BAGS, Y)
    assert fitted.objective_ == pytest.approx(double.objective_, rel=1e-3)


@pytest.mark.parametrize("route", ROUTES)
def test_weights_are_copies(route):
    weight = np.ones(24)
    weight[:3], weight[3:6] = 0.0, 3.0
    index = np.repeat(np.arange(24), weight.astype(int))
    weighted = model(route, tol=1e-6).fit(BAGS, Y, sample_weight=weight)
    copies = model(route, tol=1e-6).fit([BAGS[i] for i in index], Y[index])
    assert weighted.objective_ == pytest.approx(copies.objective_, rel=1e-4)
    assert (weighted.latent_[:3] == -1).all()


def test_loss_weights_scale_the_loss_inside():
    """A loss without weight asks for nothing: the answer stays at zero."""
    fitted = model("latent_svm").fit(BAGS, Y, loss_weight=np.zeros(24))
    assert fitted.objective_ == 0.0
    assert not fitted.coef_.any()
    twice = model("latent_svm", tol=1e-6).fit(BAGS, Y, loss_weight=np.full(24, 2.0))
    once = model("latent_svm", tol=1e-6, C=0.5).fit(BAGS, Y)  # w / 2 at half the loss, C' = C / 2
    assert twice.objective_ > once.objective_


def test_more_starts_never_end_higher():
    one = model("latent_svm", C=10.0).fit(BAGS, Y)
    four = model("latent_svm", C=10.0, n_init=4).fit(BAGS, Y)
    assert four.start_objectives_.shape == (4,)
    assert four.start_objectives_[0] == one.objective_
    assert four.objective_ == four.start_objectives_.min()
    for options in ({"init": "likelihood"}, {"self_paced": True}):
        assert np.mean(model("latent_svm", **options).fit(BAGS, Y).predict(NEW) == Y_NEW) > 0.9


def test_warm_start_begins_at_the_last_choices():
    fitted = model("latent_svm", warm_start=True, tol=1e-5).fit(BAGS, Y)
    cold, again = fitted.n_iter_, fitted.fit(BAGS, Y).n_iter_
    assert again <= cold
    assert fitted.fit([cc.Bag(b.features[:, :4]) for b in BAGS], Y).n_features_in_ == 4


def test_known_choices_help():
    known = np.where(np.arange(24) < 12, LATENT, -1)
    fitted = model(loss="overlap").fit(BAGS, Y, latent=known)
    assert np.array_equal(fitted.latent_[:12], LATENT[:12])
    wrong = np.where(known >= 0, (LATENT + 1) % [b.n_choices for b in BAGS], -1)
    misled = model(loss="overlap").fit(BAGS, Y, latent=wrong)
    score = fitted.score(NEW, Y_NEW, latent=LATENT_NEW)
    assert score > misled.score(NEW, Y_NEW, latent=LATENT_NEW)


def test_other_features_for_the_conditional():
    rng = np.random.default_rng(2)
    bags = [
        cc.Bag(b.features, b.boxes, conditional=rng.normal(size=(b.n_choices, 2))) for b in BAGS
    ]
    fitted = model().fit(bags, Y)
    assert fitted.coef_.shape == (3, 6)
    assert fitted.conditional_coef_.shape == (3, 2)
    assert len(fitted.latent_proba(bags, Y)) == 24
    with pytest.raises(ValueError, match="6 conditional features, training had 2"):
        fitted.latent_proba(NEW, Y_NEW)


@pytest.mark.parametrize("route", ROUTES)
def test_one_label_only(route):
    """Nothing to tell apart: the label is predicted, and with known choices the place is learnt."""
    same = np.flatnonzero(Y == "a")
    bags = [BAGS[i] for i in same]
    fitted = model(route, "overlap").fit(bags, Y[same])
    assert (fitted.predict(NEW) == "a").all()
    assert np.isfinite(fitted.objective_)
    taught = model(route, "overlap").fit(bags, Y[same], latent=LATENT[same])
    there = [i for i in range(24) if Y_NEW[i] == "a"]
    choices = [taught.predict_latent([NEW[i]])[0][1] for i in there]
    assert np.mean(choices == LATENT_NEW[there]) > 0.8


@pytest.mark.parametrize("kind", ["table", "full"])
def test_costs_of_the_bags_own(kind):
    rng = np.random.default_rng(3)
    bags = make_bags(12, 3, kind, rng, most=4)
    y = np.arange(12) % 3
    fitted = model(loss=cc.losses.PairMatrix()).fit(bags, y)
    assert (np.diff(fitted.history_["objective"]) <= 1e-12).all()
    truth = np.zeros(12, dtype=int)
    scored = fitted.score(bags, y, latent=truth)
    answers = fitted.predict_latent(bags)
    costs = []
    for bag, (label, choice), z in zip(bags, answers, y):
        m = bag.n_choices
        if kind == "full":
            costs.append(bag.costs[label * m + choice, z * m])
        else:
            costs.append(bag.costs[choice, 0] if label == z else 1.0)
    largest = max(1.0, max(b.costs.max() for b in bags))
    assert scored == pytest.approx(1.0 - np.mean(costs) / largest)


def test_solvers_agree():
    free = model("latent_svm", tol=1e-5).fit(BAGS, Y)
    plane = model("latent_svm", tol=1e-5, solver="cutting_plane").fit(BAGS, Y)
    assert plane.objective_ == pytest.approx(free.objective_, rel=1e-3)
    assert 0.0 <= plane.gap_ <= 1e-5 * 24


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model("latent_log", max_iter=1, tol=1e-9).fit(BAGS, Y)


def test_interruption_keeps_the_best_so_far(monkeypatch):
    from concordant.latent.alternating import Agreement

    def interrupt(self):
        raise KeyboardInterrupt

    step, calls = Agreement.theta_step, []

    def once(self):
        calls.append(1)
        return step(self) if len(calls) < 2 else interrupt(self)

    monkeypatch.setattr(Agreement, "theta_step", once)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fitted = model(tol=1e-6).fit(BAGS, Y)
    assert np.mean(fitted.predict(NEW) == Y_NEW) > 0.9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cc.Bag(np.zeros((0, 3))), "at least one choice"),
        (lambda: cc.Bag(np.zeros((2, 0))), "at least one column"),
        (lambda: cc.Bag(np.zeros(3)), "must have shape"),
        (lambda: cc.Bag(np.eye(2), [[0, 0, 1, 1]]), "2 choices has 1 boxes"),
        (lambda: cc.Bag(np.eye(2), [[0, 0, 1, 1], [3, 0, 3, 1]]), "box 1 of boxes has no area"),
        (lambda: cc.Bag(np.eye(2), [[0, 2, 1, 1], [3, 0, 4, 1]]), "box 0 of boxes has no area"),
        (lambda: cc.Bag(np.eye(2), [[0, 0, np.inf, 1], [3, 0, 4, 1]]), "box 0 .* not finite"),
        (lambda: cc.Bag(np.eye(2), [[0, 0, 1], [3, 0, 4]]), "x1, y1, x2, y2"),
        (lambda: cc.Bag(np.eye(2), costs=np.zeros((2, 3))), "costs of a bag of 2 choices"),
        (lambda: cc.Bag(np.eye(2), costs=[[0, -1], [0, 0]]), r"costs\[0, 1\]"),
        (lambda: cc.Bag(np.eye(2), conditional=np.zeros((3, 1))), "2 choices has 3 rows"),
        (lambda: model().fit([np.eye(2), np.zeros((0, 2))], [0, 1]), "example 1: a bag needs"),
        (lambda: model().fit([np.eye(2), np.eye(3)], [0, 1]), "bag 1 has 3 features a choice"),
        (lambda: model().fit([np.eye(2), np.eye(2) * np.nan], [0, 1]), "bag 1, choice 0"),
        (lambda: model().fit(BAGS, Y, latent=np.full(24, 7)), r"latent\[0\] = 7 is no choice"),
        (lambda: model().fit(BAGS, Y, latent=np.full(24, -2)), r"latent\[0\] = -2 is no choice"),
        (lambda: model().fit(BAGS, Y, latent=[0]), "latent must have shape"),
        (lambda: model().fit(BAGS, Y, sample_weight=np.zeros(24)), "zero for every example"),
        (lambda: model().fit(BAGS, Y, loss_weight=np.full(24, -1.0)), "loss_weight must be"),
        (lambda: model().fit(BAGS, [None] * 24), "row 0"),
        (lambda: model(loss="overlap").fit([np.eye(2)] * 2, [0, 1]), "bag 0 has none"),
        (lambda: model(loss=cc.losses.PairMatrix()).fit(BAGS, Y), "costs of every bag"),
        (lambda: model("hinge").fit(BAGS, Y), "unknown surrogate 'hinge'"),
        (lambda: model(loss="hamming").fit(BAGS, Y), "unknown loss 'hamming'"),
        (lambda: model(C=0.0).fit(BAGS, Y), "C must be"),
        (lambda: model(tol=0.0).fit(BAGS, Y), "tol must be"),
        (lambda: model(solver="sgd").fit(BAGS, Y), "unknown solver"),
        (lambda: model(init="best").fit(BAGS, Y), "init must be"),
        (lambda: model(cc.surrogates.Dissimilarity(J=0)).fit(BAGS, Y), "J > 0"),
        (lambda: model(cc.surrogates.Dissimilarity(beta=1)).fit(BAGS, Y), "beta < 1"),
        (lambda: model().fit(BAGS, Y).predict([np.eye(2)]), "expecting 6 features"),
        (lambda: model().fit(BAGS, Y).score(NEW, Y_NEW, latent=-np.ones(24, int)), "bag 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_types_are_named():
    with pytest.raises(TypeError, match="features must hold numbers"):
        cc.Bag([["a"]])
    with pytest.raises(TypeError, match="example 1 must be a Bag"):
        model().fit([np.eye(2), "x"], [0, 1])
    with pytest.raises(TypeError, match="latent must hold choices as integers"):
        model().fit(BAGS, Y, latent=np.zeros(24))
    with pytest.raises(TypeError, match="surrogate must be a name"):
        model(cc.surrogates.Hinge()).fit(BAGS, Y)
    with pytest.raises(NotFittedError):
        model().predict_latent(BAGS)
    bags = [cc.Bag(np.eye(2), costs=np.zeros((2, 2))), cc.Bag(np.eye(2), costs=np.zeros((4, 4)))]
    with pytest.raises(ValueError, match="do not agree on whether costs price labels"):
        model(loss=cc.losses.PairMatrix()).fit(bags, [0, 1])


def test_a_clone_is_not_fitted():
    route = cc.surrogates.Dissimilarity(J=0.5)
    copy = clone(model(route).fit(BAGS, Y))
    assert copy.surrogate.J == 0.5
    with pytest.raises(NotFittedError):
        copy.predict(BAGS)


# ---- digits on clutter ----


def test_cluttered_digits_hold_the_digit_where_they_say():
    digits = np.zeros((4, 6, 6))
    digits[:2, 1:5, 2] = 1.0
    digits[2:, 2, 1:5] = 0.5
    data = cc.datasets.make_cluttered_digits(
        20, digits=digits, labels=[0, 0, 1, 1], size=13, stride=2, pieces=3, piece_size=2,
        random_state=0,
    )  # fmt: skip
    assert data.images.shape == (20, 13, 13)
    assert data.target.tolist() == [0, 1] * 10
    assert data.boxes.shape == (16, 4)
    for image, label, place, bag in zip(data.images, data.target, data.latent, data.bags):
        x1, y1, x2, y2 = data.boxes[place].astype(int)
        assert (image[y1:y2, x1:x2] >= digits[2 * label]).all()
        for box, features in zip(bag.boxes.astype(int), bag.features):
            window = image[box[1] : box[3], box[0] : box[2]].ravel()
            norm = np.linalg.norm(window) or 1.0
            assert np.allclose(features, window / norm)
    again = cc.datasets.make_cluttered_digits(20, random_state=0, pieces=0)
    assert np.count_nonzero(again.images[0]) < 256
    assert not np.array_equal(again.images[0], again.images[10])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 8}, "smaller than the digits"),
        ({"piece_size": 17}, "piece_size"),
        ({"stride": 0}, "stride"),
        ({"classes": [11]}, "no digits of class 11"),
        ({"digits": np.zeros((2, 3, 3))}, "go together"),
        ({"digits": np.zeros((2, 3)), "labels": [0, 1]}, "digits must have shape"),
        ({"digits": np.zeros((2, 3, 3)), "labels": [0]}, "labels must have shape"),
        ({"digits": np.zeros((2, 3, 3)), "labels": [0, 0], "piece_size": 2}, "other classes"),
    ],
)
def test_bad_clutter_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        cc.datasets.make_cluttered_digits(4, **options)
