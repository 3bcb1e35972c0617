"""What the displays share: axes, palette, and the predictions of an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from concordant.losses import find_loss
from concordant.metrics import rank_codes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Palette(NamedTuple):
    """Colours of a picture, as matplotlib takes them."""

    ink: str = "0.1"
    muted: str = "0.45"
    grid: str = "0.85"
    accent: str = "C0"
    paper: str = "white"


PALETTE = Palette()


def axes_of(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


class Answers(NamedTuple):
    """Predictions in codes, with what they cost."""

    costs: np.ndarray  # (n_actions, k)
    actions: np.ndarray
    labels: np.ndarray
    action: np.ndarray  # (n,) rows of the costs
    truth: np.ndarray  # (n,) columns

    @property
    def cost(self) -> np.ndarray:
        """Cost of each answer."""
        return self.costs[self.action, self.truth]

    @classmethod
    def of(cls, y_true: Any, action: Any, loss: Any, labels: Any = None) -> Answers:
        """Answers as the user writes them."""
        loss = find_loss(loss)
        y_true, action = np.asarray(y_true), np.asarray(action)
        if len(y_true) != len(action) or len(y_true) == 0:
            raise ValueError(f"{len(y_true)} labels and {len(action)} predictions do not pair up")
        if labels is None:
            named = getattr(loss, "label_names", lambda: None)()
            labels = named if named is not None else np.unique(y_true)
        labels = np.array(list(dict.fromkeys(np.asarray(labels).tolist())))  # in the given order
        costs, actions = loss.resolve(labels)
        codes = rank_codes(action, actions, "action"), rank_codes(y_true, labels, "label")
        return cls(costs, actions, labels, *codes)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, loss: Any = None) -> Answers:
        """What a fitted classifier answers, priced by its own loss unless another is given."""
        last = last_step(estimator)
        loss = getattr(last, "loss", "zero_one") if loss is None else loss
        return cls.of(y, estimator.predict(X), loss, all_labels(estimator.classes_, y))


def all_labels(classes: Any, y: Any) -> list[Any]:
    """The classes in their order, which may be that of ranks, and then labels they lack."""
    return list(dict.fromkeys([*np.asarray(classes).tolist(), *np.unique(y).tolist()]))


def last_step(estimator: Any) -> Any:
    """The model at the end of a pipeline."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def name_of(estimator: Any, name: str | None) -> str:
    """The name asked for, else the estimator's class."""
    return type(last_step(estimator)).__name__ if name is None else name
