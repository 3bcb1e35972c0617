"""Compiled array code that knows nothing of the library: the bottom of the house.

Every kernel takes arrays only, loops over a range of examples and allocates nothing inside the
loop. numba comes in with a module of this package, so other rooms import them inside the
functions that need them.
"""
