"""Labels of the nodes of graphs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from concordant.estimators.graphs import all_edges, as_graph
from concordant.estimators.pairwise import PairwiseLabeler
from concordant.estimators.rows import Batch
from concordant.estimators.training import level_of_caller
from concordant.scorers import PairwiseScorer
from concordant.structures import Graph
from concordant.structures.elimination import LIMIT

INFERENCE = ("auto", "exact", "approximate")


class GraphLabeler(PairwiseLabeler):
    """Label the nodes of graphs: forests, graphs of small treewidth, and any others.

    A labelling's score is linear: node features times ``coef_``, plus for every edge its features
    (or 1) times ``edge_coef_`` at the labels of its two ends, in the edge's order. Training
    minimises ``½|W|² + C · sum of surrogates`` of the loss summed over nodes.

    Parameters
    ----------
    loss : str or loss, default="zero_one"
        Any loss on labels, summed over nodes.
    surrogate : str or surrogate, default="adversarial"
        "adversarial", "log" (a conditional random field), "hinge" (a structural SVM) or "hybrid".
    C : float, default=1.0
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        Lasso and elastic net are mixed by `l1_ratio`.
    inference : {"auto", "exact", "approximate"}, default="auto"
        Exact inference works by a junction tree, exponential in the width of a graph
        (`width_`). "auto" uses it where its largest table has at most 2**20 numbers, and elsewhere
        bounds and marginals of the tree-reweighted relaxation, with a warning; "exact" is an
        error there; "approximate" takes the relaxation for every graph with a cycle. Under the
        relaxation the hinge and adversarial routes keep valid certificates, whose gap contains that
        of inference; marginals, and with them the log and hybrid routes, are approximate, and
        `gap_` is then that of the relaxed problem.
    features : {"seen", "all"}, default="seen"
        Named features get weights for the labels that they occur with in training, and those of
        edges for such pairs of labels; or for all. Numeric features always have weights for all.
    normalize : bool, default=False
        Divide the loss of a graph by its number of nodes.
    forbidden : list of pairs of labels, default=None
        Pairs that no edge may have, at its first and second node.
    fit_intercept : bool or "auto", default="auto"
        An unpenalised score of each label. "auto" fits it with numeric features only.
    early_stopping, validation_fraction, n_iter_no_change
        As in `SequenceLabeler`.
    solver : str, default="auto"
        "lbfgs", "fista"; for the hinge and adversarial routes also "dual", "working_set",
        "block_frank_wolfe"; for comparison "sgd", "pegasos", "adagrad", "adam" and, for the
        adversarial route on forests, the published "dual_decomposition".
    max_iter, tol, random_state, n_jobs, warm_start, verbose
        As in `Classifier`; `tol` is the relative gap at which to stop.

    Attributes
    ----------
    classes_, actions_ : ndarray
        Labels, sorted, and what `predict` may answer.
    coef_ : ndarray or sparse matrix of shape (k, d)
        Sparse where features have names.
    intercept_ : ndarray of shape (k,)
    edge_coef_ : ndarray of shape (d_e, k, k), or sparse matrix of shape (d_e, k * k)
        Without edge features d_e is 1.
    transitions_ : ndarray of shape (k, k)
        What all edges share: without edge features, and beside named ones.
    vocabulary_, edge_vocabulary_ : dict
        Column of each named feature of nodes, and of edges.
    width_ : int
        Largest width met in training: 1 for forests.
    objective_, gap_ : float
        The objective reached, and its certified distance from the optimum at most.
    n_iter_, history_

    Examples
    --------
    >>> import concordant as cc
    >>> X = [
    ...     cc.Graph(nodes=[[0.9], [0.1], [0.2]], edges=[(0, 1), (1, 2)]),
    ...     cc.Graph(nodes=[[0.2], [0.8]], edges=[(0, 1)]),
    ... ]
    >>> y = [["a", "b", "b"], ["b", "a"]]
    >>> model = cc.GraphLabeler(loss="zero_one", surrogate="log", C=10).fit(X, y)
    >>> model.predict(X)[0]
    array(['a', 'b', 'b'], dtype='<U1')
    >>> model.width_
    1
    """

    _noun = "graph"
    width_: int

    def __init__(
        self,
        loss: Any = "zero_one",
        surrogate: Any = "adversarial",
        *,
        C: float = 1.0,
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        inference: str = "auto",
        features: str = "seen",
        normalize: bool = False,
        forbidden: Any = None,
        fit_intercept: bool | str = "auto",
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        super().__init__(
            loss, surrogate, C=C, penalty=penalty, l1_ratio=l1_ratio, features=features,
            normalize=normalize, forbidden=forbidden,
            fit_intercept=fit_intercept, solver=solver, max_iter=max_iter, tol=tol,
            early_stopping=early_stopping, validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change, random_state=random_state, n_jobs=n_jobs,
            warm_start=warm_start, verbose=verbose,
        )  # fmt: skip
        self.inference = inference

    def _items(self, X: Sequence[Any]) -> list[Any]:
        return [as_graph(item, i) for i, item in enumerate(X)]

    def _edges(self, items: Iterable[Any], lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return all_edges(list(items), lengths)

    def _structure(self, batch: Batch, node_weight: np.ndarray | None = None) -> Graph:
        if self.inference not in INFERENCE:
            raise ValueError(f"inference must be one of {INFERENCE}, got {self.inference!r}")
        assert batch.edges is not None
        structure = Graph(
            batch.lengths,
            len(self.classes_),
            batch.edges,
            batch.edge_counts,
            batch.edge_x is not None,
            node_weight,
            0 if self.inference == "approximate" else LIMIT,
        )
        if self.inference != "approximate" and not structure.exact.all():
            self._too_wide(structure)
        return structure

    def _too_wide(self, structure: Graph) -> None:
        i = int((~structure.exact).argmax())
        width, k = structure.width[i], structure.n_classes
        what = (
            f"graph {i} has a width of {width} or more under the min-fill order, so exact "
            f"inference needs a table of {k}**{width + 1} numbers or more"
        )
        if self.inference == "exact":
            raise ValueError(f"{what}; use inference='approximate' or 'auto', or fewer edges")
        number = int((~structure.exact).sum())
        warnings.warn(
            f"{what}; it and {number - 1} others get approximate inference",
            stacklevel=level_of_caller(),
        )

    def _store_weights(self, scorer: PairwiseScorer, weights: np.ndarray) -> None:
        super()._store_weights(scorer, weights)
        if scorer.edge is None:
            self.edge_coef_ = self.transitions_[None]
        assert isinstance(scorer.structure, Graph)
        self.width_ = int(scorer.structure.width.max())
        self._exact = bool(scorer.structure.exact.all())

    def consistency(self, X: Any = None) -> str:
        check_is_fitted(self)
        if not self._exact:
            return (
                "No guarantee: some training graphs are too wide for exact inference, and what the "
                "relaxation of the route is consistent for is not known."
            )
        return super().consistency(X)
