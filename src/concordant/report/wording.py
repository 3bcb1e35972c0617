"""Numbers and findings in words, the same in the terminal, the page and the JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from concordant.report.statistics import LEVEL

if TYPE_CHECKING:
    from concordant.report.results import Comparison, Outcome


TEST_NAMES = {"t": "corrected resampled t-test", "wilcoxon": "Wilcoxon signed-rank test"}

#: Below this, Student's t has so few degrees of freedom that the test misses almost everything.
FEW_SPLITS = 5


def words(items: Sequence[str]) -> str:
    """``a, b and c``.

    Examples
    --------
    >>> words(["a", "b", "c"])
    'a, b and c'
    """
    items = list(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def loss_text(value: float) -> str:
    """A loss with three decimals, or three digits where it is large."""
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"


def interval_text(outcome: Outcome) -> str:
    """The 95 % interval of the mean loss."""
    low, high = outcome.interval
    return f"{loss_text(low)}–{loss_text(high)}"


def p_text(outcome: Outcome, best: Outcome) -> str:
    """The adjusted p-value, or that this is the best."""
    return "best" if outcome is best else p_number(outcome)


def p_number(outcome: Outcome) -> str:
    """The adjusted p-value with three decimals."""
    return "<0.001" if outcome.p_adjusted < 0.001 else f"{outcome.p_adjusted:.3f}"


def C_text(outcome: Outcome) -> str:
    """The C chosen most often."""
    return "–" if outcome.typical_C is None else f"{outcome.typical_C:g}"


def seconds_text(seconds: float) -> str:
    """Milliseconds below one second, tenths above."""
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}"


def half_text(outcome: Outcome) -> str:
    """Half the width of the 95 % interval."""
    return loss_text(outcome.interval[1] - outcome.mean)


def accuracy_text(outcome: Outcome) -> str:
    """Share of answers that are the true label."""
    return f"{100 * outcome.accuracy:.1f} %"


def gap_text(outcome: Outcome) -> str:
    """Largest certified relative gap; a star where training stopped before its tolerance."""
    if outcome.gap is None:
        return "–"
    return f"{outcome.gap:.0e}".replace("e-0", "e-") + ("*" if outcome.unconverged else "")


def recommend(comparison: Comparison) -> str:
    """What to use on this data, no stronger than the tests allow."""
    best, ties, others = comparison.best, comparison.ties, comparison.outcomes[1:]
    loss = loss_text(best.mean)
    if not others:
        return f"Only {best.title} could be trained; its mean loss was {loss}."
    if ties:
        verb = "does" if len(ties) == 1 else "do"
        first = (
            f"No single winner: {best.title} had the smallest mean loss, {loss}, but "
            f"{words(_named(ties))} {verb} not differ from it significantly"
        )
    else:
        first = (
            f"Use {best.title}: its mean loss, {loss}, was significantly smaller than that of "
            + ("each of the " if len(others) > 1 else "the ")
            + f"{counted(len(others), 'alternative')} tried"
        )
    first += f" ({TEST_NAMES[comparison.test]}, Holm-adjusted, {100 * LEVEL:g} % level)."
    return " ".join([first, *_reservations(comparison)])


def _reservations(comparison: Comparison) -> list[str]:
    """What a reader must know before acting on the first sentence."""
    found, route, splits = [], comparison.best_route, comparison.protocol.splits
    if route is None:
        found.append("No route could be trained.")
    elif route is not comparison.best:
        scores = "linear" if route.kernel is None else "kernel"
        found.append(
            f"The best of the routes was {route.title}, with {scores} scores: "
            f"{loss_text(route.mean)} (95 % interval {interval_text(route)})."
        )
    if splits < FEW_SPLITS:
        found.append(f"With {splits} splits, only very large differences can show.")
    return found


def _named(outcomes: Sequence[Outcome]) -> list[str]:
    """Titles, at most four, the constant action last because it is the telling one."""
    plain = [o.title for o in outcomes if o.name != "constant"]
    shown = plain if len(plain) <= 4 else [*plain[:3], f"{len(plain) - 3} others"]
    return shown + ["even the best constant action"] * (len(outcomes) > len(plain))


def counted(number: int, noun: str) -> str:
    """``1 split``, ``2 splits``.

    Examples
    --------
    >>> counted(1, "split"), counted(2, "split")
    ('1 split', '2 splits')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def loss_name(loss: Any) -> str:
    """A loss on one line."""
    return loss if isinstance(loss, str) else " ".join(repr(loss).split())


def loss_of(comparison: Comparison) -> str:
    """What the comparison's loss is called."""
    return comparison.loss_name or loss_name(comparison.loss)


def protocol_text(comparison: Comparison) -> str:
    """How it was measured, in a sentence."""
    p = comparison.protocol
    again = {1: "once", 2: "twice"}.get(p.repeats, f"{p.repeats} times")
    tuned = (
        f"C from {{{', '.join(f'{c:g}' for c in p.C)}}} by {p.inner_cv}-fold cross-validation "
        "inside each training part"
        if len(p.C) > 1
        else f"C = {p.C[0]:g}"
    )
    return (
        f"{p.cv}-fold cross-validation, {again} ({p.splits} splits, the same for all); "
        f"{comparison.problem.measured_text}; {tuned}; seed {p.seed}."
    )


def data_text(comparison: Comparison) -> str:
    """Size of the data and its labels, in a sentence."""
    p = comparison.problem
    counts = [f"{c} ({n:,})" for c, n in zip(p.classes.tolist(), p.counts.tolist())]
    shown = counts if len(counts) <= 12 else [*counts[:10], f"{len(counts) - 10} more"]
    return f"{p.size_text}; labels: {', '.join(shown)}."


def grid_text(comparison: Comparison) -> str:
    """Which candidates might do better with another C; empty if the grid was wide enough."""
    at_end = [o.title for o in comparison.outcomes if o.C_at_end]
    if not at_end:
        return ""
    return f"C most often at an end of the grid, so that a wider one might help: {words(at_end)}."


def time_text(comparison: Comparison) -> str:
    """How long it took, with how many processes."""
    p = comparison.protocol
    return f"{p.seconds:.0f} s with {p.jobs} process{'es' if p.jobs > 1 else ''}."
