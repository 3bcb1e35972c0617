"""Decoders of real outputs. Vectors are decoded coordinate by coordinate.

Weights may be negative, so the weighted sum of losses can be non-convex with many local minima
and may fall without bound: it is minimised over a bounded interval, by default between the least
and the largest training output.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from concordant.losses.reals import Margin, Pieces, RealLoss, Smooth, SquaredError
from concordant.outputs.base import Decoder, Options, columns, distinct

#: Relative accuracy of the searches, in units of the sum of absolute weights times `steepest`.
ACCURACY = 1e-9
#: Bytes of one table of losses between a grid and the truths.
TABLE = 1 << 26


class _PerCoordinate(Decoder):
    """Bounds, distinct values and sums of every coordinate.

    A subclass prepares and decodes one coordinate at a time.
    """

    def __init__(self, loss: RealLoss, truths: np.ndarray, options: Options):
        table = columns(truths)
        self.loss = loss
        self.flat = truths.ndim == 1
        self.lo, self.hi = interval(table, options.bounds)
        found = [distinct(table[:, j]) for j in range(table.shape[1])]
        self.values = [values for values, _ in found]
        self.targets = sp.hstack([rows for _, rows in found], format="csr")
        self.start = np.cumsum([0] + [len(values) for values in self.values])

    def decode(self, sums: np.ndarray) -> np.ndarray:
        out = np.empty((len(sums), len(self.values)))
        for j in range(len(self.values)):
            weights = np.ascontiguousarray(sums[:, self.start[j] : self.start[j + 1]])
            out[:, j] = self._coordinate(j, weights)
        return out[:, 0] if self.flat else out

    def _coordinate(self, j: int, weights: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def interval(
    table: np.ndarray, bounds: tuple[float, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Where each coordinate of an answer may lie."""
    if bounds is None:
        return table.min(axis=0), table.max(axis=0)
    try:
        lo, hi = (np.broadcast_to(np.asarray(b, dtype=float), table.shape[1:]) for b in bounds)
    except (TypeError, ValueError) as error:
        raise ValueError(f"bounds must be (least, largest), got {bounds!r}") from error
    if not (np.isfinite(lo) & np.isfinite(hi) & (lo <= hi)).all():
        raise ValueError(f"bounds must be finite, the least first, got {bounds!r}")
    return lo.copy(), hi.copy()


class Means(Decoder):
    """Squared error: the weighted mean, or the farther bound where weights sum to less than 0."""

    def __init__(self, loss: SquaredError, truths: np.ndarray, options: Options):
        table = columns(truths)
        self.flat = truths.ndim == 1
        self.lo, self.hi = interval(table, options.bounds)
        self.centre = table.mean(axis=0)  # keeps what cancels small
        self.targets = np.column_stack([np.ones(len(table)), table - self.centre])

    def decode(self, sums: np.ndarray) -> np.ndarray:
        total, moment = sums[:, :1], sums[:, 1:]
        lo, hi = self.lo - self.centre, self.hi - self.centre
        with np.errstate(all="ignore"):
            mean = np.clip(moment / total, lo, hi)
        # total * y**2 - 2 * moment * y at the two bounds
        high = (total * (hi + lo) - 2.0 * moment) * (hi - lo) < 0.0
        out = np.where((total > 0.0) & np.isfinite(mean), mean, np.where(high, hi, lo))
        out = out + self.centre
        return out[:, 0] if self.flat else out


