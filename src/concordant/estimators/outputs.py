"""What the estimators of any output share: their sample, their kernel, prediction in blocks."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from concordant.estimators.data import check_finite
from concordant.estimators.kernels import Kernel, check_gram, check_name, check_overflow
from concordant.estimators.parameters import check_number, draw_seed
from concordant.estimators.structured import StructuredEstimator, object_array
from concordant.estimators.training import all_or_nothing, one_blas_thread
from concordant.executor import Executor, chunks
from concordant.losses import OutputLoss, find_output_loss
from concordant.metrics import check_weights
from concordant.outputs import Decoder, Options, find_decoder
from concordant.outputs.features import Gaussian
from concordant.outputs.ridge import warn_if_indefinite

#: From so many examples on, dense algebra uses the threads that BLAS would.
LARGE = 2000
#: Numbers in the largest table that prediction makes at a time.
BLOCK = 1 << 21
#: Fitted state whose names do not end in an underscore.
PRIVATE = ("_kernel", "_rows", "_features", "_targets", "_weight", "_dtype", "_given")
#: Named kernels that are positive semidefinite by a theorem; others are looked at.
SEMIDEFINITE = ("rbf", "linear", "laplacian", "poly", "polynomial", "cosine", "chi2")


class Examples(NamedTuple):
    """What is trained on: inputs, canonical outputs, weights, and where they stood among those
    given."""

    x: Any
    truths: np.ndarray
    weight: np.ndarray
    loss_weight: np.ndarray
    origin: np.ndarray

    def take(self, rows: np.ndarray, pairwise: bool) -> Examples:
        """Some of the examples; a kernel matrix is cut on both sides."""
        x = self.x[np.ix_(rows, rows)] if pairwise else self.x[rows]
        return Examples(x, *(part[rows] for part in self[1:]))

    def targets(self, decoder: Decoder) -> Any:
        """The decoder's targets, multiplied by what losses on each example count."""
        if (self.loss_weight == 1.0).all():
            return decoder.targets
        if sp.issparse(decoder.targets):
            return sp.csr_matrix(decoder.targets.multiply(self.loss_weight[:, None]))
        return decoder.targets * self.loss_weight[:, None]


