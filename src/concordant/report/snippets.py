"""Python that repeats a comparison, or trains what it found best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from concordant.report.wording import loss_name

if TYPE_CHECKING:
    from concordant.report.results import Comparison


def loss_code(loss: Any) -> str:
    """Python for the loss, or the name ``loss`` where an expression would be too long."""
    if isinstance(loss, str):
        return repr(loss)
    code = loss_name(loss)
    return "loss" if "array(" in code or "..." in code or len(code) > 60 else f"cc.losses.{code}"


def repeat_code(comparison: Comparison) -> str:
    """Python that repeats the comparison with the same splits."""
    p, loss = comparison.protocol, loss_code(comparison.loss)
    routes = f"routes=[{comparison.routes_code}], " if comparison.routes_code else ""
    lines = [
        "import concordant as cc",
        f"from concordant.report import {comparison.problem.function}",
        "",
        comparison.data_code or "X, y = ...  # your features and labels",
        *(["loss = ...  # your loss"] if loss == "loss" else []),
        f"comparison = {comparison.problem.function}(",
        f"    X, y, {loss}, {routes}C={list(p.C)}, cv={p.cv}, repeats={p.repeats},",
        f"    inner_cv={p.inner_cv}, tol={p.tol:g}, random_state={p.seed},",
        ")",
        "print(comparison)",
    ]
    return "\n".join(lines)


def train_code(comparison: Comparison) -> str:
    """Python that trains the best route on all the data; empty if there is none."""
    route = comparison.best_route
    if route is None:
        return ""
    own = f"loss={loss_code(comparison.loss)}, C={route.typical_C:g}"
    if route.code.startswith("cc.SequenceLabeler"):
        return f"model = {route.code}.set_params({own}).fit(X, y)\nmodel.predict(X)"
    if "Classifier(" in route.code:  # given with arguments of its own, which stay
        made = f"{route.code}.set_params({own})"
    else:
        made = f"cc.Classifier({own}, surrogate={route.code})"
    scaler = (
        "StandardScaler(with_mean=False)" if comparison.problem.is_sparse else "StandardScaler()"
    )
    lines = [
        "from sklearn.pipeline import make_pipeline",
        "from sklearn.preprocessing import StandardScaler",
        "",
        f"route = {made}",
        f"model = make_pipeline({scaler}, route).fit(X, y)",
        "model.predict(X)",
    ]
    return "\n".join(lines)
