"""The per-example kernel of a route on labels, and the loops that run it.

A *block* answers the one question of a route for one example::

    block(scores, target, weight, params, costs, strength, centre, work, mu) -> (upper, bonus)

It writes into `mu` the maximiser of ``<scores, mu> + bonus(mu) - strength/2 * |mu - centre|**2``
and returns an upper bound on the same maximum without the last term, exact where `strength`
is 0, and ``bonus(mu)``. `scores`, `centre`, `mu` have length k; `params` (1-D) and `costs`
(2-D) are the route's constants; `work` is scratch space; `weight` multiplies the loss. With
`strength` 0, `centre` is not read.

Blocks are compiled C callbacks of one fixed signature, so that a loop over examples (here and
in the scorers) is compiled once, cached on disk, and serves every route: a new route never
recompiles a solver.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import carray, cfunc, float64, int64, njit, types
from numba.extending import intrinsic

_VECTOR = types.Array(float64, 1, "C")
_MATRIX = types.Array(float64, 2, "C")
_BLOCK = types.UniTuple(float64, 2)(
    _VECTOR, int64, float64, _VECTOR, _MATRIX, float64, _VECTOR, _VECTOR, _VECTOR
)
_PLAY = float64(_VECTOR, _VECTOR, _MATRIX, _VECTOR, _VECTOR, _VECTOR)

#: Division by zero gives infinity, as in NumPy, instead of a test at every division.
kernel = njit(cache=True, nogil=True, error_model="numpy")

#: The same, written out where it is called: a call that passes arrays costs some 5 ns, which is
#: a third of the smallest blocks.
inlined = njit(cache=True, nogil=True, error_model="numpy", inline="always")

#: For sums and maxima over finite numbers: may be reordered, so that they use vector registers.
reduction = njit(
    cache=True,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "nsz", "contract", "nnan"},
)


@cache
def compile_block(function: Any) -> Any:
    """Compile a block, or load it from numba's cache on disk."""
    return cfunc(_BLOCK, cache=True, error_model="numpy")(function.py_func)


@cache
def compile_play(function: Any) -> Any:
    """The same for ``play(scores, params, costs, work, p, q) -> value`` of a game."""
    return cfunc(_PLAY, cache=True, error_model="numpy")(function.py_func)


def _pointer_to(typing_context, address):
    """An address as a pointer to floats."""
    signature = types.CPointer(types.float64)(types.uintp)

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return signature, generate


_pointer: Any = intrinsic(_pointer_to)  # typed: callers give the address only


@kernel
def row(a, i):
    """``a[i]`` of a C-contiguous matrix that the caller keeps alive.

    A plain ``a[i]`` owns a share of the matrix. Passed to a callback it costs two atomic
    counts, which stop the processor from overlapping one example with the next.
    """
    return carray(_pointer(a.ctypes.data + i * a.strides[0]), (a.shape[1],))


@kernel
def solve_rows(
    block, scores, target, weight, params, costs, strength, centre, work, mu, upper, bonus
):
    """Run `block` on every row; `weight` and `strength` have one entry an example."""
    for i in range(scores.shape[0]):
        upper[i], bonus[i] = block(
            row(scores, i), target[i], weight[i], params, costs, strength[i], row(centre, i), work,
            row(mu, i),
        )  # fmt: skip


@kernel
def value_rows(block, scores, target, weight, params, costs, work, value, gradient):
    """Surrogate values (but for their constant) and gradients in the scores."""
    for i in range(scores.shape[0]):
        y, here = target[i], row(scores, i)
        upper, _ = block(here, y, weight[i], params, costs, 0.0, here, work, row(gradient, i))
        value[i] = upper - scores[i, y]
        gradient[i, y] -= 1.0


@kernel
def play_rows(play, scores, params, costs, work, p, q, value):
    """Solve the game of every row."""
    for i in range(scores.shape[0]):
        value[i] = play(row(scores, i), params, costs, work, row(p, i), row(q, i))