class OutputEstimator(StructuredEstimator):
    """An estimator that weighs training outputs by kernels between inputs, and decodes.

    A subclass gives `_check`, `_learn` and `_sums`.
    """

    loss: Any
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    candidates: Any
    bounds: Any = None
    random_state: Any
    n_jobs: int | None
    loss_: OutputLoss
    decoder_: Decoder
    _given: int
    origin_: np.ndarray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.two_d_array = not callable(self.kernel)
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, loss_weight: Any = None
    ) -> OutputEstimator:
        """Learn the weights of the training outputs.

        After an error the estimator is as it was before the call.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n, d)
            With ``kernel="precomputed"`` the kernel between the examples; with a function as
            kernel any sequence that the function takes.
        y : sequence of n outputs
            Of the kind that the loss is between.
        sample_weight : array-like of shape (n,), default=None
            Weight k equals k copies.
        loss_weight : array-like of shape (n,), default=None
            What a unit of loss against this output costs.
        """
        with all_or_nothing(self):
            self._check()
            self._forget()
            seed = draw_seed(self.random_state)
            examples = self._examples(X, y, sample_weight, loss_weight)
            self._dtype = None
            if examples.truths.dtype == object and isinstance(y, np.ndarray):
                self._dtype = None if y.dtype == object else y.dtype.str
            with _blas_threads(len(examples.truths)):
                self._learn(examples, seed)
        return self

    def _check(self) -> None:
        """Constructor arguments that can be checked without data."""
        check_name(self.kernel)
        if self.kernel is None:
            raise ValueError('kernel must be a name or a function; kernel="linear" is linear')
        check_number("degree", self.degree, np.isfinite, "finite")
        check_number("coef0", self.coef0, np.isfinite, "finite")
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, bool, "other than 0 (None: all cores)", True)

    def _learn(self, examples: Examples, seed: int) -> None:
        """Choose what is to be chosen, and keep what prediction needs."""
        raise NotImplementedError

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Sums of the decoder's targets, from kernel values or features."""
        raise NotImplementedError

    def _values(self, x: Any) -> np.ndarray:
        """Kernel values, or features, of canonical inputs."""
        raise NotImplementedError

    def _block(self) -> int:
        """How many examples to predict at a time: a bounded table, and work for all threads."""
        width = max(self.decoder_.targets.shape)
        return max(min(BLOCK // width, self.decoder_.most_rows), 1)

    def _forget(self) -> None:
        """Drop what an earlier fit left."""
        for name in list(vars(self)):
            if name in PRIVATE or (name.endswith("_") and name[0] != "_"):
                delattr(self, name)

    # ---- data ----

    def _examples(self, X: Any, y: Any, sample_weight: Any, loss_weight: Any) -> Examples:
        x = self._inputs(X, reset=True)
        if self.kernel == "precomputed" and x.shape[0] != x.shape[1]:
            raise ValueError(f"Precomputed matrix must be a square matrix, got shape {x.shape}")
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        self.loss_, self._given = self._find_loss(y), x.shape[0]
        truths = self.loss_.check(y, "y")
        if len(truths) != x.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {x.shape[0]} "
                f"examples, y has {len(truths)}"
            )
        weight = check_weights(sample_weight, len(truths), "sample_weight")
        loss_weight = check_weights(loss_weight, len(truths), "loss_weight")
        rows = np.flatnonzero(weight)
        if len(rows) == 0:
            raise ValueError("sample_weight is zero for every example")
        examples = Examples(x, truths, weight, loss_weight, np.arange(len(truths)))
        return examples.take(rows, self.kernel == "precomputed")

    def _find_loss(self, y: Any) -> OutputLoss:
        return find_output_loss(self.loss, y)

    def _inputs(self, X: Any, reset: bool) -> Any:
        """Inputs in canonical form: a matrix, or the objects that a kernel function takes."""
        if callable(self.kernel) and not _is_table(X):
            if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__"):
                raise TypeError(f"X must be a list with one item an example, got {type(X)}")
            if len(X) == 0:
                raise ValueError("Found array with 0 sample(s): X has no examples")
            return object_array(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=False if self.kernel == "precomputed" else "csr",
            dtype=self._input_dtype(),
            order="C",
            ensure_all_finite=False,  # `check_finite` names the cell
        )
        check_finite(X, getattr(self, "feature_names_in_", None))
        return X

    def _input_dtype(self) -> Any:
        return np.float64

    # ---- kernel ----

    def _kernel_of(self, x: Any, weight: np.ndarray, gamma: Any) -> Any:
        """The kernel as a function of two sets of inputs; None if its values are given."""
        if self.kernel == "precomputed":
            return None
        kernel = Kernel(self.kernel, gamma, self.degree, self.coef0, x, weight)
        if self.kernel == "rbf" and not sp.issparse(x):
            return Gaussian(kernel.constants["gamma"], x.mean(axis=0))
        return kernel

    def _gram(self, kernel: Any, examples: Examples, look: bool = True) -> np.ndarray:
        """Kernel matrix of the examples, checked; ours, to be overwritten."""
        gram = examples.x if kernel is None else kernel(examples.x, examples.x)
        if kernel is None or callable(self.kernel):
            gram = np.array(gram)  # the user's
        ours = isinstance(self.kernel, str) and self.kernel in SEMIDEFINITE
        check_gram(gram, examples.origin, ours)
        if look and not ours:
            warn_if_indefinite(gram)
        return gram

    # ---- decoding ----

    def _decoder(self, truths: np.ndarray) -> Decoder:
        candidates = "training" if self.candidates is None else self.candidates
        return find_decoder(self.loss_, truths, Options(candidates, self.bounds))

    def predict(self, X: Any) -> np.ndarray:
        """The best output for each input under the weighted training outputs.

        Inputs are taken in blocks of bounded size, by threads.
        """
        check_is_fitted(self, "loss_")
        x = self._inputs(X, reset=False)
        if self.kernel == "precomputed":
            x = x[:, self.origin_]
        parts = chunks(x.shape[0], self._block())
        with Executor(self.n_jobs) as executor, one_blas_thread():
            answers = executor.map(lambda rows: self._answer(x[rows]), parts)
        out = np.concatenate(answers)
        if self._dtype is not None:
            out = np.array(out.tolist(), dtype=self._dtype)
        return out

    def _answer(self, x: Any) -> np.ndarray:
        values = self._values(x)
        check_overflow(values)
        return self.decoder_.decode(self._sums(values))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean loss of the predictions."""
        losses = self.loss_(self.predict(X), y)
        weight = check_weights(sample_weight, len(losses), "sample_weight")
        return -float(np.average(losses, weights=weight))


def _blas_threads(n: int) -> Any:
    """One thread for small matrices, where more cost time, and BLAS's own choice for large ones,
    which it factors in parallel. `n_jobs` has no say, because it must not change bits."""
    return one_blas_thread() if n < LARGE else nullcontext()


def _is_table(X: Any) -> bool:
    """Whether X is a matrix of numbers: an array, a sparse matrix, a dataframe, or equal rows."""
    if sp.issparse(X) or hasattr(X, "columns"):
        return True
    try:
        X = np.asarray(X)
    except ValueError:  # rows of different lengths
        return False
    return X.ndim == 2 and X.dtype.kind in "fiub"
