"""Weakly labelled data: labels are known, choices are not.

`bags` holds the data; `margin` the convex problem of the weights and its solvers; `conditional`
the distribution of the choice given the label; `alternating` the descent over both; `likelihood`
the classical comparison, which sums over choices.
"""