class Knots(_PerCoordinate):
    """Losses that are quadratic between knots: one pass over all knots of the sum."""

    def __init__(self, loss: Pieces, truths: np.ndarray, options: Options):
        super().__init__(loss, truths, options)
        self.plans = [self._plan(loss, values, 0.5 * (lo + hi))
                      for values, lo, hi in zip(self.values, self.lo, self.hi)]  # fmt: skip

    @staticmethod
    def _plan(loss: Pieces, values: np.ndarray, centre: float) -> dict[str, np.ndarray]:
        """The knots of ``sum_i w_i loss(y - v_i)`` in order, and what changes at each, as
        polynomials in ``y - centre``."""
        knots, coefficients = loss.pieces()
        v = (values - centre)[:, None]
        a, b, c = (coefficients[None, :, k] for k in range(3))
        shifted = np.stack(
            [np.broadcast_to(a, (len(v), a.shape[1])), b - 2.0 * a * v, (a * v - b) * v + c], axis=2
        )
        at = (v + knots).ravel()
        order = np.argsort(at, kind="stable")
        return {
            "start": np.ascontiguousarray(shifted[:, 0]),
            "owner": np.repeat(np.arange(len(v)), len(knots))[order],
            "at": at[order],
            "jump": np.ascontiguousarray(np.diff(shifted, axis=1).reshape(-1, 3)[order]),
        }

    def _coordinate(self, j: int, weights: np.ndarray) -> np.ndarray:
        from concordant.kernels.univariate import minimise_pieces

        centre = 0.5 * (self.lo[j] + self.hi[j])
        best = np.empty(len(weights))
        plan = self.plans[j]
        minimise_pieces(
            weights, plan["start"], plan["owner"], plan["at"], plan["jump"],
            self.lo[j] - centre, self.hi[j] - centre, best,
        )  # fmt: skip
        return np.clip(best + centre, self.lo[j], self.hi[j])


