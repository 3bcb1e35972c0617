"""
What training minimises: surrogates as surfaces
===============================================

Each picture shows one route's value over the scores of three ordered labels when the first is the
truth (the third score is held at zero). The loss is the distance between labels.
"""

import matplotlib.pyplot as plt

import concordant as cc

fig, axes = plt.subplots(2, 3, figsize=(10, 7), layout="constrained")
routes = ("adversarial", "hinge", "log", "hybrid", "quadratic", "weston_watkins")
for ax, route in zip(axes.flat, routes):
    cc.plots.SurfaceDisplay.from_surrogate(route, "absolute", ax=ax)

# %%
# With two labels only the difference of scores matters.
fig, ax = plt.subplots(layout="constrained")
for route in ("adversarial", "hinge", "log", "hybrid"):
    cc.plots.SurfaceDisplay.from_surrogate(route, n_labels=2, ax=ax)
ax.legend()
plt.show()
