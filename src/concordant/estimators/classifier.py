"""`Classifier`: class labels under any loss, by any route."""

from __future__ import annotations

from concordant.estimators.base import LabelClassifier


class Classifier(LabelClassifier):
    """Predict labels, or other actions, that score well under a loss of your own.

    Minimises ``penalty(W) + C * sum_i surrogate_i`` over linear or kernel scores and certifies
    how far the result can be from the minimum.

    Parameters
    ----------
    loss : str or loss, default="zero_one"
        What predictions are scored on: ``"zero_one"``, ``"absolute"``, ``"squared"``, or an
        object such as ``Abstain(cost=0.3)`` or ``CostMatrix(matrix)``.
    surrogate : str or surrogate, default="adversarial"
        The route to training: ``"adversarial"``, ``"log"``, ``"hinge"``, ``"hybrid"``,
        ``"quadratic"``, ``"weston_watkins"``, ``"crammer_singer"``, ``"lee_lin_wahba"``,
        ``"one_vs_rest"``, or an object such as ``Hybrid(alpha=0.3)``. For ordered labels also
        ``"all_threshold"``, ``"immediate_threshold"``, ``"reduction"``; for costs the reductions
        ``"one_sided_regression"``, ``"cost_one_vs_one"``, ``"cost_one_vs_all"``; to abstain
        ``"rejecting_one_vs_rest"``, ``"rejecting_crammer_singer"``, ``"binary_encoded"``.
    C : float, default=1.0
        Weight of the data against the penalty, as in scikit-learn's linear classifiers.
    kernel : {None, "linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default=None
        None for linear scores in the features themselves. Other names of
        `sklearn.metrics.pairwise.pairwise_kernels` work too. The kernel must be positive
        semidefinite for the certificate to hold.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width, as in `sklearn.svm.SVC`.
    degree, coef0 : float, default=3, 0.0
        Constants of the polynomial and sigmoid kernels.
    n_components : int, default=None
        Approximate the kernel with this many Nystroem features. Without a kernel it means nothing.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        Linear scores may have a lasso or a mixture; kernels have their own norm.
    l1_ratio : float, default=0.5
        Share of the lasso in ``"elasticnet"``.
    fit_intercept : bool, default=True
        Intercepts are not penalised.
    solver : str, default="auto"
        ``"dual"`` (coordinate ascent with exact block steps), ``"lbfgs"``, ``"fista"``, for kernels
        ``"working_set"`` and ``"splitting"``, and for comparison ``"block_frank_wolfe"``,
        ``"sgd"``, ``"adagrad"``, ``"adam"``, ``"pegasos"``.
    max_iter : int, default=1000
        Most passes over the data. A lasso of a route with kinks may need ten thousand.
    tol : float, default=1e-4
        Certified duality gap, relative to the objective, at which to stop.
    random_state : int, RandomState or None, default=None
        Order of the dual's and the stochastic steps, and choice of Nystroem features.
    n_jobs : int, default=None
        Threads; None for all cores. The result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution.
    verbose : int, default=0
        1 shows a live line of progress on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        Labels seen by `fit`, sorted; ordered losses take their ranks from this order.
    actions_ : ndarray of shape (n_actions,)
        What `predict` can return.
    coef_ : ndarray of shape (k, d)
        Weights of linear scores (with `n_components`, of the Nystroem features).
    intercept_ : ndarray of shape (k,)
    support_, dual_coef_ : ndarray of shape (n_support,), (n_support, k)
        Training rows that carry a kernel's scores, and their coefficients. Of equal rows the
        first stands for all.
    objective_ : float
        Objective reached.
    gap_ : float
        Certified: ``objective_ - gap_ <= minimum <= objective_``.
    n_iter_ : int
        Passes over the data.
    game_value_ : float
        Adversarial route: mean expected loss of the best prediction against the adversary.
    history_ : dict of lists
        ``"objective"``, ``"gap"`` and ``"seconds"`` after each pass.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Column names, if `X` was a dataframe with names that are strings.

    Examples
    --------
    >>> import concordant as cc
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = cc.Classifier(loss="absolute").fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    >>> bool(model.gap_ <= 1e-4 * model.objective_)
    True
    """