class Search(_PerCoordinate):
    """Smooth losses: a grid, then branch and bound on the cells that could hold the minimum.

    With ``M = steepest * sum |alpha|`` the second derivative of the sum is at most M in size, so
    between two points at distance h it lies at most ``M h**2 / 8`` below its chord. Many truths
    are first moved to the two nearest grid points, which changes the sum by as little.
    """

    exact = False
    guarantee = (
        f"within {ACCURACY:g} (largest second derivative) (range)**2 sum |alpha| of the global "
        "minimum, by branch and bound"
    )

    def _coordinate(self, j: int, weights: np.ndarray) -> np.ndarray:
        assert isinstance(self.loss, Smooth)
        lo, hi = float(self.lo[j]), float(self.hi[j])
        if hi <= lo:
            return np.full(len(weights), lo)
        grid = self._grid(lo, hi)
        values, slack = self._on_grid(weights, self.values[j], grid)
        bend = self.loss.steepest * np.abs(weights).sum(axis=1)
        h = grid[1] - grid[0]
        lowest = values.min(axis=1)
        below = np.minimum(values[:, :-1], values[:, 1:]) - bend[:, None] * (h * h / 8.0)
        rows, cells = np.nonzero(below - slack[:, None] <= (lowest + slack)[:, None])
        best = grid[values.argmin(axis=1)]
        best, lowest = self._certify(weights, self.values[j], rows, grid[cells], h, bend, best)
        return self._polish(weights, self.values[j], best, lowest, lo, hi)

    def _grid(self, lo: float, hi: float) -> np.ndarray:
        """Fine against the bends of the loss; how fine changes the work, not the answer."""
        assert isinstance(self.loss, Smooth)
        cells = 16.0 * (hi - lo) * np.sqrt(self.loss.steepest)
        return np.linspace(lo, hi, int(np.clip(cells, 64, 1024)) + 1)

    def _on_grid(
        self, weights: np.ndarray, values: np.ndarray, grid: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums on the grid, and how far each row of them may be off."""
        slack = np.zeros(len(weights))
        inside = (values >= grid[0]) & (values <= grid[-1])
        if len(values) > len(grid) and inside.all():
            h = grid[1] - grid[0]
            share = np.clip((values - grid[0]) / h, 0.0, len(grid) - 1.0)
            cell = np.minimum(share.astype(np.int64), len(grid) - 2)
            share -= cell
            rows = np.arange(len(values))
            move = sp.csr_matrix(
                (np.concatenate([1.0 - share, share]),
                 (np.tile(rows, 2), np.concatenate([cell, cell + 1]))),
                shape=(len(values), len(grid)),
            )  # fmt: skip
            assert isinstance(self.loss, Smooth)
            slack = self.loss.steepest * h * h / 8.0 * np.abs(weights).sum(axis=1)
            weights, values = weights @ move, grid
        return weights @ self.loss.value(grid[None, :] - values[:, None]), slack

    def _sums(
        self, weights: np.ndarray, values: np.ndarray, rows: np.ndarray, at: np.ndarray
    ) -> np.ndarray:
        """The sum of row ``rows[k]`` at ``at[k]``, block by block."""
        out = np.empty(len(at))
        step = max(TABLE // (8 * len(values)), 1)
        for k in range(0, len(at), step):
            part = slice(k, k + step)
            table = self.loss.value(at[part, None] - values)
            out[part] = np.einsum("ij,ij->i", table, weights[rows[part]])
        return out

    def _certify(
        self,
        weights: np.ndarray,
        values: np.ndarray,
        rows: np.ndarray,
        left: np.ndarray,
        h: float,
        bend: np.ndarray,
        best: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Halve the cells that may hold a lower point until none can by more than the accuracy."""
        n = len(weights)
        lowest = self._sums(weights, values, np.arange(n), best)
        at_left = self._sums(weights, values, rows, left)
        at_right = self._sums(weights, values, rows, left + h)
        allowed = ACCURACY * bend * (self.hi - self.lo).max() ** 2
        while len(rows):
            h /= 2.0
            middle = left + h
            at_middle = self._sums(weights, values, rows, middle)
            best, lowest = _improve(rows, middle, at_middle, best, lowest)
            rows = np.concatenate([rows, rows])
            left = np.concatenate([left, middle])
            at_left, at_right = (
                np.concatenate([at_left, at_middle]),
                np.concatenate([at_middle, at_right]),
            )
            below = np.minimum(at_left, at_right) - bend[rows] * (h * h / 8.0)
            open_ = below < (lowest - allowed)[rows]
            rows, left = rows[open_], left[open_]
            at_left, at_right = at_left[open_], at_right[open_]
        return best, lowest

    def _polish(
        self,
        weights: np.ndarray,
        values: np.ndarray,
        best: np.ndarray,
        lowest: np.ndarray,
        lo: float,
        hi: float,
    ) -> np.ndarray:
        """Secant steps on the slope; kept where they do not raise the sum."""
        assert isinstance(self.loss, Smooth)
        rows = np.arange(len(best))
        bend = self.loss.steepest * np.abs(weights).sum(axis=1)
        before, slope_before = best, self._slopes(weights, values, best)
        with np.errstate(all="ignore"):
            now = np.clip(np.nan_to_num(best - slope_before / bend, nan=lo), lo, hi)
            for _ in range(4):
                slope = self._slopes(weights, values, now)
                step = slope * (now - before) / (slope - slope_before)
                step = np.where(np.isfinite(step), step, 0.0)
                before, slope_before, now = now, slope, np.clip(now - step, lo, hi)
        after = self._sums(weights, values, rows, now)
        return np.where(after <= lowest, now, best)

    def _slopes(self, weights: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
        assert isinstance(self.loss, Smooth)
        out = np.empty(len(at))
        step = max(TABLE // (8 * len(values)), 1)
        for k in range(0, len(at), step):
            part = slice(k, k + step)
            table = self.loss.slope(at[part, None] - values)
            out[part] = np.einsum("ij,ij->i", table, weights[part])
        return out


def _improve(
    rows: np.ndarray, at: np.ndarray, values: np.ndarray, best: np.ndarray, lowest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Take over points that are lower than the best of their row."""
    order = np.argsort(values, kind="stable")[::-1]  # the lowest of a row is written last
    new, where = lowest.copy(), best.copy()
    gains = order[values[order] < lowest[rows[order]]]
    new[rows[gains]], where[rows[gains]] = values[gains], at[gains]
    return where, new


class Margins(Decoder):
    """Functions of ``truth * action``: two sums, and a handful of points to look at."""

    def __init__(self, loss: Margin, truths: np.ndarray, options: Options):
        self.loss = loss
        lo, hi = interval(columns(truths), options.bounds)
        self.lo, self.hi = float(lo[0]), float(hi[0])
        if options.bounds is None:
            self.lo, self.hi = -1.0, 1.0
        self.targets = np.column_stack([truths < 0.0, truths > 0.0]).astype(float)

    def decode(self, sums: np.ndarray) -> np.ndarray:
        """Between the bounds only the kinks of the hinge and the stationary point of the
        logistic loss, ``log(s+ / s-)``, can be minima."""
        with np.errstate(all="ignore"):
            stationary = np.log(sums[:, 1] / sums[:, 0])
        stationary = np.where(np.isfinite(stationary), stationary, self.lo)
        fixed = np.broadcast_to([self.lo, self.hi, -1.0, 1.0], (len(sums), 4))
        points = np.clip(np.column_stack([fixed, stationary]), self.lo, self.hi)
        values = sums[:, :1] * self.loss.value(-points) + sums[:, 1:] * self.loss.value(points)
        return points[np.arange(len(sums)), values.argmin(axis=1)]
