"""Losses as written on a command line: names, ``abstain:0.3``, files of costs."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from concordant.io.errors import DataFileError
from concordant.losses import LOSSES, Abstain, CostMatrix, LabelLoss, find_loss


def parse_loss(text: str, labels: Sequence[Any], order: Sequence[Any] | None = None) -> LabelLoss:
    """The loss that `text` names, for these labels.

    Parameters
    ----------
    text : str
        A name of `concordant.losses.LOSSES`, ``abstain:PRICE``, or a file of costs.
    labels : sequence
        Labels that occur in the data.
    order : sequence, default=None
        All labels from the lowest to the highest, where sorting would not give that.

    Examples
    --------
    >>> parse_loss("abstain:0.3", ["no", "yes"])
    Abstain(cost=0.3)
    """
    name, _, argument = text.partition(":")
    if name == "abstain":
        return Abstain(cost=_price(argument, text))
    if text in LOSSES:
        loss = find_loss(text)
        if order is None or not isinstance(loss, LabelLoss):
            return loss
        names = list(order)
        return CostMatrix(loss.matrix(len(names)), actions=names, labels=names)
    if os.path.exists(text):
        return read_costs(text, labels)
    raise DataFileError(_unknown(text))


def _price(argument: str, text: str) -> float:
    try:
        price = float(argument or "0.5")
    except ValueError:
        raise DataFileError(f"the price in {text!r} is no number; write abstain:0.3") from None
    if not 0 < price < float("inf"):
        raise DataFileError(f"the price in {text!r} must be more than 0; write abstain:0.3")
    return price


def _unknown(text: str) -> str:
    if os.sep in text or text.lower().endswith((".csv", ".tsv")):
        return f"there is no file {text!r} with the costs"
    names = [*sorted(LOSSES), "abstain:0.3"]
    near = difflib.get_close_matches(text, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return (
        f"unknown loss {text!r}; {hint}Losses: {', '.join(names)}, or a CSV file of costs "
        "(a row an action, a column a true label)"
    )


def read_costs(path: str, labels: Sequence[Any]) -> CostMatrix:
    """A price list: first column the actions, first line the true labels, costs inside."""
    from concordant.io.tables import read_frame

    frame = read_frame(path, "tsv" if path.lower().endswith(".tsv") else "csv")
    if frame.shape[1] < 2 or not len(frame):
        raise DataFileError(
            f"{path!r} holds no price list: the first column names the actions, the first line "
            "the true labels"
        )
    kind = int if all(isinstance(v, (int, np.integer)) for v in labels) else str
    try:
        costs = frame.iloc[:, 1:].to_numpy(dtype=float)
    except ValueError as error:
        raise DataFileError(f"{path!r}: costs must be numbers ({error})") from None
    if not np.isfinite(costs).all() or (costs < 0).any():
        row, column = np.argwhere(~np.isfinite(costs) | (costs < 0))[0]
        raise DataFileError(
            f"{path!r}: the cost in row {row + 1}, column {str(frame.columns[column + 1])!r} is "
            f"{costs[row, column]}; costs are numbers of at least 0"
        )
    names = [_label(v, kind) for v in frame.columns[1:]]
    absent = [v for v in labels if v not in names]
    if absent:
        raise DataFileError(
            f"{path!r} has no column for the label {absent[0]!r}; its columns are "
            f"{', '.join(map(repr, names))}"
        )
    actions = [_label(v, kind) for v in frame.iloc[:, 0].tolist()]
    return CostMatrix(costs, actions=actions, labels=names)


def _label(value: Any, kind: type) -> Any:
    try:
        return kind(value)
    except ValueError:
        return str(value)
