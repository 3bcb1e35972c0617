"""
Where no label has a majority
=============================

The multiclass hinge is consistent only where some label is more probable than all others together.
Here the truth is known, most examples have no such label, and the excess over the best possible
error shows what that costs.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

X, y, proba = cc.datasets.make_uncertain(6000, 4, doubt=2.0, random_state=1)
print(f"without a majority label: {(proba.max(axis=1) < 0.5).mean():.0%} of the examples")

train, test = slice(0, 3000), slice(3000, None)
excess = {}
for route in ("log", "adversarial", "hinge", "weston_watkins", "one_vs_rest"):
    model = cc.Classifier("zero_one", route, C=1.0, tol=1e-3, random_state=0)
    answers = model.fit(X[train], y[train]).predict(X[test])
    lost = proba[test].max(axis=1) - proba[test][np.arange(len(answers)), answers]
    excess[route] = lost.mean()

fig, ax = plt.subplots(layout="constrained")
ax.barh(list(excess), list(excess.values()))
ax.invert_yaxis()
ax.set_xlabel("probability of an error, above that of the best decision")
plt.show()
