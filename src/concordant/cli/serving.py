"""A model file and rows for it, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from concordant.io import describe, load, tables
from concordant.io.errors import DataFileError


class Served:
    """A loaded model: how rows of a file become its features, and what it says of them."""

    def __init__(self, path: str):
        self.about: dict[str, Any] = describe(path)["about"]
        self.model = load(path)
        self.steps = list(getattr(self.model, "steps", [("model", self.model)]))
        self.last = self.steps[-1][1]

    @property
    def is_sequence(self) -> bool:
        """Whether answers are sequences of labels."""
        return self.about.get("task") == "sequence"

    def sequences(self, data: str, kind: str | None) -> tuple[Any, Any, Any]:
        """Sequences as they stand in the file, what the model predicts from, and labels."""
        from concordant.cli.sequences import KINDS, read_tokens

        rows, y, _ = read_tokens(data, kind if kind in KINDS else self.about["format"])
        return rows, rows, y

    def labelled(self, data: str, kind: str | None) -> Iterator[bytes]:
        """The file again with the model's label on every line."""
        rows, x, y = self.sequences(data, kind)
        for sequence, given, labels in zip(rows, y, self.model.predict(x)):
            if isinstance(sequence[0], dict):
                lines = ["\t".join([str(a), *_attributes(t)]) for a, t in zip(labels, sequence)]
            else:
                lines = [" ".join([*t, g, str(a)]) for t, g, a in zip(sequence, given, labels)]
            yield ("\n".join(lines) + "\n\n").encode("utf-8")

    @property
    def reads_tables(self) -> bool:
        """Whether the model itself turns columns into features."""
        return self.steps[0][0] == "table"

    def features(self, frame: Any) -> Any:
        """What the model predicts from: the frame, or its numbers in the order of training."""
        if self.reads_tables:
            return frame
        names = getattr(self.steps[0][1], "feature_names_in_", None)
        if names is None:
            frame = frame.drop(columns=[c for c in [self.about.get("target")] if c in frame])
            names = list(frame.columns)
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise DataFileError(f"the data lack the column {absent[0]!r} of training")
        from concordant.io.encoding import numbers

        return np.column_stack([numbers(frame[name], str(name)) for name in names])

    def answers(self, x: Any) -> dict[str, np.ndarray]:
        """Action, abstention, scores and probabilities of each row, by column name."""
        out = {"action": self.model.predict(x)}
        refusal = self._refusal()
        if refusal is not None:
            out["abstained"] = np.array([a == refusal or a != a for a in out["action"].tolist()])
        if hasattr(self.model, "decision_function"):
            out |= _columns("score", self.model.decision_function(x), self.last.actions_)
        if hasattr(self.model, "predict_proba"):
            out |= _columns("probability", self.model.predict_proba(x), self.last.classes_)
        return out

    def _refusal(self) -> Any:
        from concordant.losses import Abstain

        if not isinstance(getattr(self.last, "loss", None), Abstain):
            return None
        return self.last.actions_.tolist()[-1]

    def pieces(self, data: str, kind: str | None, **reading: Any) -> Iterator[tuple[Any, Any]]:
        """Rows as they stand in the file, and the features they make; in order."""
        kind = tables.format_of(data, kind)
        if kind == "svmlight":
            width = getattr(self.steps[0][1], "n_features_in_", None)
            x, y = tables.read_svmlight(data, n_features=width)
            import pandas as pd

            yield pd.DataFrame({"label": y}), x
            return
        texts = [c.name for c in self._categories()]
        if kind == "parquet":
            frame = tables.read_frame(data, kind)
            yield frame, self.features(frame)
            return
        for frame in tables.read_chunks(data, kind, categories=texts, **reading):
            yield frame, self.features(frame)

    def _categories(self) -> list[Any]:
        if not self.reads_tables:
            return []
        return [c for c in self.steps[0][1].columns if c.kind == "category"]


def _attributes(token: dict[str, float]) -> list[str]:
    escaped = ((name.replace("\\", "\\\\").replace(":", "\\:"), v) for name, v in token.items())
    return [name if value == 1.0 else f"{name}:{value!r}" for name, value in escaped]


def _columns(what: str, values: np.ndarray, names: Any) -> dict[str, np.ndarray]:
    if values.ndim == 1:
        return {what: values}
    return {f"{what}_{name}": values[:, i] for i, name in enumerate(names.tolist())}
